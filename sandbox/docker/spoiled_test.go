package docker

import (
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

// A promise that a daemon does not keep is seen by the self-check from inside.
func TestSpoiledBoxIsSeenFromInside(t *testing.T) {
	e := testEngine(t)
	for name, c := range map[string]struct {
		spoil func(*container.HostConfig)
		facts []string
	}{
		"a network":       {func(h *container.HostConfig) { h.NetworkMode = "bridge" }, []string{"interfaces: lo eth0", "routes: ", "reach: a route"}},
		"a writable root": {func(h *container.HostConfig) { h.ReadonlyRootfs = false }, []string{"root: "}},
		"writable inputs": {func(h *container.HostConfig) {
			for i := range h.Mounts {
				if h.Mounts[i].Target == sandbox.Root {
					h.Mounts[i].ReadOnly = false
				}
			}
		}, []string{"inputs: "}},
		"a large file system": {func(h *container.HostConfig) { h.Tmpfs["/tmp"] = "rw,mode=1777,size=1g" }, []string{"limit tmp: 1073741824 bytes /tmp"}},
	} {
		t.Run(name, func(t *testing.T) {
			e.spoil = c.spoil
			defer func() { e.spoil = nil }()
			spec := testSpec(t, "host")
			box, err := e.Start(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			defer box.Close()
			_, _, err = sandbox.SelfCheck(t.Context(), box, spec.Limits)
			if f := fault.Of(err); f == nil || f.Code != "isolation" || len(f.Hints) == 0 {
				t.Fatalf("%v", err)
			}
			for _, fact := range c.facts {
				if !strings.Contains(err.Error(), fact) {
					t.Errorf("%q is missing in: %v", fact, err)
				}
			}
		})
	}
}

// A container that runs and whose init never speaks is not waited for without end, and does not stay.
func TestSilentInitIsNotWaitedFor(t *testing.T) {
	e := testEngine(t)
	e.greeting = 1
	spec := testSpec(t, "host")
	began := time.Now()
	box, err := e.Start(t.Context(), spec)
	if f := fault.Of(err); box != nil || f == nil || f.Code != "engine_stuck" || !strings.Contains(strings.Join(f.Hints, " "), "seccomp") {
		t.Errorf("%v, %v", box, err)
	}
	if d := time.Since(began); d > 30*time.Second {
		t.Errorf("it took %s", d)
	}
	if left := boxes(t, e, spec.RunID); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
