//go:build unix

package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/internal/initd"
	"github.com/trkr-dev/trkr-validate/sandbox/shim"
)

// Fake is an engine without isolation: the client and the server of a real box, whose commands are processes of this
// machine and of this user. The paths of a box (/validate, /opt/validate, /work) are temporary directories; where they
// stand in a command's words, variables or directory they are translated, and so is what LookPath answers. What a
// command prints is not: pwd tells the truth. Limits other than Output and Command.Timeout are not kept. A process
// that has cleared its own environment escapes Kill. The zero value is ready.
type Fake struct {
	CheckError, StartError error // what Check and Start answer
	// Seen is what Isolation tells other than a box without holes would: a planted hole. Limits is likewise what Info
	// tells of limits.
	Seen, Limits map[string]string

	mu     sync.Mutex
	specs  []sandbox.Spec
	builds []sandbox.Build
	boxes  map[string]*fakeBox
}

type fakeBox struct {
	ground  *fakeGround
	program net.Conn
	served  chan struct{}
}

// Name is "fake".
func (f *Fake) Name() string { return "fake" }

// Check answers CheckError.
func (f *Fake) Check(context.Context) (sandbox.Version, error) {
	return sandbox.Version{Version: "0", Detail: "no isolation"}, f.CheckError
}

// Sweep finds nothing: a Fake ends with its test.
func (f *Fake) Sweep(context.Context, bool) ([]string, error) { return nil, nil }

// Specs are those that Start was asked for, in order.
func (f *Fake) Specs() []sandbox.Spec {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]sandbox.Spec(nil), f.specs...)
}

// Open counts the boxes that were not closed.
func (f *Fake) Open() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.boxes)
}

// Kill ends the box of a run as if its init had died.
func (f *Fake) Kill(runID string) {
	f.mu.Lock()
	b := f.boxes[runID]
	f.mu.Unlock()
	if b != nil {
		b.program.Close()
		<-b.served
	}
}

// Start does as sandbox.Engine says, but for the limits.
func (f *Fake) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	f.mu.Lock()
	f.specs = append(f.specs, spec)
	_, taken := f.boxes[spec.RunID]
	f.mu.Unlock()
	if f.StartError != nil {
		return nil, f.StartError
	}
	if taken {
		return nil, fmt.Errorf("starting a box: the run %q has one", spec.RunID)
	}
	g, err := newFakeGround(spec.Input)
	if err != nil {
		return nil, err
	}
	g.seen = f.Seen
	program, server := net.Pipe()
	b := &fakeBox{ground: g, program: program, served: make(chan struct{})}
	go func() {
		defer close(b.served)
		defer server.Close()
		initd.Serve(server, g) // the program sees the stream break
	}()
	limits := map[string]string{}
	for _, l := range []string{"memory", "cpus", "pids", "tmp"} {
		limits[l] = "unavailable: a fake keeps none"
	}
	limits["output"] = "enforced"
	maps.Copy(limits, f.Limits)
	box, err := shim.Connect(ctx, program, shim.Box{
		Info: sandbox.Info{Engine: "fake", EngineVersion: "0", Image: spec.Image, Path: os.Getenv("PATH"), Limits: limits},
		Spec: spec,
		Lost: func(context.Context) *sandbox.LostError {
			return &sandbox.LostError{Cause: sandbox.CauseUnknown, Detail: "the fake box was killed"}
		},
		Close: func() error {
			<-b.served
			f.mu.Lock()
			delete(f.boxes, spec.RunID)
			f.mu.Unlock()
			return os.RemoveAll(g.root)
		},
	})
	if err != nil {
		program.Close()
		<-b.served
		return nil, errors.Join(err, os.RemoveAll(g.root))
	}
	f.mu.Lock()
	if f.boxes == nil {
		f.boxes = map[string]*fakeBox{}
	}
	f.boxes[spec.RunID] = b
	f.mu.Unlock()
	return box, nil
}

func newFakeGround(input string) (*fakeGround, error) {
	if _, err := os.Stat(filepath.Join(input, "contract.md")); err != nil {
		return nil, fmt.Errorf("starting a box: %w", err)
	}
	input, err := filepath.EvalSymlinks(input)
	if err != nil {
		return nil, fmt.Errorf("starting a box: %w", err)
	}
	root, err := os.MkdirTemp("", "trkr-fake-")
	if err != nil {
		return nil, fmt.Errorf("starting a box: %w", err)
	}
	root, err = filepath.EvalSymlinks(root)
	if err != nil {
		return nil, fmt.Errorf("starting a box: %w", err)
	}
	g := &fakeGround{root: root, groups: map[int][]int{}}
	for _, p := range [][2]string{{sandbox.Root, input}, {sandbox.Prefix, root + "/prefix"}, {initd.Work, root + "/work"}} {
		g.names = append(g.names, fakeName{box: p[0], host: p[1]})
		if p[1] != input {
			if err := os.Mkdir(p[1], 0o755); err != nil {
				return nil, errors.Join(err, os.RemoveAll(root))
			}
		}
	}
	return g, nil
}
