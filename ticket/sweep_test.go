package ticket

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trkr-dev/trkr-validate/internal/owner"
)

// childTask is what the program does when a test started it as another process.
func childTask(task string) int {
	ctx := context.Background()
	dir := os.Getenv("TICKET_TEST_DIR")
	r, err := Open(ctx, dir)
	if err == nil && task == "run" {
		var tk *Ticket
		if tk, err = r.Resolve(ctx, Query{Issue: "7"}); err == nil {
			_, err = r.Record(ctx, tk, []byte("recorded\n"), "m")
			err = errors.Join(err, tk.Close())
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", codeOf(err), err)
		return 1
	}
	return 0
}

// child runs this program as another process; env comes on top.
func child(task, dir string, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "TICKET_TEST_TASK="+task, "TICKET_TEST_DIR="+dir), env...)
	return cmd
}

// killer puts a git on PATH that kills its caller before (or after) the nth command of a name.
func killer(t *testing.T, command string, nth int, after bool) (path string) {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	bin := tempDir(t)
	first, last := "kill -9 $PPID; exit 1", ""
	if after {
		first, last = "", "kill -9 $PPID"
	}
	write(t, filepath.Join(bin, "git"), fmt.Sprintf(`#!/bin/sh
hit=
for a in "$@"; do
	if [ "$a" = %s ]; then
		echo x >> %s/count
		[ "$(wc -l < %[2]s/count)" -eq %d ] && hit=1
		break
	fi
done
[ -n "$hit" ] && { :; %s
}
%s "$@"
code=$?
[ -n "$hit" ] && { :; %s
}
exit $code
`, command, shellQuote(bin), nth, first, shellQuote(real), last))
	if err := os.Chmod(filepath.Join(bin, "git"), 0o755); err != nil {
		t.Fatal(err)
	}
	return "PATH=" + bin + ":" + os.Getenv("PATH")
}

// Whenever the program is killed, one sweep and one more run leave the repository as if nothing had happened.
func TestKilled(t *testing.T) {
	for _, c := range []struct {
		command string
		nth     int
		after   bool
		temp    bool // in a temporary worktree
	}{
		{"hash-object", 1, true, false},
		{"commit-tree", 1, true, false},
		{"update-ref", 1, false, false},
		{"update-ref", 1, true, false},
		{"cat-file", 1, false, false},
		{"update-index", 1, false, false},
		{"update-index", 1, true, false},
		{"add", 1, false, true},
		{"add", 1, true, true},
		{"commit-tree", 1, true, true},
		{"remove", 1, false, true},
		{"remove", 1, true, true},
	} {
		t.Run(fmt.Sprintf("%s %d after=%v temporary=%v", c.command, c.nth, c.after, c.temp), func(t *testing.T) {
			t.Parallel()
			dir := fixture(t, filepath.Join(tempDir(t), "r"))
			temp := tempDir(t)
			if c.temp {
				git(t, dir, "checkout", "-q", "main")
			}
			write(t, filepath.Join(dir, "src/a.go"), "package staged\n")
			git(t, dir, "add", "src/a.go")
			r := open(t, dir)
			before := statuses(t, r)
			old := git(t, dir, "rev-parse", "trkr/7")

			cmd := child("run", dir, killer(t, c.command, c.nth, c.after), "TMPDIR="+temp)
			out, err := cmd.CombinedOutput()
			exit, ok := errors.AsType[*exec.ExitError](err)
			if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("the child was not killed: %v\n%s", err, out)
			}
			done := sweepIn(t, r, temp)
			if diff := cmp.Diff(before, statuses(t, r)); diff != "" {
				t.Errorf("git status after the sweep (-before +after):\n%s", diff)
			}
			nothingLeftIn(t, r)
			if left, _ := os.ReadDir(temp); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			head := git(t, dir, "rev-parse", "trkr/7")
			if head != old {
				if got := git(t, dir, "diff-tree", "-r", "--name-only", old, head); got != recordPath {
					t.Errorf("changed %q", got)
				}
			}
			t.Logf("swept %q, branch moved: %v", done, head != old)
			if out, err := child("run", dir, "TMPDIR="+temp).CombinedOutput(); err != nil {
				t.Errorf("one more run: %v\n%s", err, out)
			}
			if diff := cmp.Diff(before, statuses(t, r)); diff != "" {
				t.Errorf("git status after one more run (-before +after):\n%s", diff)
			}
			if again := sweepIn(t, r, temp); len(again) > 0 {
				t.Errorf("swept once more: %q", again)
			}
		})
	}
}

// sweepIn sweeps as a program whose temporary folder is temp.
func sweepIn(t *testing.T, r *Repo, temp string) []string {
	t.Helper()
	done, err := r.sweep(context.Background(), temp)
	if err != nil {
		t.Errorf("sweeping: %v", err)
	}
	return done
}

// The next record takes over what a killed one left, without a sweep.
func TestRecordAfterKilled(t *testing.T) {
	dir := fixture(t, filepath.Join(tempDir(t), "r"))
	if _, err := child("run", dir, killer(t, "update-ref", 1, true)).CombinedOutput(); err == nil {
		t.Fatal("the child was not killed")
	}
	if !exists(filepath.Join(dir, ".git/index.lock")) || git(t, dir, "status", "--porcelain") != "D  "+recordPath {
		t.Fatal("the child was not killed where it should have been")
	}
	r := open(t, dir)
	if _, err := r.Record(context.Background(), resolve(t, r, Query{}), []byte("second\n"), "m"); err != nil {
		t.Fatal(err)
	}
	if got := git(t, dir, "status", "--porcelain"); got != "" || read(t, filepath.Join(dir, recordPath)) != "second\n" {
		t.Errorf("status %q", got)
	}
}

// Live programs, other repositories, other people's locks and journals that lie.
func TestSweepLeavesAlone(t *testing.T) {
	base := tempDir(t)
	temp := filepath.Join(base, "temp")
	dir, other := fixture(t, filepath.Join(base, "r")), fixture(t, filepath.Join(base, "other"))
	r := open(t, dir)
	t.Setenv("TMPDIR", temp)
	if err := os.Mkdir(temp, 0o755); err != nil {
		t.Fatal(err)
	}
	live := resolve(t, r, Query{Ref: "HEAD~"})
	dead := owner.Self()
	dead.Boot = "00000000-0000-0000-0000-000000000000"
	link(t, dead.String()+filepath.Join(other, ".git"), filepath.Join(temp, temporaryPrefix+"1.owner"))
	link(t, "somebody"+r.common, filepath.Join(temp, temporaryPrefix+"2.owner"))
	write(t, filepath.Join(temp, temporaryPrefix+"3.owner"), dead.String()+r.common)
	for _, n := range []string{"1", "2", "3"} {
		write(t, filepath.Join(temp, temporaryPrefix+n, "x/keep"), "x")
	}
	write(t, filepath.Join(dir, ".git", scratch+owner.Self().String()+"_1"), "live\n")
	lock := filepath.Join(dir, ".git/index.lock")
	write(t, lock, "DIRC and so on")
	// Of a repository that is no more: nobody else would ever look.
	link(t, dead.String()+filepath.Join(base, "gone/.git"), filepath.Join(temp, temporaryPrefix+"4.owner"))
	write(t, filepath.Join(temp, temporaryPrefix+"4", "x/keep"), "x")
	done, err := r.Sweep(context.Background())
	if err != nil || len(done) != 1 || !strings.HasSuffix(done[0], "4") || exists(filepath.Join(temp, temporaryPrefix+"4")) {
		t.Errorf("swept %q, %v", done, err)
	}
	for _, n := range []string{"1", "2", "3"} {
		if !exists(filepath.Join(temp, temporaryPrefix+n, "x/keep")) {
			t.Errorf("%s was removed", n)
		}
	}
	if !exists(lock) || !exists(live.Worktree) || !exists(filepath.Join(dir, ".git", scratch+owner.Self().String()+"_1")) {
		t.Error("something live was removed")
	}
	// A journal that wants another file put back: the source stays as it is, and the lock goes.
	write(t, filepath.Join(dir, "src/a.go"), "package precious\n")
	text := fmt.Sprintf(`{"Owner":%q,"Branch":"dHJrci83","File":"c3JjL2EuZ28=","Commit":%q}`, dead, git(t, dir, "rev-parse", "HEAD"))
	write(t, lock, journalHead+text)
	if _, err := r.Sweep(context.Background()); err != nil {
		t.Error(err)
	}
	if read(t, filepath.Join(dir, "src/a.go")) != "package precious\n" || exists(lock) {
		t.Error("a lying journal was followed, or its lock left")
	}
	if err := os.Remove(filepath.Join(dir, ".git", scratch+owner.Self().String()+"_1")); err != nil {
		t.Error(err)
	}
}

// A build may leave folders that cannot be written, and somebody may have locked or removed the worktree.
func TestCloseOfSpoiltWorktree(t *testing.T) {
	dir := fixture(t, filepath.Join(tempDir(t), "r"))
	r := open(t, dir)
	for name, spoil := range map[string]func(tk *Ticket){
		"unwritable": func(tk *Ticket) {
			write(t, filepath.Join(tk.Worktree, "cache/mod/x"), "x")
			if err := os.Chmod(filepath.Join(tk.Worktree, "cache/mod"), 0o500); err != nil {
				t.Fatal(err)
			}
		},
		"locked":       func(tk *Ticket) { git(t, tk.Worktree, "worktree", "lock", ".") },
		"gone":         func(tk *Ticket) { os.RemoveAll(tk.temp) },
		"unregistered": func(tk *Ticket) { git(t, dir, "worktree", "remove", "--force", tk.Worktree) },
		"a link":       func(tk *Ticket) { os.RemoveAll(tk.Worktree); link(t, dir, tk.Worktree) },
		"no .git":      func(tk *Ticket) { os.Remove(filepath.Join(tk.Worktree, ".git")) },
	} {
		tk := resolve(t, r, Query{Ref: "HEAD~"})
		spoil(tk)
		if err := errors.Join(tk.Close(), tk.Close()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if exists(tk.temp) || exists(tk.temp+ownerSuffix) {
			t.Errorf("%s: left behind", name)
		}
		nothingLeftIn(t, r)
	}
	if !exists(filepath.Join(dir, "src/a.go")) || strings.TrimSpace(git(t, dir, "status", "--porcelain")) != "" {
		t.Error("the main worktree was touched")
	}
}
