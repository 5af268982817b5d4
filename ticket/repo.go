package ticket

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// Repo is an open repository. It is safe for concurrent use: each call stands alone, except as AtOnce says.
type Repo struct {
	git    program
	reader *reader
	seen   *seen  // of AtOnce
	common string // the directory that all worktrees share
	top    string // the invoking worktree's root; empty in a bare repository
	gitDir string // of the invoking worktree
	bare   bool
	main   string // the main worktree's root; empty where there is none or nothing tells
}

// Open finds the repository that dir is in: its main checkout, a linked worktree, a bare repository, or a folder in
// one of them. No repository, or no such folder, is a usage fault; a repository that git does not trust and a missing
// git are faults of the environment.
func Open(ctx context.Context, dir string) (*Repo, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the repository: %w", err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		if err == nil {
			err = fmt.Errorf("%q is no folder", dir)
		}
		return nil, fault.Usage("no_repository", fmt.Errorf("opening the repository: %w", err), "name a folder of the repository with -C DIR")
	}
	git, err := findGit(ctx, dir)
	if err != nil {
		return nil, err
	}
	r := &Repo{git: git}
	if err := r.find(ctx, place{dir: dir}); err != nil {
		return nil, err
	}
	r.reader = &reader{git: git, at: r.shared()}
	if r.gitDir == r.common && r.top != "" {
		r.main = r.top // we are in it
		return r, nil
	}
	r.main, err = r.mainRoot(ctx)
	return r, err
}

// seen is what was listed already.
type seen struct {
	mu        sync.Mutex
	refs      []ref
	checkouts []checkout
}

// AtOnce is the repository for questions that are asked in one breath: its branches and worktrees are listed once.
func (r *Repo) AtOnce() *Repo {
	now := *r
	now.seen = new(seen)
	return &now
}

// find fills in what can be seen from at.
func (r *Repo) find(ctx context.Context, at place) error {
	ask := func(what ...string) (string, error) {
		return r.git.line(ctx, call{at: at, args: append([]string{"rev-parse", "--path-format=absolute"}, what...)})
	}
	// All in one where that works: in a worktree, and with no line end in a path.
	all, err := ask("--git-common-dir", "--absolute-git-dir", "--show-toplevel")
	if lines := strings.Split(all, "\n"); err == nil && len(lines) == 3 {
		r.common, r.gitDir, r.top = lines[0], lines[1], lines[2]
		return nil
	}
	if r.common, err = ask("--git-common-dir"); err != nil {
		return err
	}
	if r.gitDir, err = ask("--absolute-git-dir"); err != nil {
		return err
	}
	inside, err := ask("--is-inside-work-tree")
	if err == nil && inside == "true" {
		r.top, err = ask("--show-toplevel")
	}
	return err
}

// Root is the main worktree's root; in a bare repository the invoking worktree's, and where there is none the
// repository's own folder. Absolute.
func (r *Repo) Root() string { return cmp.Or(r.main, r.top, r.common) }

// shared is where commands run that need no worktree. Nothing is looked for, so nothing that a build planted in a
// worktree can lead them to another repository.
func (r *Repo) shared() place { return place{dir: r.common, gitDir: r.common} }

// mainRoot finds the main worktree from elsewhere; empty where there is none or nothing tells. A setting
// (core.worktree) may claim any folder for it, so that folder has to lead back to this repository.
func (r *Repo) mainRoot(ctx context.Context) (string, error) {
	conf, err := r.configured(ctx, r.shared())
	if err != nil {
		return "", err
	}
	if r.bare = conf.isTrue("core.bare"); r.bare {
		return "", nil
	}
	var root string
	switch claimed := conf.values["core.worktree"]; {
	case claimed != "" && filepath.IsAbs(claimed):
		root = claimed
	case claimed != "":
		root = filepath.Join(r.common, claimed)
	case filepath.Base(r.common) == ".git":
		root = filepath.Dir(r.common)
	}
	if root == "" {
		return "", nil
	}
	main := &Repo{git: r.git}
	if err := main.find(ctx, place{dir: root}); err != nil || main.common != r.common {
		return "", nil // the worktree is gone, or was never this repository's
	}
	return main.top, nil
}
