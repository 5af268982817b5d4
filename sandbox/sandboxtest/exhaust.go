//go:build unix

package sandboxtest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/sandbox"
)

// freeze has a command stop all that it reaches, itself too: its own deadline ends it, nothing of it stays, and another's
// command goes on.
func (s *suite) freeze(t *testing.T, box sandbox.Sandbox) {
	victim, se := open(t, box, sandbox.SessionSpec{}), open(t, box, sandbox.SessionSpec{})
	end := stand(t, victim, nil, "victim", "/tmp/of-the-frozen")
	r := run(t, se, sandbox.Command{Args: []string{program, "freeze"}, Timeout: 3 * time.Second})
	if r.Cause != sandbox.CauseDeadline || r.Exited() || r.out != "freezing\n" {
		t.Errorf("%s %q %q", r.Exit, r.out, r.err)
	}
	if got := says(t, se, "alive"); got != "0\n" {
		t.Errorf("%q processes of the uid are left", got)
	}
	if r := end(); !r.Exited() || r.Code != 0 {
		t.Errorf("another's command: %s %q %q", r.Exit, r.out, r.err)
	}
}

// starve has a command take the cores and the descriptors, while others are served.
func (s *suite) starve(t *testing.T, box sandbox.Sandbox) {
	hungry, other := open(t, box, sandbox.SessionSpec{}), open(t, box, sandbox.SessionSpec{})
	ctx, stop := context.WithCancel(timeout(t))
	defer stop()
	up := make(chan struct{})
	var once sync.Once
	var running sync.WaitGroup
	running.Go(func() {
		defer once.Do(func() { close(up) })
		e, err := hungry.Run(ctx, sandbox.Command{Args: []string{program, "starve"}, Stdout: writer(func([]byte) error {
			once.Do(func() { close(up) })
			return nil
		})})
		if !errors.Is(err, context.Canceled) || e.Cause != sandbox.CauseKilled {
			t.Errorf("%s, %v", e, err)
		}
	})
	<-up
	for range 3 {
		if got := says(t, other, "say", "alive", ""); got != "alive\n" {
			t.Errorf("beside it: %q", got)
		}
	}
	if _, err := box.Isolation(timeout(t)); err != nil {
		t.Errorf("beside it: %v", err)
	}
	stop()
	running.Wait()
	if got := says(t, hungry, "alive"); got != "0\n" {
		t.Errorf("%q processes of the uid are left", got)
	}
}

// descriptors has a command take all that it may have, twice. It has a box of its own, with room for their tables.
func (s *suite) descriptors(t *testing.T) {
	limits := Limits
	limits.Memory *= 4
	box := s.start(t, limits)
	se, other := open(t, box, sandbox.SessionSpec{}), open(t, box, sandbox.SessionSpec{})
	for range 2 {
		if r := subject(t, se, "fds"); !r.Exited() || r.Code != 0 {
			t.Errorf("%s %q %q", r.Exit, r.out, r.err)
		}
		if got := says(t, other, "say", "alive", ""); got != "alive\n" {
			t.Errorf("after it: %q", got)
		}
	}
}

// inodes has a command make files that take no room but their own entries. It may be refused, or meet the limit of
// memory with or without its box; nothing else, and a box that stays works on.
func (s *suite) inodes(t *testing.T) {
	limits := Limits
	limits.Memory /= 2 // it takes its time
	box := s.start(t, limits)
	se := open(t, box, sandbox.SessionSpec{})
	var out strings.Builder
	e, err := se.Run(timeout(t), sandbox.Command{Args: []string{program, "inodes", "/tmp", "1000000"}, Stdout: &out})
	t.Logf("%s, %v, %q", e, err, out.String())
	if lost, ok := errors.AsType[*sandbox.LostError](err); ok {
		if lost.Cause != sandbox.CauseMemory || lost.Engine {
			t.Errorf("%+v", lost)
		}
		return
	}
	if err != nil || e.Cause != sandbox.CauseMemory && e.Code != 8 {
		t.Errorf("%s, %v, %q", e, err, out.String())
	}
	if err := se.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
	other := open(t, box, sandbox.SessionSpec{})
	if got := says(t, other, "touch", "/tmp/x"); got != "wrote /tmp/x\n" {
		t.Errorf("after it: %q", got)
	}
}
