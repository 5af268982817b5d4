package ticket

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// A build can write everything that leads from a worktree to its repository. Whatever it made of it, another repository
// is neither read nor written, and nobody waits for a pipe.
func TestBuildThatRedirectsItsWorktree(t *testing.T) {
	pipe := func(t *testing.T, name string) {
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		plant    func(t *testing.T, worktree, gitDir, stranger string)
		recorded bool // the branch is checked out nowhere any more
	}{
		"the file leads to another repository": {func(t *testing.T, worktree, _, stranger string) {
			write(t, filepath.Join(worktree, ".git"), "gitdir: "+stranger+"\n")
		}, false},
		"the file is gone": {func(t *testing.T, worktree, _, _ string) {
			if err := os.Remove(filepath.Join(worktree, ".git")); err != nil {
				t.Fatal(err)
			}
		}, true},
		"a repository in its place": {func(t *testing.T, worktree, _, stranger string) {
			if err := os.Remove(filepath.Join(worktree, ".git")); err != nil {
				t.Fatal(err)
			}
			link(t, stranger, filepath.Join(worktree, ".git"))
		}, false},
		"a pipe in its place": {func(t *testing.T, worktree, _, _ string) { pipe(t, filepath.Join(worktree, ".git")) }, false},
		"the way back leads elsewhere": {func(t *testing.T, _, gitDir, stranger string) {
			write(t, filepath.Join(gitDir, "gitdir"), stranger+"\n")
		}, false},
		"the common directory is another": {func(t *testing.T, _, gitDir, stranger string) {
			write(t, filepath.Join(gitDir, "commondir"), stranger+"\n")
		}, false},
		"the repository's own is another": {func(t *testing.T, _, gitDir, stranger string) {
			write(t, filepath.Join(filepath.Dir(filepath.Dir(gitDir)), "commondir"), stranger+"\n")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			base := tempDir(t)
			dir := fixture(t, filepath.Join(base, "r"))
			git(t, dir, "checkout", "-q", "main")
			worktree := filepath.Join(base, "w")
			git(t, dir, "worktree", "add", "-q", worktree, "trkr/7")
			stranger := filepath.Join(fixture(t, filepath.Join(base, "stranger")), ".git")
			before := git(t, stranger, "for-each-ref") + git(t, stranger, "count-objects", "-v")
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			r := open(t, dir)
			tk := resolve(t, r, Query{})
			c.plant(t, worktree, filepath.Join(dir, ".git/worktrees/w"), stranger)
			_, changesErr := r.Changes(ctx, tk)
			_, trackedErr := r.Tracked(ctx, tk)
			_, recordErr := r.Record(ctx, tk, []byte("x\n"), "m")
			for what, err := range map[string]error{"changes": changesErr, "tracked": trackedErr, "unmoved": r.Unmoved(ctx, tk), "restore": r.Restore(ctx, tk, []string{"src/a.go"}), "record": recordErr} {
				if what == "record" && c.recorded {
					if err != nil {
						t.Error(err)
					}
				} else if f := fault.Of(err); f == nil || f.Code != "worktree_invalid" && f.Code != "repository_redirected" || len(f.Hints) == 0 {
					t.Errorf("%s: %v, want a fault of the worktree", what, err)
				}
			}
			if got := git(t, stranger, "for-each-ref") + git(t, stranger, "count-objects", "-v"); got != before {
				t.Errorf("the other repository changed:\n%s\n%s", before, got)
			}
		})
	}
}

// What is no lock of ours in the lock's place is somebody's: it is named after the usual wait, left alone, and nothing
// hangs.
func TestOddLocksHoldNobodyUp(t *testing.T) {
	for name, plant := range map[string]func(file string) error{
		"a pipe":                    func(file string) error { return syscall.Mkfifo(file, 0o600) },
		"a link that leads nowhere": func(file string) error { return os.Symlink("nowhere", file) },
		"a link to a pipe": func(file string) error {
			return errors.Join(syscall.Mkfifo(file+"-pipe", 0o600), os.Symlink("index.lock-pipe", file))
		},
		"a folder": func(file string) error { return os.Mkdir(file, 0o755) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := fixture(t, filepath.Join(tempDir(t), "r"))
			r := open(t, dir)
			tk := resolve(t, r, Query{})
			file := filepath.Join(dir, ".git/index.lock")
			if err := plant(file); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() {
				_, sweepErr := r.Sweep(context.Background())
				_, err := r.Record(context.Background(), tk, []byte("x\n"), "m")
				ended <- errors.Join(err, sweepErr)
			}()
			select {
			case err := <-ended:
				wantFault(t, err, "index_locked")
			case <-time.After(time.Minute):
				t.Fatal("it waits for ever")
			}
			if !exists(file) {
				t.Error("somebody's lock was removed")
			}
		})
	}
}
