//go:build unix

package sandboxtest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/sandbox"
)

// holeVar names the hole that the suite's engine has, in a program that a test of holes starts.
const holeVar = "TRKR_TEST_HOLE"

// Hole is a promise that is taken away from every box, and the one test of the suite that has to fail of it. The engine's
// own tests plant what the engine promises, by Name.
type Hole struct {
	Name, Fails string
	Spec        func(*sandbox.Spec)                   // what the engine is told otherwise than the suite asks
	Box         func(sandbox.Sandbox) sandbox.Sandbox // what stands in for its boxes
}

// SharedHoles are those that are the same for every engine.
var SharedHoles = []Hole{
	{Name: "no limit of output", Fails: "OutputLimit", Spec: func(s *sandbox.Spec) { s.Limits.Output *= 2 }},
	{Name: "no limit of memory", Fails: "MemoryLimit", Spec: func(s *sandbox.Spec) { s.Limits.Memory *= 10 }},
	{Name: "sessions that are not ended", Fails: "Sessions", Box: func(b sandbox.Sandbox) sandbox.Sandbox { return lasting{b} }},
	{Name: "boxes that are not ended", Fails: "Close", Box: func(b sandbox.Sandbox) sandbox.Sandbox { return &deathless{Sandbox: b} }},
}

// Planted is the hole that this program is to have, if it is among them.
func Planted(holes []Hole) (Hole, bool) {
	for _, h := range holes {
		if h.Name == os.Getenv(holeVar) {
			return h, true
		}
	}
	return Hole{}, false
}

// Plant gives the engine with what a hole changes of its specs and boxes.
func Plant(e sandbox.Engine, h Hole) sandbox.Engine { return holed{e, h} }

// RunHoles runs the suite, in the test of that name, once for each hole, in a program of its own, and fails where that
// passes: only the test that the hole has to break is run.
func RunHoles(t *testing.T, suite string, holes []Hole) {
	for _, h := range holes {
		t.Run(strings.ReplaceAll(h.Name, " ", "_"), func(t *testing.T) {
			child := exec.Command(os.Args[0], "-test.run", "^"+suite+"$/^"+h.Fails+"$", "-test.count=1", "-test.v", "-test.timeout=2m")
			child.Env = append(os.Environ(), holeVar+"="+h.Name)
			out, err := child.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !strings.Contains(string(out), "--- FAIL: "+suite+"/"+h.Fails+" (") {
				t.Errorf("%s does not fail of it: %v\n%s", h.Fails, err, out)
			}
		})
	}
}

type holed struct {
	sandbox.Engine
	hole Hole
}

func (h holed) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	if h.hole.Spec != nil {
		h.hole.Spec(&spec)
	}
	b, err := h.Engine.Start(ctx, spec)
	if err == nil && h.hole.Box != nil {
		b = h.hole.Box(b)
	}
	return b, err
}

// lasting is a box whose sessions stay when they are closed.
type lasting struct{ sandbox.Sandbox }

func (l lasting) Open(ctx context.Context, s sandbox.SessionSpec) (sandbox.Session, error) {
	se, err := l.Sandbox.Open(ctx, s)
	return unclosed{se}, err
}

type unclosed struct{ sandbox.Session }

func (unclosed) Close() error { return nil }

// deathless is a box that lives on when it is closed, until that is asked for often.
type deathless struct {
	sandbox.Sandbox
	closed int
}

func (d *deathless) Close() error {
	if d.closed++; d.closed > 2 { // the suite closes twice, and once at its end
		return d.Sandbox.Close()
	}
	return nil
}
