package main

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

// answering is an engine of which only the answer to Check matters.
type answering struct {
	sandbox.Engine
	name  string
	check func(context.Context) error
}

func (e answering) Name() string { return e.name }
func (e answering) Check(ctx context.Context) (sandbox.Version, error) {
	return sandbox.Version{Version: "1", Detail: "tested"}, e.check(ctx)
}

func works(context.Context) error { return nil }

func broken(context.Context) error {
	return fault.Envf("no_daemon", []string{"start it", "or --engine gvisor"}, "nobody answers\nat all")
}

func hangs(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

func TestChooseEngine(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere there is one engine")
	}
	for name, c := range map[string]struct {
		docker       func(context.Context) error
		asked, image string
		want, reason string
	}{
		"named":         {broken, "docker", "host", "docker", ""},
		"host":          {works, "auto", "host", "gvisor", "auto: the image is host"},
		"image, daemon": {works, "auto", "debian:12", "docker", "auto: an image is named and a Docker daemon answers"},
		"image, none":   {broken, "auto", "debian:12", "gvisor", "auto: an image is named and no Docker daemon answers"},
		"image, silent": {hangs, "auto", "oci:dir", "gvisor", "auto: an image is named and no Docker daemon answers"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := []sandbox.Engine{answering{name: "gvisor", check: works}, answering{name: "docker", check: c.docker}}
			got, reason, err := choose(t.Context(), all, c.asked, c.image)
			if err != nil {
				t.Fatal(err)
			}
			if got.Name() != c.want || reason != c.reason {
				t.Errorf("chose %s because %q, want %s because %q", got.Name(), reason, c.want, c.reason)
			}
		})
	}
}

func TestNamedEngineThatIsNotThere(t *testing.T) {
	_, err := named([]sandbox.Engine{answering{name: "gvisor"}}, "podman")
	if f, ok := errors.AsType[*fault.Error](err); !ok || !f.Usage || !strings.Contains(strings.Join(f.Hints, ""), "gvisor") {
		t.Errorf("got %v", err)
	}
}

func TestDoctorFailsOnlyWhereNoEngineWorks(t *testing.T) {
	good, bad := answering{name: "gvisor", check: works}, answering{name: "docker", check: broken}
	found, usable := examineEngines(t.Context(), []sandbox.Engine{good, bad})
	if !usable || found[0].State != stateOK || found[0].Detail != "1, tested" || found[1].State != stateWarning || found[1].Hints[0] != "start it" {
		t.Errorf("one of two: %v %+v", usable, found)
	}
	found, usable = examineEngines(t.Context(), []sandbox.Engine{bad})
	if usable || found[0].State != stateFailed {
		t.Errorf("none: %v %+v", usable, found)
	}
}
