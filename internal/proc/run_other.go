//go:build unix && !linux

package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// supervise is never asked for here.
func supervise() int { return 2 }

// Run runs c to its end and kills its process group. Whatever the command did is in the Result; the error is ctx's
// where that ended it, or about starting it and writing its output.
func Run(ctx context.Context, c Command) (Result, error) {
	if !dispatched {
		return Result{}, errNotDispatched
	}
	limited := ctx
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	r, w, err := os.Pipe()
	if err != nil {
		return Result{}, fmt.Errorf("making a pipe: %w", err)
	}
	defer r.Close()
	cmd := exec.CommandContext(limited, "/bin/sh", "-c", c.Script)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, c.Env, w, w
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	begin := time.Now()
	err = cmd.Start()
	w.Close()
	if err != nil {
		return Result{}, fmt.Errorf("starting /bin/sh in %s: %w", c.Dir, err)
	}
	written := passOn(r, c.Output)
	err = cmd.Wait()
	res := Result{Elapsed: time.Since(begin), Code: cmd.ProcessState.ExitCode()}
	stopped := limited.Err() != nil && err != nil
	if syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) == nil && !stopped {
		res.Leftovers = []string{"processes of its group"}
	}
	werr := drain(r, written)

	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		res.Signal = ws.Signal().String()
	}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited && !stopped {
		return res, err
	}
	if stopped && ctx.Err() != nil {
		return res, ctx.Err()
	}
	res.TimedOut = stopped
	return res, werr
}
