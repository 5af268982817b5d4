package docker

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/sandbox"
)

// past speaks to the daemon beside the proxy, and removes what the test leaves.
func past(t *testing.T, e *engine, p *proxy, run string) *engine {
	t.Helper()
	t.Setenv("DOCKER_HOST", "unix://"+p.daemon)
	direct := newEngine(e.options)
	d, err := direct.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, name := range boxes(t, direct, run) {
			if err := d.remove(context.Background(), name, false); err != nil {
				t.Error(err)
			}
		}
	})
	return direct
}

// A removal whose answer is lost, or that the daemon could not do at once, is tried again.
func TestRemovalIsTriedAgain(t *testing.T) {
	e, p := misbehaving(t)
	spec := testSpec(t, "host")
	box, err := e.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	name := boxes(t, e, spec.RunID)[0]
	d, err := e.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen, err := d.ContainerInspect(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	p.lose, p.once = "/containers/"+seen.ID, true
	p.mu.Unlock()
	if err := box.Close(); err != nil {
		t.Error(err)
	}
	p.mu.Lock()
	if p.lose != "" {
		t.Error("no answer was lost")
	}
	p.mu.Unlock()
	if left := boxes(t, e, spec.RunID); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A daemon that has started again has dropped the box's stream, and perhaps ended the box: the box is lost, not the
// engine, and what is left of it is removed.
func TestDaemonThatStartsAgain(t *testing.T) {
	for name, ended := range map[string]bool{"the box lives on": false, "the box was ended": true} {
		t.Run(name, func(t *testing.T) {
			e, p := misbehaving(t)
			spec := testSpec(t, "host")
			box, err := e.Start(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			d, err := e.connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if ended {
				if err := d.ContainerKill(t.Context(), boxes(t, e, spec.RunID)[0], "KILL"); err != nil {
					t.Fatal(err)
				}
			}
			p.drop()
			_, err = box.Inputs(t.Context(), 0)
			if lost, ok := errors.AsType[*sandbox.LostError](err); !ok || lost.Engine || lost.Cause != sandbox.CauseUnknown {
				t.Errorf("Inputs() gives %v, want a box lost", err)
			}
			if err := box.Close(); err != nil {
				t.Error(err)
			}
			if left := boxes(t, e, spec.RunID); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// A daemon that stops answering under a box is not waited for without end: the engine is lost, and what could not be
// removed is said, with what removes it later.
func TestDaemonThatFreezes(t *testing.T) {
	remove, lost := removeLimit, lostLimit
	t.Cleanup(func() { removeLimit, lostLimit = remove, lost })
	removeLimit, lostLimit = 2*time.Second, 2*time.Second
	e, p := misbehaving(t)
	spec := testSpec(t, "host")
	box, err := e.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	s, err := box.Open(t.Context(), sandbox.SessionSpec{Role: sandbox.RoleSubject})
	if err != nil {
		t.Fatal(err)
	}
	direct := past(t, e, p, spec.RunID)
	p.freeze(true)
	began := time.Now()
	_, err = s.Run(t.Context(), sandbox.Command{Args: []string{"/bin/true"}})
	if lost, ok := errors.AsType[*sandbox.LostError](err); !ok || !lost.Engine {
		t.Errorf("Run() gives %v, want an engine lost", err)
	}
	wantFault(t, box.Close(), "docker_leftover")
	if d := time.Since(began); d > 90*time.Second {
		t.Errorf("it took %s", d)
	}
	p.freeze(false)
	// The program is still alive, so the box is not swept: it is this run's until it ends.
	if left := boxes(t, direct, spec.RunID); len(left) > 1 {
		t.Errorf("left: %v", left)
	}
}
