package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// interruption remembers the first signal that asked the program to end.
type interruption struct {
	signal atomic.Int32
}

// exit is the code of an interrupted program, or 0 where no signal came.
func (i *interruption) exit() exitCode {
	if s := i.signal.Load(); s != 0 {
		return exitCode(128 + s)
	}
	return 0
}

// interruptible makes a context that the first SIGINT, SIGTERM or SIGHUP cancels, so that the box is taken down in
// order. The second ends the program at once: the box then goes with its standard input, a later sweep removes what
// stays. The caller calls stop.
func interruptible(stderr io.Writer) (ctx context.Context, i *interruption, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	i = &interruption{}
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup means it
		signals = append(signals, syscall.SIGHUP)
	}
	came := make(chan os.Signal, 2)
	signal.Notify(came, signals...)
	// A reader of ours that went away is an error of a write, not the end of the program: there is a box to take down.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case s := <-came:
				number, _ := s.(syscall.Signal)
				if !i.signal.CompareAndSwap(0, int32(number)) {
					os.Exit(int(i.exit()))
				}
				fmt.Fprintf(stderr, "%s: tidying up; once more ends at once\n", s)
				cancel(fmt.Errorf("interrupted by a signal (%s): %w", s, context.Canceled))
			}
		}
	}()
	return ctx, i, func() {
		signal.Stop(came)
		signal.Stop(pipe)
		close(done)
		cancel(context.Canceled)
	}
}
