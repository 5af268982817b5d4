//go:build linux && (amd64 || arm64)

package gvisor

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trkr-dev/trkr-validate/internal/owner"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

// hold starts a program that has a box in which a command runs, and returns when it does.
func hold(t *testing.T, e *engine) *exec.Cmd {
	t.Helper()
	cmd := role(t, "hold", stateVar+"="+filepath.Dir(e.stateDir()), inputVar+"="+newSpec(t).Input)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if line != "holding\n" {
		t.Fatalf("the program said %q, %v", line, err)
	}
	return cmd
}

// After kill -9 of the program nothing of its box runs, and a sweep takes away what lies around: that, and nothing of
// a program that lives.
func TestKilledProgram(t *testing.T) {
	e := newEngine(t)
	live := start(t, e, newSpec(t))
	mine := processesOf(t, e.stateDir())
	cmd := hold(t, e)
	var fds []unix.PollFd
	for pid, line := range processesOf(t, e.stateDir()) {
		if _, ok := mine[pid]; ok {
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		defer unix.Close(fd)
		fds = append(fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	if len(fds) < 3 {
		t.Fatalf("a box of %d processes", len(fds))
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	gone := time.Now().Add(10 * time.Second)
	for _, fd := range fds {
		if n, err := unix.Poll([]unix.PollFd{fd}, int(time.Until(gone).Milliseconds())); n != 1 {
			t.Fatalf("a process of the box goes on: %v", err)
		}
	}

	names, err := e.Sweep(t.Context(), true)
	if err != nil || len(names) != 1 || !strings.Contains(names[0], "run test") {
		t.Fatalf("a dry run names %q, %v", names, err)
	}
	again, err := e.Sweep(t.Context(), false)
	if err != nil || len(again) != 1 || again[0] != names[0] {
		t.Fatalf("the sweep names %q, %v", again, err)
	}
	if names, err := e.Sweep(t.Context(), false); err != nil || len(names) != 0 {
		t.Fatalf("a second sweep names %q, %v", names, err)
	}
	if out, _ := sh(t, live, "echo here"); out != "here\n" {
		t.Errorf("the box of a live program says %q", out)
	}
	must(t, live.Close())
	nothingLeft(t, e)
}

// A wedged gVisor does not keep Close from ending it.
func TestCloseFrozen(t *testing.T) {
	e := newEngine(t)
	box := start(t, e, newSpec(t))
	for pid := range processesOf(t, e.stateDir()) {
		must(t, unix.Kill(pid, unix.SIGSTOP))
	}
	must(t, box.Close())
	must(t, box.Close())
	nothingLeft(t, e)
}

// A box whose gVisor is killed is lost, by somebody whom nobody here knows.
func TestLost(t *testing.T) {
	e := newEngine(t)
	box := start(t, e, newSpec(t))
	s, err := box.Open(t.Context(), sandbox.SessionSpec{Role: sandbox.RoleSubject})
	must(t, err)
	pid := sandboxOf(t, e.stateDir())
	r, w := io.Pipe()
	go func() {
		_, _ = io.ReadFull(r, make([]byte, 1))
		_ = unix.Kill(pid, unix.SIGKILL)
		_, _ = io.Copy(io.Discard, r)
	}()
	_, err = s.Run(t.Context(), sandbox.Command{Args: []string{"/bin/sh", "-c", "echo x; sleep 1000"}, Stdout: w})
	if lost, ok := err.(*sandbox.LostError); !ok || lost.Cause != sandbox.CauseUnknown || lost.Engine || lost.Detail == "" {
		t.Errorf("got %v", err)
	}
	must(t, box.Close())
	nothingLeft(t, e)
}

func TestStuck(t *testing.T) {
	e := newEngine(t)
	e.startLimit = time.Millisecond
	_, err := e.Start(t.Context(), newSpec(t))
	wantFault(t, err, "engine_stuck")
	nothingLeft(t, e)
}

// A folder that another user may have put in the place of ours is not used, nor is a link.
func TestUnsafeState(t *testing.T) {
	for name, put := range map[string]func(dir string) error{
		"open to all": func(dir string) error {
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
			return os.Chmod(dir, 0o777)
		},
		"link": func(dir string) error { return os.Symlink(filepath.Dir(dir), dir) },
		"file": func(dir string) error { return os.WriteFile(dir, nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t)
			must(t, put(e.stateDir()))
			_, err := e.Start(t.Context(), newSpec(t))
			wantFault(t, err, "state_dir_unsafe")
		})
	}
}

// Things in the state folder that are no boxes, or whose making was cut short.
func TestSweepOdd(t *testing.T) {
	e := New(Options{StateDir: shortDir(t)}).(*engine)
	if names, err := e.Sweep(t.Context(), false); err != nil || names != nil {
		t.Fatalf("a sweep before any box: %q, %v", names, err)
	}
	state, err := e.openState()
	must(t, err)
	must(t, os.Mkdir(filepath.Join(state, "half"), 0o700))
	must(t, os.WriteFile(filepath.Join(state, "file"), nil, 0o600))
	must(t, os.Mkdir(filepath.Join(state, "odd"), 0o700))
	must(t, os.WriteFile(filepath.Join(state, "odd", ownerFile), []byte("nobody knows"), 0o600))
	must(t, os.MkdirAll(filepath.Join(state, "reused", "deep"), 0o700))
	before := owner.Self() // another program that had this one's pid
	before.Start = 1
	must(t, os.WriteFile(filepath.Join(state, "reused", ownerFile), []byte(before.String()), 0o600))
	live, err := e.newBoxDir("r")
	must(t, err)
	names, err := e.Sweep(t.Context(), false)
	if want := "gvisor box half,gvisor box odd,gvisor box reused"; err != nil || strings.Join(names, ",") != want {
		t.Fatalf("got %q, %v, want %q", names, err, want)
	}
	if _, err := os.Stat(live); err != nil {
		t.Errorf("the folder of a live program: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Sweep(ctx, false); err == nil {
		t.Error("a sweep goes on after its end")
	}
}

// Programs that come and go at the same moment do not take the folder away from each other.
func TestStateComesAndGoes(t *testing.T) {
	parent := shortDir(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			e := New(Options{StateDir: parent}).(*engine)
			for range 50 {
				dir, err := e.newBoxDir("r")
				if err == nil {
					err = os.RemoveAll(dir)
				}
				if err != nil {
					t.Error(err)
					return
				}
				e.tidy()
			}
		})
	}
	all.Wait()
	if entries, err := os.ReadDir(parent); err != nil || len(entries) > 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

// rootOf runs a role as root of a user namespace of its own, and returns what it prints.
func rootOf(t *testing.T, name string, flags uintptr, env ...string) string {
	t.Helper()
	cmd := role(t, name, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | flags,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.Output()
	must(t, err)
	return strings.TrimSpace(string(out))
}

// The real thing, not made answers: no user namespaces left, and a disk without room.
func TestQuotaOfZero(t *testing.T) {
	newEngine(t)
	if got := rootOf(t, "quota", 0, stateVar+"="+shortDir(t)); got != "userns_quota" {
		t.Errorf("got %q", got)
	}
}

func TestFullDisk(t *testing.T) {
	newEngine(t)
	got := rootOf(t, "full", unix.CLONE_NEWNS, stateVar+"="+shortDir(t), inputVar+"="+newSpec(t).Input)
	if got != "no_space" {
		t.Errorf("got %q", got)
	}
}

// A program whose file was replaced while it runs, by a build for instance, still has its init.
func TestReplacedProgram(t *testing.T) {
	newEngine(t)
	dir := shortDir(t)
	cmd := role(t, "replaced", stateVar+"="+dir, inputVar+"="+newSpec(t).Input)
	cmd.Path = filepath.Join(dir, "program")
	must(t, copyFile(cmd.Path, selfExe))
	out, err := cmd.Output()
	if string(out) != "hello\nfine\nfine\n" {
		t.Errorf("got %q, %v", out, err)
	}
}
