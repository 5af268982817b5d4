package shim_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/shim"
)

func start(t testing.TB) sandbox.Sandbox {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making namespaces for the init needs root; the engines' own tests run the suite without it")
	}
	dir := t.TempDir()
	if err := errors.Join(
		os.Mkdir(filepath.Join(dir, "artifact"), 0o755),
		os.WriteFile(filepath.Join(dir, "contract.md"), []byte("VAL-1: x\n"), 0o644),
	); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	box, err := nsEngine{t}.Start(ctx, sandbox.Spec{RunID: t.Name(), Input: dir, Limits: sandbox.Limits{
		Memory: 256 << 20, CPUs: 1, Pids: 64, Output: 1 << 30, Tmp: 64 << 20,
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	return box
}

func open(t testing.TB, box sandbox.Sandbox) sandbox.Session {
	t.Helper()
	se, err := box.Open(context.Background(), sandbox.SessionSpec{Role: sandbox.RoleSubject})
	if err != nil {
		t.Fatal(err)
	}
	return se
}

func run(t testing.TB, se sandbox.Session, c sandbox.Command) {
	t.Helper()
	if e, err := se.Run(context.Background(), c); err != nil || !e.Exited() || e.Code != 0 {
		t.Fatalf("%q: %s, %v", c.Args, e, err)
	}
}

// TestShellInATerminal: an interactive shell ends at the end of its input, and job control works in it.
func TestShellInATerminal(t *testing.T) {
	se := open(t, start(t))
	var out strings.Builder
	run(t, se, sandbox.Command{
		Args: []string{"/bin/sh", "-i"}, Stdin: strings.NewReader("set -m; sleep 60 & kill -KILL %1; wait; tty; exit\n"), Stdout: &out,
		TTY: &sandbox.TTY{Rows: 24, Cols: 80},
	})
	if !strings.Contains(out.String(), "/dev/pts/") || strings.Contains(out.String(), "job control turned off") {
		t.Errorf("%q", out.String())
	}
}

// TestCloseRemovesAll: what a session left where it may write is gone with it, shut directories as well.
func TestCloseRemovesAll(t *testing.T) {
	box := start(t)
	a, b := open(t, box), open(t, box)
	run(t, a, sandbox.Command{Args: []string{
		"/bin/sh", "-c",
		"mkdir -p d/e/f /tmp/x/y /dev/shm/z; echo > d/e/f/g; chmod 0 d/e d; chmod 0 /tmp/x/y; echo > /tmp/.hidden; mkdir -m 1777 /tmp/open; ln -s /validate /tmp/link",
	}})
	run(t, b, sandbox.Command{Args: []string{"/bin/sh", "-c", "echo > /tmp/open/of-b; echo > /tmp/b"}})
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	c := open(t, box)
	var out strings.Builder
	run(t, c, sandbox.Command{Args: []string{"/bin/sh", "-c", "find /tmp /dev/shm -mindepth 1; ls -A /work; cat /validate/contract.md"}, Stdout: &out})
	want := filepath.Base(filepath.Dir(c.Dir())) + "\nVAL-1: x\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// TestNothingGrows: neither threads nor files of the init grow with the sessions it served.
func TestNothingGrows(t *testing.T) {
	box := start(t)
	pid, _ := nsPids.Load(t.Name())
	count := func() (threads, files int) {
		for _, d := range []struct {
			dir string
			n   *int
		}{{"task", &threads}, {"fd", &files}} {
			names, err := os.ReadDir(fmt.Sprintf("/proc/%d/%s", pid, d.dir))
			if err != nil {
				t.Fatal(err)
			}
			*d.n = len(names)
		}
		return threads, files
	}
	use := func() {
		se := open(t, box)
		run(t, se, sandbox.Command{Args: []string{"/bin/true"}, Stdin: strings.NewReader("x")})
		if err := se.Close(); err != nil {
			t.Fatal(err)
		}
	}
	use()
	threads, files := count()
	for range 100 {
		use()
	}
	if th, f := count(); th > threads || f > files {
		t.Errorf("threads %d, then %d; files %d, then %d", threads, th, files, f)
	}
}

// TestOutsideABox: the init and its decoys are nothing outside.
func TestOutsideABox(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "trkr-shim")
	build := exec.Command("go", "build", "-o", bin, "github.com/trkr-dev/trkr-validate/cmd/trkr-shim")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, args := range [][]string{nil, {"x"}, {shim.Arg}, {shim.Arg, "no-such-helper"}} {
		c := exec.Command(bin, args...)
		c.Env = []string{"TRKR_DECOY_EXIT=0"}
		out, err := c.CombinedOutput()
		if err == nil || len(out) == 0 {
			t.Errorf("%q: %v %q", args, err, out)
		}
	}
}

func BenchmarkTrue(b *testing.B) {
	se := open(b, start(b))
	for b.Loop() {
		run(b, se, sandbox.Command{Args: []string{"/bin/true"}})
	}
}

func BenchmarkSession(b *testing.B) {
	box := start(b)
	for b.Loop() {
		se := open(b, box)
		run(b, se, sandbox.Command{Args: []string{"/bin/true"}})
		if err := se.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBareTrue is what BenchmarkTrue is to be compared with.
func BenchmarkBareTrue(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOutput(b *testing.B) {
	se := open(b, start(b))
	const size = 256 << 20
	b.SetBytes(size)
	for b.Loop() {
		run(b, se, sandbox.Command{Args: []string{"head", "-c", fmt.Sprint(size), "/dev/zero"}, Stdout: io.Discard})
	}
}
