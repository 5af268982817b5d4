//go:build linux && (amd64 || arm64)

package gvisor

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

func TestIsRuntime(t *testing.T) {
	for _, c := range []struct {
		argv []string
		want bool
	}{
		{[]string{"runsc", "--root=/x", "run"}, true},
		{[]string{"runsc-gofer", "--root=/x"}, true},
		{[]string{"runsc-sandbox", "--root=/x"}, true},
		{[]string{"/proc/self/exe", "--root=/x", "run"}, true},
		{[]string{"/proc/self/exe", "umount", "--sync-fd=3", "/proc"}, true},
		{[]string{"/proc/self/fd/201", "/proc/self/fd/204", "--root=/x", "boot"}, true},
		{[]string{"/proc/self/fd/9", "7"}, false},
		{[]string{"/proc/self/exe", "7"}, false},
		{[]string{"/proc/self/exe"}, false},
		{[]string{"trkr-validate", "--root=/x"}, false},
		{[]string{"trkr-validate", "umount"}, false},
		{[]string{"/usr/bin/trkr-validate"}, false},
		{nil, false},
	} {
		if got := isRuntime(c.argv); got != c.want {
			t.Errorf("%q: %v", c.argv, got)
		}
	}
}

func TestPickCPUs(t *testing.T) {
	var allowed unix.CPUSet
	for _, cpu := range []int{1, 3, 70} {
		allowed.Set(cpu)
	}
	for _, c := range []struct {
		n, from int
		want    []int
	}{
		{1, 0, []int{1}}, {1, 2, []int{70}}, {2, 2, []int{1, 70}}, {3, 1, []int{1, 3, 70}}, {9, 0, []int{1, 3, 70}}, {0, 1, []int{3}},
	} {
		chosen, n := pickCPUs(allowed, c.n, func(int) int { return c.from })
		var got []int
		for cpu := range 128 {
			if chosen.IsSet(cpu) {
				got = append(got, cpu)
			}
		}
		if !slices.Equal(got, c.want) || n != len(c.want) {
			t.Errorf("%d from %d: %v (%d), want %v", c.n, c.from, got, n, c.want)
		}
	}
}

func TestNextLook(t *testing.T) {
	for left, want := range map[int64]time.Duration{
		4 << 30: longestLook, 256 << 20: 31250 * time.Microsecond, 64 << 20: 7812500 * time.Nanosecond, 0: shortestLook,
	} {
		if got := nextLook(left); got != want {
			t.Errorf("%d bytes left: %s, want %s", left, got, want)
		}
	}
}

func TestLimitTexts(t *testing.T) {
	got := limitTexts(sandbox.Limits{Memory: 2 << 30, CPUs: 2, Pids: 256, Output: 16 << 20, Tmp: 1000}, "2 of 4 cores enforced")
	for name, want := range map[string]string{
		"memory": "2GiB supervised", "cpus": "2 of 4 cores enforced", "pids": "256 enforced, each uid",
		"output": "16MiB enforced, each command", "tmp": "1000 bytes enforced, each file system",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	if few := limitTexts(sandbox.Limits{Pids: 8}, "")["pids"]; !strings.HasPrefix(few, "64 enforced") || !strings.Contains(few, "8 asked for") {
		t.Errorf("pids below what the init needs: %q", few)
	}
}

// The last words of gVisor's processes, as they were seen.
func TestStartError(t *testing.T) {
	for said, code := range map[string]string{
		`creating container: cannot create gofer process: write /x/config.json: no space left on device`: "no_space",
		`starting sandbox: fork/exec /proc/self/exe: resource temporarily unavailable`:                   "too_many_processes",
		`runtime: failed to create new OS thread (have 7 already; errno=11)`:                             "too_many_processes",
		`cannot create gofer process: open /x: too many open files`:                                      "too_many_files",
		`FATAL ERROR: unable to initialize platform: ptrace attach: operation not permitted`:             "ptrace_forbidden",
		`FATAL ERROR: error setting up chroot: error mounting tmpfs in chroot: permission denied`:        "mount_forbidden",
		`panic: failed to set seccomp filters: invalid argument`:                                         "seccomp_forbidden",
		`something that nobody has seen yet`:                                                             "engine_start_failed",
	} {
		err := startError(errors.New("box lost"), said)
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Code != code || f.Usage || len(f.Hints) == 0 {
			t.Errorf("%q: got %+v, want %s", said, err, code)
		}
	}
}
