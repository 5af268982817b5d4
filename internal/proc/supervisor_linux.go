package proc

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// order is what a supervisor reads first from its stdin, which then stays open: its end means that the command is to
// be stopped. gob, because environments and paths are bytes and not always UTF-8.
type order struct {
	Script, Dir string
	Env         []string
}

// report is what a supervisor writes to its stdout when everything is gone.
type report struct {
	Failure   string // why the command could not be started; nothing else is set then
	Code      int
	Signal    string
	Stopped   bool // killed because stdin ended or a signal asked for it
	Elapsed   time.Duration
	Leftovers []string
	Survivors []string // could not be killed
}

// supervise is the whole life of a supervisor. Its stderr is the command's output.
func supervise() int {
	// The shell dies with the thread that started it, so that thread must stay.
	runtime.LockOSThread()
	s := &supervisor{childEnded: make(chan os.Signal, 1), stop: make(chan struct{})}
	// Nothing but KILL and STOP ends a supervisor. Ignoring the signals instead would be inherited by the command.
	signal.Notify(make(chan os.Signal, 1))
	signal.Notify(s.childEnded, syscall.SIGCHLD)
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)

	if err := shutInherited(); err != nil {
		return s.tell(report{Failure: fmt.Sprintf("shutting inherited files: %v", err)})
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return s.tell(report{Failure: fmt.Sprintf("becoming a subreaper: %v", err)})
	}
	// Keeps the command away from this process's memory and descriptors: it could forge the report.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return s.tell(report{Failure: fmt.Sprintf("shutting the supervisor off: %v", err)})
	}
	in := bufio.NewReader(os.Stdin)
	var o order
	if err := gob.NewDecoder(in).Decode(&o); err != nil {
		return s.tell(report{Failure: fmt.Sprintf("reading the order: %v", err)})
	}
	go func() {
		ended := make(chan struct{})
		go func() {
			_, _ = io.Copy(io.Discard, in)
			close(ended)
		}()
		select {
		case <-ended:
		case <-told: // the program that started us died, see Pdeathsig
		}
		close(s.stop)
	}()
	return s.tell(s.run(o))
}

// shutInherited keeps from the command what somebody else left open in this program: a caller's files, pipes and
// sockets are none of its business.
func shutInherited() error {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range open {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
	return nil
}

type supervisor struct {
	childEnded chan os.Signal
	stop       chan struct{}

	shell  int
	ended  bool
	status syscall.WaitStatus
}

func (s *supervisor) tell(r report) int {
	if err := gob.NewEncoder(os.Stdout).Encode(r); err != nil {
		return 1 // nobody reads it any more
	}
	return 0
}

func (s *supervisor) run(o order) report {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return report{Failure: err.Error()}
	}
	start := time.Now()
	s.shell, err = syscall.ForkExec("/bin/sh", []string{"/bin/sh", "-c", o.Script}, &syscall.ProcAttr{
		Dir:   o.Dir,
		Env:   o.Env,
		Files: []uintptr{null.Fd(), 2, 2},
		// A session of its own: nothing of the command can join the supervisor's process group.
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	_ = null.Close()
	if err != nil {
		return report{Failure: fmt.Sprintf("starting /bin/sh in %s: %v", o.Dir, err)}
	}

	var r report
	for alone := s.reap(); !s.ended && !alone; alone = s.reap() {
		select {
		case <-s.childEnded:
			continue
		case <-s.stop:
			r.Stopped = true
		}
		break
	}
	r.Elapsed = time.Since(start)

	t := &tree{of: isSelf, also: hidden, reap: s.reap, ended: s.childEnded}
	if !r.Stopped {
		s.linger()
	}
	r.Survivors = t.kill()
	if !r.Stopped {
		r.Leftovers = t.names.shown()
	}
	r.Code, r.Signal = s.status.ExitStatus(), ""
	if s.status.Signaled() {
		r.Code, r.Signal = -1, s.status.Signal().String()
	}
	return r
}

// linger gives what the command left behind a moment to end by itself.
func (s *supervisor) linger() {
	moment := time.NewTimer(graceAfter)
	defer moment.Stop()
	for !s.reap() {
		select {
		case <-s.childEnded:
		case <-s.stop:
			return
		case <-moment.C:
			return
		}
	}
}

// reap takes every child that has ended and reports whether none is left at all.
func (s *supervisor) reap() (alone bool) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG|syscall.WALL, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return true // ECHILD
		case pid == 0:
			return false
		case pid == s.shell:
			s.ended, s.status = true, status
		}
	}
}
