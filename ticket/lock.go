package ticket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/owner"
)

// While a record moves a branch, the index.lock of each worktree that has it checked out is ours, and is a journal: it
// says who holds it and what for. It appears with all of its content in one step. So a lock that a killed program left
// is known for what it is, by Sweep and by the next Record, and what it stood for is completed. No other lock is ever
// removed.
const journalHead = "trkr-validate record\n"

type journal struct {
	Owner  string
	Branch []byte // names are bytes, not text
	File   []byte
	Commit string
}

// scratch is the start of the names of our temporary files in a git directory; the owner follows.
const scratch = "trkr-scratch-"

// lockPatience is how long a lock that somebody else holds is waited for: editors look at the index all the time, for
// some milliseconds each.
var lockPatience = 2 * time.Second

// lock is one worktree whose index nobody else may change.
type lock struct {
	at   place
	path string
}

func (l lock) release() error {
	if err := os.Remove(l.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Env("index_locked", fmt.Errorf("releasing the index: %w", err), "remove the file by hand")
	}
	return nil
}

func release(locks []lock) error {
	var errs []error
	for _, l := range locks {
		errs = append(errs, l.release())
	}
	return errors.Join(errs...)
}

// lockWorktrees takes the index.lock of every worktree that has the change's branch checked out, all or none, after it
// made sure that the file can be put there.
func (r *Repo) lockWorktrees(ctx context.Context, t *Ticket, c change) (locks []lock, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, release(locks))
		}
	}()
	all, err := r.checkouts(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range all {
		if w.branch != heads+c.branch || w.bare || w.prunable {
			continue
		}
		var at place
		if w.path == t.Worktree {
			at, err = r.placeOf(t)
		} else {
			at, err = r.inWorktree(ctx, w.path)
		}
		if err != nil {
			return locks, err
		}
		if err := canPut(at.dir, c.file); err != nil {
			return locks, fault.Env("worktree_blocked", err, "remove what stands there")
		}
		if err := noPipesFor(at.dir, c.file); err != nil {
			return locks, err
		}
		l := lock{at: at, path: filepath.Join(at.gitDir, "index.lock")}
		if err := r.take(ctx, l, c); err != nil {
			return locks, err
		}
		locks = append(locks, l)
		// It may have switched to another branch before the lock was ours.
		if on, err := r.branchOf(ctx, at); err != nil {
			return locks, err
		} else if on != w.branch {
			locks = locks[:len(locks)-1]
			if err := l.release(); err != nil {
				return locks, err
			}
		}
	}
	return locks, nil
}

// take waits for the lock, for a bounded time.
func (r *Repo) take(ctx context.Context, l lock, c change) error {
	text, err := json.Marshal(journal{Owner: owner.Self().String(), Branch: []byte(c.branch), File: []byte(c.file), Commit: c.commit})
	if err != nil {
		return err
	}
	deadline := time.Now().Add(lockPatience)
	for {
		err := appear(l.at.gitDir, l.path, append([]byte(journalHead), text...))
		switch {
		case err == nil:
			return nil
		case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
			return fault.Env("repository_read_only", fmt.Errorf("locking the index: %w", err), "the repository's git directory must be writable for this user")
		case !errors.Is(err, fs.ErrExist):
			return fmt.Errorf("locking the index: %w", err)
		}
		if done, err := r.recoverLock(ctx, l); err != nil {
			return err
		} else if done {
			continue
		}
		if time.Now().After(deadline) {
			return fault.Envf("index_locked", []string{"wait for it and run it again", "if no git runs there, remove the lock by hand: rm " + shellQuote(l.path)},
				"another git command works in %q: it holds %q", l.at.dir, l.path)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// appear makes the file with all of its content in one step; fs.ErrExist where it is there.
func appear(dir, path string, content []byte) error {
	aside := filepath.Join(dir, scratchName())
	if err := writeNew(aside, content); err != nil {
		return err
	}
	defer os.Remove(aside)
	err := os.Link(aside, path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// A file system without hard links: the name appears first.
	return writeNew(path, content)
}

func writeNew(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

func scratchName() string {
	return fmt.Sprintf("%s%s_%08x", scratch, owner.Self(), rand.Uint32())
}

// readJournal reads a lock of ours whose program is gone; false for every other.
func readJournal(f io.Reader) (journal, bool) {
	data, err := io.ReadAll(io.LimitReader(f, 64<<10))
	text, ours := strings.CutPrefix(string(data), journalHead)
	if err != nil || !ours {
		return journal{}, false
	}
	var j journal
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return journal{}, false
	}
	o, err := owner.Parse(j.Owner)
	return j, err == nil && o.UID == os.Getuid() && !o.Alive()
}
