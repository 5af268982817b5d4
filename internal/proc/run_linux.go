package proc

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Run runs c to its end. Whatever the command did is in the Result; the error is ctx's where that ended it,
// ErrSupervision, or about starting it and writing its output. In every case nothing that could be found of it is
// left. Several commands may run at the same time.
func Run(ctx context.Context, c Command) (Result, error) {
	if !dispatched {
		return Result{}, errNotDispatched
	}
	if err := enter(); err != nil {
		return Result{}, err
	}
	defer leave()

	limited := ctx
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	p, err := newPipes()
	if err != nil {
		return Result{}, err
	}
	defer p.close()
	written := passOn(p.output.r, c.Output)
	reported := readReport(p.report.r)

	child, err := start(p)
	if err != nil {
		p.output.w.Close()
		return Result{}, errors.Join(fmt.Errorf("starting the supervisor: %w", err), drain(p.output.r, written))
	}
	// The end of its stdin tells the supervisor to stop the command. One that does not obey is killed in turn.
	stopping := context.AfterFunc(limited, func() { p.order.w.Close() })
	defer stopping()
	overdue := context.AfterFunc(limited, func() {
		select {
		case <-child.ended:
		case <-time.After(obeyLimit):
			_ = child.process.Kill()
		}
	})
	defer overdue()
	if err := gob.NewEncoder(p.order.w).Encode(order{Script: c.Script, Dir: c.Dir, Env: c.Env}); err != nil {
		p.order.w.Close() // the supervisor's end says why
	}

	<-child.ended
	var survivors []string
	if child.err != nil {
		survivors = killOrphans(child)
	}
	child.forget()
	_ = p.report.r.SetReadDeadline(time.Now().Add(drainLimit))
	r := <-reported
	werr := drain(p.output.r, written)

	res := Result{Code: r.Code, Signal: r.Signal, Leftovers: r.Leftovers, Elapsed: r.Elapsed}
	switch {
	case child.err != nil || r.err != nil:
		err = fmt.Errorf("%w: its supervisor is gone (%w)", ErrSupervision, errors.Join(child.err, r.err))
		if len(survivors) > 0 {
			err = fmt.Errorf("%w; could not kill %s", err, strings.Join(survivors, ", "))
		}
	case len(r.Survivors) > 0:
		err = fmt.Errorf("%w: could not kill %s", ErrSupervision, strings.Join(r.Survivors, ", "))
	case ctx.Err() != nil && (r.Stopped || r.Failure != ""):
		err = ctx.Err()
	case r.Failure != "":
		err = errors.New(r.Failure)
	case r.Stopped && limited.Err() == nil:
		err = fmt.Errorf("%w: something told its supervisor to stop", ErrSupervision)
	default:
		res.TimedOut = r.Stopped
		err = werr
	}
	return res, err
}

// child is a running supervisor.
type child struct {
	process *os.Process
	since   uint64        // when it started, in the kernel's ticks
	ended   chan struct{} // closed when it has been waited for
	err     error         // how it ended; read after ended
}

// start starts a supervisor on a thread of its own that stays until the supervisor has ended: the kernel sends
// Pdeathsig when the thread that started it ends.
func start(p *pipes) (*child, error) {
	c := &child{ended: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		// /proc/self/exe and no path: what lies there now may be of the command's making.
		cmd := &exec.Cmd{
			Path:   "/proc/self/exe",
			Args:   []string{"trkr-supervisor", Arg},
			Env:    []string{},
			Stdin:  p.order.r,
			Stdout: p.report.w,
			Stderr: p.output.w,
			// A session of its own: no terminal, and no process of ours in reach of the command's groups.
			SysProcAttr: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM},
		}
		err := register(c, cmd)
		p.order.r.Close()
		p.report.w.Close()
		p.output.w.Close()
		started <- err
		if err == nil {
			c.err = cmd.Wait()
			close(c.ended)
		}
	}()
	return c, <-started
}

type pipe struct{ r, w *os.File }

// pipes of a supervisor, seen from here: orders go out, a report and the command's output come in.
type pipes struct{ order, report, output pipe }

func newPipes() (*pipes, error) {
	p := &pipes{}
	for _, one := range []*pipe{&p.order, &p.report, &p.output} {
		r, w, err := os.Pipe()
		if err != nil {
			p.close()
			return nil, fmt.Errorf("making a pipe: %w", err)
		}
		one.r, one.w = r, w
	}
	return p, nil
}

func (p *pipes) close() {
	for _, f := range []*os.File{p.order.r, p.order.w, p.report.r, p.report.w, p.output.r, p.output.w} {
		if f != nil {
			f.Close()
		}
	}
}

type reading struct {
	report
	err error
}

func readReport(r io.Reader) <-chan reading {
	c := make(chan reading, 1)
	go func() {
		var got reading
		if err := gob.NewDecoder(io.LimitReader(r, 1<<20)).Decode(&got.report); err != nil {
			got.err = fmt.Errorf("reading its report: %w", err)
		}
		c <- got
	}()
	return c
}
