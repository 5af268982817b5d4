package ticket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/trkr-dev/trkr-validate/internal/owner"
)

// finishRecords completes the records that killed programs left half done, and removes their scratch files.
func (r *Repo) finishRecords(ctx context.Context) (done []string, err error) {
	linked, err := filepath.Glob(filepath.Join(globQuote(r.common), "worktrees", "*"))
	if err != nil {
		return nil, err
	}
	var errs []error
	locked := false
	for _, dir := range append([]string{r.common}, linked...) {
		errs = append(errs, removeScratch(dir))
		if f, err := openRegular(filepath.Join(dir, "index.lock")); err == nil {
			_, ours := readJournal(f)
			locked = locked || ours
			f.Close()
		}
	}
	if !locked {
		return nil, errors.Join(errs...)
	}
	all, err := r.checkouts(ctx)
	errs = append(errs, err)
	for _, w := range all {
		if w.bare || w.prunable {
			continue
		}
		at, err := r.inWorktree(ctx, w.path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		l := lock{at: at, path: filepath.Join(at.gitDir, "index.lock")}
		ok, err := r.recoverLock(ctx, l)
		if ok {
			done = append(done, "record cut short in "+w.path)
		}
		errs = append(errs, err)
	}
	return done, errors.Join(errs...)
}

// recoverLock deals with a lock that a killed program left: where the branch got its commit, the worktree is brought
// up to date; then the lock goes. False where the lock is somebody else's, which is left alone.
func (r *Repo) recoverLock(ctx context.Context, l lock) (bool, error) {
	f, err := openRegular(l.path)
	if err != nil {
		_, err := os.Lstat(l.path) // a link that leads nowhere is there
		return errors.Is(err, fs.ErrNotExist), nil
	}
	defer f.Close()
	j, ours := readJournal(f)
	if !ours {
		return false, nil
	}
	// Only one of those who find it.
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return false, nil
	}
	mine, err := f.Stat()
	if err != nil {
		return false, err
	}
	if now, err := os.Lstat(l.path); err != nil || !os.SameFile(mine, now) {
		return true, nil // dealt with in between
	}
	c := change{branch: string(j.Branch), commit: j.Commit, file: string(j.File)}
	if wanted, err := r.wanted(ctx, l, &c); err != nil {
		return false, err
	} else if wanted {
		conf, err := r.configured(ctx, r.shared())
		if err != nil {
			return false, err
		}
		return true, r.update(ctx, l, conf, c)
	}
	return true, l.release()
}

// wanted reports whether the worktree lacks what the journal speaks of, and fills the change in. What the journal says
// is checked: anybody can write one.
func (r *Repo) wanted(ctx context.Context, l lock, c *change) (bool, error) {
	if !fs.ValidPath(c.file) || path.Base(c.file) != RecordName || slices.Contains(strings.Split(strings.ToLower(c.file), "/"), ".git") {
		return false, nil
	}
	on, err := r.branchOf(ctx, l.at)
	if err != nil || on != heads+c.branch {
		return false, err
	}
	head, err := r.head(ctx, c.branch)
	if err != nil || head == "" || head != c.commit {
		return false, err
	}
	trees, err := r.chain(ctx, head, c.file)
	if err != nil {
		return false, err
	}
	last := trees.levels[len(trees.levels)-1]
	i := find(last, RecordName)
	if i < 0 {
		return false, nil
	}
	c.blob = last[i].id
	return true, nil
}

// branchOf is the full name of the branch that a worktree has checked out; empty where none.
func (r *Repo) branchOf(ctx context.Context, at place) (string, error) {
	name, err := r.git.line(ctx, call{at: at, args: []string{"symbolic-ref", "--quiet", "HEAD"}})
	if exited(err, 1) {
		return "", nil
	}
	return name, err
}

// removeScratch removes scratch files of programs that are gone, also where git added its own ".lock" to the name.
func removeScratch(dir string) error {
	found, err := filepath.Glob(filepath.Join(globQuote(dir), scratch+"*"))
	if err != nil {
		return err
	}
	var errs []error
	for _, file := range found {
		name, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(file), scratch), "_")
		if o, err := owner.Parse(name); err != nil || o.UID != os.Getuid() || o.Alive() {
			continue
		}
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("removing a scratch file: %w", err))
		}
	}
	return errors.Join(errs...)
}
