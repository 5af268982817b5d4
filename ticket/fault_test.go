package ticket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// wrapGit puts a git on PATH that runs script first.
func wrapGit(t *testing.T, script string) {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	bin := tempDir(t)
	write(t, filepath.Join(bin, "git"), fmt.Sprintf("#!/bin/sh\n%s\nexec %s \"$@\"\n", script, shellQuote(real)))
	if err := os.Chmod(filepath.Join(bin, "git"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}

func TestDubiousOwnership(t *testing.T) {
	dir := fixture(t, filepath.Join(tempDir(t), "r"))
	wrapGit(t, "export GIT_TEST_ASSUME_DIFFERENT_OWNER=1")
	_, err := Open(context.Background(), dir)
	wantFault(t, err, "dubious_ownership")
	if f := fault.Of(err); f.Usage || !strings.Contains(f.Hints[0], "safe.directory") {
		t.Errorf("got %+v", f)
	}
}

// readOnly runs the child on a repository whose git directory the child may not write.
func readOnly(t *testing.T, dir string) string {
	t.Helper()
	home, err := os.MkdirTemp("/tmp", "ticket-home-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	write(t, filepath.Join(home, ".gitconfig"), "[safe]\n directory = *\n")
	cmd := child("run", dir, "HOME="+home, "TMPDIR="+home)
	if os.Getuid() == 0 {
		// Nothing is read-only for root: the child is somebody else, and so needs a program that it may read.
		if err := copyFile(os.Args[0], filepath.Join(home, "child")); err != nil {
			t.Fatal(err)
		}
		cmd.Path = filepath.Join(home, "child")
		for _, name := range []string{home, cmd.Path} {
			if err := errors.Join(os.Chmod(name, 0o755), os.Chown(name, 65534, 65534)); err != nil {
				t.Fatal(err)
			}
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	} else {
		chmodAll(t, filepath.Join(dir, ".git"), 0o500)
		t.Cleanup(func() { chmodAll(t, filepath.Join(dir, ".git"), 0o700) })
	}
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Error("the child could write")
	}
	return string(out)
}

func chmodAll(t *testing.T, dir string, mode os.FileMode) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(p, mode)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestReadOnlyRepository(t *testing.T) {
	base, err := os.MkdirTemp("/tmp", "ticket-read-only-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	dir := fixture(t, filepath.Join(base, "r"))
	old := git(t, dir, "rev-parse", "trkr/7")
	if out := readOnly(t, dir); !strings.HasPrefix(out, "repository_read_only: recording ") {
		t.Errorf("with the branch checked out: %s", out)
	}
	git(t, dir, "checkout", "-q", "main")
	if out := readOnly(t, dir); !strings.HasPrefix(out, "repository_read_only: making a temporary worktree") {
		t.Errorf("without: %s", out)
	}
	if got := git(t, dir, "rev-parse", "trkr/7"); got != old {
		t.Error("something was committed")
	}
}

// A read-only repository whose record is already there can be judged: computing the tree writes nothing.
func TestTreeWritesNothing(t *testing.T) {
	dir := fixture(t, filepath.Join(tempDir(t), "r"))
	r := open(t, dir)
	if _, err := r.Record(context.Background(), resolve(t, r, Query{}), []byte("x\n"), "m"); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "src/c.go"), "package a\n")
	git(t, dir, "add", "src/c.go")
	git(t, dir, "commit", "-qm", "more")
	before := git(t, dir, "count-objects")
	tk := resolve(t, r, Query{})
	if after := git(t, dir, "count-objects"); after != before {
		t.Errorf("objects before %s, after %s", before, after)
	}
	if _, err := tryGit(dir, "cat-file", "-e", tk.Tree); err == nil {
		t.Error("the tree is in the repository")
	}
}

func TestFailedRecordLeavesNothingHalfDone(t *testing.T) {
	for _, command := range []string{"hash-object", "mktree", "commit-tree", "update-ref"} {
		t.Run(command, func(t *testing.T) {
			dir := fixture(t, filepath.Join(tempDir(t), "r"))
			wrapGit(t, `for a in "$@"; do [ "$a" = `+command+` ] && { echo "fatal: No space left on device" >&2; exit 128; }; done`)
			r := open(t, dir)
			tk := resolve(t, r, Query{})
			_, err := r.Record(context.Background(), tk, []byte("x\n"), "m")
			wantFault(t, err, "disk_full")
			if git(t, dir, "rev-parse", "trkr/7") != tk.Commit || git(t, dir, "status", "--porcelain") != "" {
				t.Error("something changed")
			}
			nothingLeftIn(t, r)
		})
	}
}

func TestStaleWorktree(t *testing.T) {
	dir := fixture(t, filepath.Join(tempDir(t), "r"))
	wrapGit(t, `for a in "$@"; do [ "$a" = update-index ] && { echo "fatal: No space left on device" >&2; exit 128; }; done`)
	r := open(t, dir)
	commit, err := r.Record(context.Background(), resolve(t, r, Query{}), []byte("x\n"), "m")
	wantFault(t, err, "worktree_stale")
	if commit == "" || git(t, dir, "rev-parse", "trkr/7") != commit {
		t.Errorf("the commit %q is lost", commit)
	}
	nothingLeftIn(t, r)
	// The hint is the remedy.
	if out, err := exec.Command("/bin/sh", "-c", fault.Of(err).Hints[0]).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := git(t, dir, "status", "--porcelain"); got != "" {
		t.Errorf("status after the remedy %q", got)
	}
}

// A git that hangs ends with the caller's time, and what it started ends with it.
func TestCancelled(t *testing.T) {
	dir := fixture(t, filepath.Join(tempDir(t), "r"))
	r := open(t, dir)
	base := tempDir(t)
	started := filepath.Join(base, "started")
	write(t, filepath.Join(base, "git"), "#!/bin/sh\nsleep 300 &\necho $! > "+started+".tmp\nmv "+started+".tmp "+started+"\nwait\n")
	if err := os.Chmod(filepath.Join(base, "git"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.git.path = filepath.Join(base, "git")
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for !exists(started) {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	if _, err := r.Resolve(ctx, Query{Issue: "7"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	var pid int
	if _, err := fmt.Sscan(read(t, started), &pid); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") || syscall.Kill(pid, 0) != nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("what git started still runs")
		}
	}
}

func TestBoundedOutput(t *testing.T) {
	dir := fixture(t, filepath.Join(tempDir(t), "r"))
	r := open(t, dir)
	r.git.limit = 1000
	if _, err := r.git.output(context.Background(), call{at: r.shared(), args: []string{"config", "--list"}}); err != nil {
		t.Error(err)
	}
	git(t, dir, "config", "user.name", strings.Repeat("x", 2000))
	_, err := r.git.output(context.Background(), call{at: r.shared(), args: []string{"config", "--list"}})
	if f := fault.Of(err); f == nil || f.Code != "git_output" {
		t.Errorf("got %v", err)
	}
}
