//go:build linux && (amd64 || arm64)

package gvisor

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/sandbox"
)

// A box that uses more memory than it may is ended and says so, wherever the memory lies, and nothing is left of it.
func TestMemory(t *testing.T) {
	e := newEngine(t)
	for name, command := range map[string]string{
		"anonymous": `exec python3 -c 'x = []
while True: x.append(bytearray(1 << 20))'`,
		"file system": `cat /dev/zero > /dev/shm/a & cat /dev/zero > /tmp/b & cat /dev/zero > c; wait; sleep 60`,
		// What waits in pipes lies in gVisor's own kernel.
		"pipes": `exec python3 -c '
import os, fcntl, time
keep = []
while True:
    r, w = os.pipe()
    try: fcntl.fcntl(w, 1031, 1 << 20)
    except OSError: pass
    os.set_blocking(w, False)
    try:
        while True: os.write(w, bytes(1 << 16))
    except BlockingIOError: pass
    keep.append((r, w))'`,
	} {
		t.Run(name, func(t *testing.T) {
			spec := newSpec(t)
			spec.Limits.Memory = 96 << 20
			box, err := e.Start(t.Context(), spec)
			must(t, err)
			_, _, err = trySh(box, command)
			lost, ok := errors.AsType[*sandbox.LostError](err)
			if !ok || lost.Cause != sandbox.CauseMemory || lost.Engine || !strings.Contains(lost.Detail, "MiB") {
				t.Errorf("got %v, want a box lost for memory", err)
			}
			must(t, box.Close())
			nothingLeft(t, e)
		})
	}
}

// nothingLeft makes sure that the engine has left no file and no process.
func nothingLeft(t *testing.T, e *engine) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(e.stateDir()))
	must(t, err)
	if len(entries) > 0 {
		t.Errorf("left: %v", entries)
	}
	if left := processesOf(t, e.stateDir()); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

// processesOf gives the command lines of the processes that name dir, by pid.
func processesOf(t *testing.T, dir string) map[int]string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	must(t, err)
	found := map[int]string{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		line, err := os.ReadFile("/proc/" + entry.Name() + "/cmdline")
		if err == nil && bytes.Contains(line, []byte("="+dir)) {
			found[pid] = string(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
		}
	}
	return found
}

// sandboxOf is the pid of the one process of those that name dir that holds a box's memory.
func sandboxOf(t *testing.T, dir string) int {
	t.Helper()
	for pid := range processesOf(t, dir) {
		if _, err := findMemory(pid); err == nil {
			return pid
		}
	}
	t.Fatal("no sandbox process")
	return 0
}

// Processes and threads of one uid are limited from the first command on. The loop is bounded, and of threads, which
// end with their process: it must never be a real bomb.
func TestPids(t *testing.T) {
	box := start(t, newEngine(t), newSpec(t))
	out, exit := sh(t, box, `exec python3 -c '
import os, threading, time
n = 1
try:
    for i in range(100):
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        n += 1
except RuntimeError: pass
try:
    if os.fork() == 0: n = -1
except BlockingIOError: pass
print(n, flush=True)
os._exit(0)'`)
	n, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil || n < 60 || n > 65 {
		t.Errorf("%q threads with a limit of 64 (%s)", out, exit)
	}
}

func TestTmpSize(t *testing.T) {
	spec := newSpec(t)
	spec.Limits.Tmp = 4 << 20
	box := start(t, newEngine(t), spec)
	out, _ := sh(t, box, `for f in /tmp/f $HOME/f /dev/shm/f; do head -c 9000000 /dev/zero 2>/dev/null > $f; stat -c %s $f; rm $f; done`)
	for _, line := range strings.Fields(out) {
		if line != "4194304" {
			t.Errorf("sizes of files on full file systems of 4 MiB: %q", strings.Fields(out))
		}
	}
}

func TestCPUs(t *testing.T) {
	spec := newSpec(t)
	spec.Limits.CPUs = 0.5
	box := start(t, newEngine(t), spec)
	if out, _ := sh(t, box, "nproc"); out != "1\n" {
		t.Errorf("nproc says %q", out)
	}
	if text := box.Info().Limits["cpus"]; !strings.Contains(text, "0.5 asked for") {
		t.Errorf("the limit reads %q", text)
	}
}

// The caller's end of patience is not the engine's fault, and leaves nothing.
func TestStartCancelled(t *testing.T) {
	e := newEngine(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	box, err := e.Start(ctx, newSpec(t))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, %v", box, err)
	}
	nothingLeft(t, e)
}
