package ticket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// inWorktree is where commands about one worktree run. Git finds its git directory, and so refuses another user's; but
// its .git file is not trusted to lead to this repository, nor to this worktree's part of it.
func (r *Repo) inWorktree(ctx context.Context, dir string) (place, error) {
	out, err := r.git.line(ctx, call{at: place{dir: dir}, args: []string{"rev-parse", "--path-format=absolute", "--git-common-dir", "--absolute-git-dir"}})
	if err != nil {
		return place{}, err
	}
	gitDir, ours := strings.CutPrefix(out, r.common+"\n")
	if !ours || r.registered(gitDir) != dir {
		return place{}, r.strayed(dir, nil)
	}
	return place{dir: dir, gitDir: gitDir, workTree: dir}, nil
}

// placeOf is inWorktree for the worktree of a ticket, which was found when the ticket was resolved: what ran there since
// may have led it elsewhere.
func (r *Repo) placeOf(t *Ticket) (place, error) {
	at := place{dir: t.Worktree, gitDir: t.gitDir, workTree: t.Worktree}
	if r.registered(at.gitDir) != at.dir {
		return place{}, r.strayed(at.dir, nil)
	}
	if err := leadsTo(filepath.Join(at.dir, ".git"), "gitdir: ", at.gitDir); err != nil {
		return place{}, r.strayed(at.dir, err)
	}
	if err := r.intact(); err != nil {
		return place{}, err
	}
	if at.gitDir != r.common {
		if err := noPipes(at.gitDir); err != nil {
			return place{}, err
		}
		if err := leadsTo(filepath.Join(at.gitDir, "commondir"), "", r.common); err != nil {
			return place{}, r.strayed(at.dir, err)
		}
	}
	return at, nil
}

// intact makes sure that the repository does not name another one as the place of its branches and objects (it did not
// when it was opened), and that git can read it.
func (r *Repo) intact() error {
	name := filepath.Join(r.common, "commondir")
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return fault.Envf("repository_redirected", []string{"remove " + shellQuote(name) + ": a build may have put it there"}, "%q names another repository", name)
	}
	return noPipes(r.common)
}

func (r *Repo) strayed(dir string, err error) error {
	if err != nil {
		err = fmt.Errorf("%q does not belong to %q any more: %w", dir, r.common, err)
	} else {
		err = fmt.Errorf("%q does not belong to %q any more", dir, r.common)
	}
	return fault.Env("worktree_invalid", err, "git worktree repair mends it")
}

// registered is the worktree that a git directory of this repository is for.
func (r *Repo) registered(gitDir string) string {
	if gitDir == r.common {
		return r.main
	}
	file, err := readPointer(filepath.Join(gitDir, "gitdir"), "")
	if err != nil {
		return ""
	}
	return filepath.Dir(file)
}

// leadsTo makes sure that name is the folder, or a file of git's that names it.
func leadsTo(name, prefix, folder string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		if name, err = readPointer(name, prefix); err != nil {
			return err
		}
		if info, err = os.Stat(name); err != nil {
			return err
		}
	}
	want, err := os.Stat(folder)
	if err == nil && !os.SameFile(info, want) {
		err = fmt.Errorf("%q is not %q", name, folder)
	}
	return err
}

// maxPointer is longer than any path.
const maxPointer = 64 << 10

// openRegular opens a file of git's. A build may have put anything there: nothing but a regular file is waited for.
func openRegular(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%q is no regular file", name), err, f.Close())
	}
	return f, nil
}

// readLine reads a file of git's that holds one line.
func readLine(name string) (string, error) {
	f, err := openRegular(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPointer))
	return strings.TrimSuffix(string(data), "\n"), err
}

// readPointer reads the path that a file of git's holds, seen from the file's folder.
func readPointer(name, prefix string) (string, error) {
	line, err := readLine(name)
	if err != nil {
		return "", err
	}
	path, ok := strings.CutPrefix(line, prefix)
	if !ok {
		return "", fmt.Errorf("%q does not name a git directory", name)
	}
	if !filepath.IsAbs(path) { // worktree.useRelativePaths
		path = filepath.Join(filepath.Dir(name), path)
	}
	return path, nil
}
