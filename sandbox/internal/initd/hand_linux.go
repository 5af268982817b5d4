package initd

import (
	"fmt"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
)

// hand is a thread with rights of its own, kept for ever: at the limit of pids a new one could not be made.
//
// One hand acts for identities: it makes their directories and pipes, starts and kills them. It is the only one, so that
// no kill meets a child between fork and its change of uid. Another one is the eye, which looks for no session.
type hand struct{ calls chan func() }

// newHand starts a thread that first gives up what become takes.
func newHand(become func() error) (*hand, error) {
	h := &hand{calls: make(chan func())}
	ready := make(chan error)
	go func() {
		runtime.LockOSThread()
		ready <- become()
		for f := range h.calls {
			f()
		}
	}()
	if err := <-ready; err != nil {
		return nil, err
	}
	return h, nil
}

// bare takes from this thread what its children must not inherit: groups, the bounding set where that is allowed, and
// the way to namespaces of their own.
func bare() error {
	if _, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); e != 0 {
		return fmt.Errorf("leaving all groups: %w", e)
	}
	for c := uintptr(0); c <= 63; c++ {
		if _, _, e := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0); e != 0 {
			break // no SETPCAP, or past the last capability
		}
	}
	return filter()
}

// looker makes this thread what a command of LookUID would be, with no way back. No process ever has that uid, so none
// may signal or trace the thread.
func looker() error {
	if err := bare(); err != nil {
		return err
	}
	const id = wire.LookUID
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESGID, id, id, id); e != 0 {
		return fmt.Errorf("taking the gid that looks: %w", e)
	}
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, id, id, id); e != 0 {
		return fmt.Errorf("taking the uid that looks: %w", e)
	}
	hide()
	return nil
}

func (h *hand) do(f func()) {
	done := make(chan struct{})
	h.calls <- func() {
		defer close(done)
		f()
	}
	<-done
}

// as has the hand run f with the effective ids of the identity.
func (h *hand) as(id Identity, f func()) { h.do(func() { as(id, f) }) }

// as runs f with the identity's effective uid and gid. It is called on the hand's thread. Real and saved ids stay 0, so
// that the identity may neither signal nor trace that thread, and so that the way back is open.
func as(id Identity, f func()) {
	set(unix.SYS_SETRESGID, id.UID)
	set(unix.SYS_SETRESUID, id.UID)
	defer func() {
		set(unix.SYS_SETRESUID, 0)
		set(unix.SYS_SETRESGID, 0)
		hide()
	}()
	f()
}

// set changes the effective id of this thread alone. An init that cannot is of no use and must not go on.
func set(call uintptr, id int) {
	const keep = ^uintptr(0)
	if _, _, e := unix.RawSyscall(call, keep, uintptr(id), keep); e != 0 {
		panic(fmt.Sprintf("changing the effective id to %d: %v", id, e))
	}
}

// hide shuts /proc/1 and ptrace to everybody. A change of ids may open them again.
func hide() { unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0, 0) }

// reaper collects every child, also those that the dead leave to PID 1.
type reaper struct {
	mu    sync.Mutex
	wait  map[int]chan<- Status
	child *sync.Cond // signalled when there may be a child
}

func newReaper() *reaper {
	r := &reaper{wait: map[int]chan<- Status{}}
	r.child = sync.NewCond(&r.mu)
	go r.loop()
	return r
}

// start starts a child whose end comes from the channel.
func (r *reaper) start(path string, args []string, attr *syscall.ProcAttr) (<-chan Status, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err := syscall.ForkExec(path, args, attr)
	if err != nil {
		return nil, err
	}
	c := make(chan Status, 1)
	r.wait[pid] = c
	r.child.Signal()
	return c, nil
}

func (r *reaper) loop() {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		r.mu.Lock()
		switch {
		case err == syscall.ECHILD:
			if len(r.wait) == 0 {
				r.child.Wait()
			}
		case err == nil && (ws.Exited() || ws.Signaled()):
			if c := r.wait[pid]; c != nil {
				delete(r.wait, pid)
				c <- StatusOf(ws)
			}
		}
		r.mu.Unlock()
	}
}
