package ticket

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// Repo is an open repository. It is safe for concurrent use: each call stands alone.
type Repo struct {
	git    program
	common string // the directory that all worktrees share
	top    string // the invoking worktree's root; empty in a bare repository
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
	git, err := findGit(ctx)
	if err != nil {
		return nil, err
	}
	r := &Repo{git: git}
	at := place{dir: dir}
	out, err := git.line(ctx, call{at: at, args: []string{"rev-parse", "--is-inside-work-tree", "--path-format=absolute", "--git-common-dir"}})
	if err != nil {
		return nil, err
	}
	var inside string
	inside, r.common, _ = strings.Cut(out, "\n")
	if inside == "true" {
		if r.top, err = git.line(ctx, call{at: at, args: []string{"rev-parse", "--show-toplevel"}}); err != nil {
			return nil, err
		}
	}
	r.main, err = r.mainRoot(ctx, at)
	return r, err
}

// Root is the main worktree's root; in a bare repository the invoking worktree's, and where there is none the
// repository's own folder. Absolute.
func (r *Repo) Root() string { return cmp.Or(r.main, r.top, r.common) }

func (r *Repo) commonDir(ctx context.Context, at place) (string, error) {
	return r.git.line(ctx, call{at: at, args: []string{"rev-parse", "--path-format=absolute", "--git-common-dir"}})
}

// shared is where commands run that need no worktree. Nothing is looked for, so nothing that a build planted in a
// worktree can lead them to another repository.
func (r *Repo) shared() place { return place{dir: r.common, gitDir: r.common} }

// mainRoot finds the main worktree, as seen from the place that was opened; empty where there is none or nothing tells.
// A setting (core.worktree) may claim any folder for it, so that folder has to lead back to this repository.
func (r *Repo) mainRoot(ctx context.Context, at place) (string, error) {
	gitDir, err := r.git.line(ctx, call{at: at, args: []string{"rev-parse", "--absolute-git-dir"}})
	if err != nil {
		return "", err
	}
	if gitDir == r.common && r.top != "" {
		return r.top, nil // we are in it
	}
	bare, err := r.setting(ctx, "--type=bool", "core.bare")
	if err != nil || bare == "true" {
		return "", err
	}
	claimed, err := r.setting(ctx, "core.worktree")
	if err != nil {
		return "", err
	}
	var root string
	switch {
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
	main := place{dir: root}
	if common, err := r.commonDir(ctx, main); err != nil || common != r.common {
		return "", nil
	}
	top, err := r.git.line(ctx, call{at: main, args: []string{"rev-parse", "--show-toplevel"}})
	if err != nil {
		return "", nil // opened inside the git directory of a repository whose worktree is gone
	}
	return top, nil
}

// setting reads one value of the repository's configuration; empty where it is not set.
func (r *Repo) setting(ctx context.Context, args ...string) (string, error) {
	out, err := r.git.output(ctx, call{at: r.shared(), args: append([]string{"config", "-z", "--get"}, args...)})
	if exited(err, 1) {
		return "", nil
	}
	return strings.TrimSuffix(string(out), "\x00"), err
}
