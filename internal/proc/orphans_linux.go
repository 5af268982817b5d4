package proc

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// running holds the supervisors of this program. While there are any, this program is a subreaper itself, so that the
// orphans of a killed supervisor come to it and not to the machine's init.
var running struct {
	sync.Mutex
	count int
	pids  map[int]bool
}

func enter() error {
	running.Lock()
	defer running.Unlock()
	if running.count == 0 {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("becoming a subreaper: %w", err)
		}
		// The command may run as the same user. It must neither write this program's memory nor take its files.
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			return fmt.Errorf("shutting this program to the command: %w", err)
		}
		running.pids = map[int]bool{}
	}
	running.count++
	return nil
}

func leave() {
	running.Lock()
	defer running.Unlock()
	running.count--
	if running.count == 0 {
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
		_ = unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
	}
}

// register starts a supervisor and takes it in, with nobody looking for orphans in between.
func register(c *child, cmd *exec.Cmd) error {
	running.Lock()
	defer running.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	c.process = cmd.Process
	running.pids[cmd.Process.Pid] = true
	p, _ := look(cmd.Process.Pid)
	c.since = p.start
	return nil
}

func (c *child) forget() {
	running.Lock()
	defer running.Unlock()
	delete(running.pids, c.process.Pid)
}

// killOrphans kills what a supervisor that was itself killed left to this program, and returns the names of what could
// not be killed. Orphans are known by what they cannot undo: they are children of this program, younger than their
// supervisor, and in another session, since the supervisor began with a new one and nobody can enter an old one. Other
// supervisors are left alone. A process that another part of this program started meanwhile with a session of its own
// looks the same; it is killed too, which can only happen when a command has attacked its supervisor.
func killOrphans(c *child) []string {
	self := os.Getpid()
	session, err := unix.Getsid(0)
	if err != nil {
		return []string{"anything: " + err.Error()}
	}
	t := &tree{of: func(p process) treePart {
		running.Lock()
		defer running.Unlock()
		if p.parent == self && p.session != session && p.start >= c.since && !running.pids[p.pid] {
			return member
		}
		return elsewhere
	}}
	t.reap = func() bool {
		// Only the orphans are waited for: this program's other children belong to whoever started them.
		for _, p := range processes() {
			if p.zombie && t.of(p) == member {
				_, _ = syscall.Wait4(p.pid, nil, syscall.WNOHANG|syscall.WALL, nil)
			}
		}
		return false
	}
	return t.kill()
}
