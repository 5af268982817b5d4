//go:build linux && (amd64 || arm64)

package gvisor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

// errStuck is why a start ends that took too long.
var errStuck = errors.New("the box did not start in time")

// startFailed names why a started runtime process gave no box, and ends it. err is what shim.Connect said.
func (b *box) startFailed(ctx context.Context, err error) error {
	lost, isLost := errors.AsType[*sandbox.LostError](err)
	if ctx.Err() == nil && isLost {
		// No box was there to be lost: the words are kept, not the type.
		return startError(errors.New(lost.Detail), b.process.said())
	}
	b.process.kill() // there is nothing in it yet that should end by itself
	if ctx.Err() == nil {
		return fault.Env("engine_start_failed", fmt.Errorf("starting the box: %w", err))
	}
	cause := context.Cause(ctx)
	if !errors.Is(cause, errStuck) {
		return fmt.Errorf("starting the box: %w", cause)
	}
	return fault.Envf("engine_stuck",
		[]string{
			"look at dmesg: a kernel that takes no new seccomp filters lets gvisor hang at its start; only a reboot helps",
			"on a machine that is merely busy, try again",
		}, "starting the box: %w", cause)
}

// startError names a failure of gVisor's processes, of which only their last words are known.
func startError(err error, said string) error {
	wrapped := fmt.Errorf("starting the box: %w", err)
	text := said + err.Error()
	for _, known := range []struct {
		code  string
		words []string
		hints []string
	}{
		{
			"no_space",
			[]string{"no space left on device", "disk quota exceeded"},
			[]string{"free some space, or set TMPDIR to a directory on another disk"},
		},
		{
			"too_many_processes",
			[]string{"resource temporarily unavailable", "errno=11"},
			[]string{"this user may start no more processes: raise the limit (ulimit -u, pids.max), or end others"},
		},
		{"too_many_files", []string{"too many open files"}, []string{"raise the limit of open files: ulimit -n"}},
		{
			"ptrace_forbidden",
			[]string{"ptrace"},
			[]string{"in a container: add the capability SYS_PTRACE or use a seccomp profile that allows ptrace", "or use --engine docker"},
		},
		{
			"mount_forbidden",
			[]string{"error mounting", "mounting", "pivot_root", "pivot root"},
			[]string{"something forbids mounts in a new mount namespace: look for a security module (dmesg), or for a container that masks /proc", "or use --engine docker"},
		},
		{
			"seccomp_forbidden",
			[]string{"seccomp"},
			[]string{"gvisor must be able to install seccomp filters: look for a kernel or a container that forbids them", "or use --engine docker"},
		},
	} {
		for _, w := range known.words {
			if strings.Contains(strings.ToLower(text), w) {
				return fault.Env(known.code, wrapped, known.hints...)
			}
		}
	}
	return fault.Env("engine_start_failed", wrapped, "run with --log-level debug, or use --engine docker")
}
