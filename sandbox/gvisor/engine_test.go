//go:build linux && (amd64 || arm64)

package gvisor

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/testengine"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newEngine is an engine with a state folder of its own, or the end of a test that cannot have one.
func newEngine(t testing.TB) *engine {
	t.Helper()
	e := New(Options{StateDir: shortDir(t), ImageDir: filepath.Join(t.TempDir(), "images")}).(*engine)
	_, err := e.Check(context.Background())
	testengine.Require(t, Name, err)
	return e
}

// shortDir is a folder with a short name: a socket's path has no room for a test's.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "gv")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	return dir
}

func wantFault(t *testing.T, err error, code string) {
	t.Helper()
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Code != code || f.Usage || len(f.Hints) == 0 {
		t.Errorf("got %+v, want %s with a hint", err, code)
	}
}

// newSpec describes a box with a contract and one artifact.
func newSpec(t testing.TB) sandbox.Spec {
	t.Helper()
	input := t.TempDir()
	must(t, os.Mkdir(filepath.Join(input, "artifact"), 0o755))
	must(t, os.WriteFile(filepath.Join(input, "contract.md"), []byte("VAL-1: works\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(input, "artifact", "hello"), []byte("#!/bin/sh\necho hello\n"), 0o755))
	return specOf(input)
}

func specOf(input string) sandbox.Spec {
	return sandbox.Spec{
		RunID: "test", Input: input, Image: "host",
		Limits: sandbox.Limits{Memory: 512 << 20, CPUs: 2, Pids: 64, Output: 1 << 20, Tmp: 64 << 20},
	}
}

func start(t testing.TB, e *engine, spec sandbox.Spec) sandbox.Sandbox {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	box, err := e.Start(ctx, spec)
	must(t, err)
	t.Cleanup(func() { must(t, box.Close()) })
	return box
}

// sh runs a command of the subject and returns what it said.
func sh(t testing.TB, box sandbox.Sandbox, command string) (string, sandbox.Exit) {
	t.Helper()
	out, exit, err := trySh(box, command)
	must(t, err)
	return out, exit
}

func trySh(box sandbox.Sandbox, command string) (string, sandbox.Exit, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	s, err := box.Open(ctx, sandbox.SessionSpec{Role: sandbox.RoleSubject})
	if err != nil {
		return "", sandbox.Exit{}, err
	}
	var out bytes.Buffer
	exit, err := s.Run(ctx, sandbox.Command{Args: []string{"/bin/sh", "-c", command}, Stdout: &out, Stderr: &out})
	if err != nil {
		return out.String(), exit, err
	}
	return out.String(), exit, s.Close()
}

// A box holds what the specification says and nothing else.
func TestBox(t *testing.T) {
	t.Setenv("TRKR_PLANTED", "of the host")
	e, spec := newEngine(t), newSpec(t)
	defer syscall.Umask(syscall.Umask(0o077)) // the user's own does not matter
	box := start(t, e, spec)
	for _, c := range []struct{ command, want string }{
		{"grep MemTotal /proc/meminfo | tr -dc 0-9", "524288"},
		{"/validate/artifact/hello", "hello\n"},
		{"cd /validate && find . | sort", ".\n./artifact\n./artifact/hello\n./contract.md\n"},
		{"ls -d /home /root /var /mnt /srv /boot /etc/shadow /etc/machine-id 2>/dev/null; true", ""},
		{"stat -c '%u %a' /opt/validate /tmp /work /dev/shm /", "10001 755\n0 1777\n0 1777\n0 1777\n0 755\n"},
		{"ls -A /tmp /dev/shm /opt/validate", "/dev/shm:\n\n/opt/validate:\n\n/tmp:\n"},
		{"for d in / /usr /etc /validate /run/trkr /opt/validate /opt; do touch $d/x 2>/dev/null && echo $d; done; true", ""},
		{"tail -n +3 /proc/net/dev | cut -d : -f 1; tail -n +2 /proc/net/route", "    lo\n"},
		{"grep -E '^(CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs)' /proc/self/status | cut -f 2 | uniq", "0000000000000000\n1\n"},
		{"env | grep PLANTED; true", ""},
		{"hostname", "validate\n"},
		{"id -un | cut -c 1-3", "u10\n"},
		{"ls /proc | grep -c '^[0-9]'", "4\n"}, // the init, the shell, ls and grep
	} {
		if out, exit := sh(t, box, c.command); out != c.want || exit.Code != 0 {
			t.Errorf("%s: got %q (%s), want %q", c.command, out, exit, c.want)
		}
	}
	if info := box.Info(); info.Engine != "gvisor" || info.Image != "host" || info.Path == "" || len(info.Limits) != 5 {
		t.Errorf("info: %+v", info)
	}
}

// What the user has wrong is told before anything starts.
func TestRefusedMount(t *testing.T) {
	e, spec := newEngine(t), newSpec(t)
	spec.Mounts = []string{t.TempDir()} // below /tmp, which is the box's own
	_, err := e.Start(t.Context(), spec)
	if f := fault.Of(err); f == nil || f.Code != "mount_invalid" {
		t.Errorf("got %v", err)
	}
	nothingLeft(t, e)
}
