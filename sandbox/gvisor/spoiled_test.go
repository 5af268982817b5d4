//go:build linux && (amd64 || arm64)

package gvisor

import (
	"slices"
	"strings"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

// A promise that a box does not keep is seen by the self-check from inside.
func TestSpoiledBoxIsSeenFromInside(t *testing.T) {
	mount := func(s *specs.Spec, at string) *specs.Mount {
		return &s.Mounts[slices.IndexFunc(s.Mounts, func(m specs.Mount) bool { return m.Destination == at })]
	}
	for fact, spoil := range map[string]func(*specs.Spec){
		"root: ":   func(s *specs.Spec) { s.Root.Readonly = false },
		"inputs: ": func(s *specs.Spec) { mount(s, sandbox.Root).Options = []string{"bind"} },
		"limit tmp: ": func(s *specs.Spec) {
			mount(s, "/tmp").Options = []string{"mode=1777", "size=1g"}
		},
		"limit pids: ": func(s *specs.Spec) { // no command is started in it
			s.Process.Rlimits[0] = specs.POSIXRlimit{Type: "RLIMIT_NPROC", Soft: 1000, Hard: 1000}
		},
	} {
		t.Run(fact, func(t *testing.T) {
			e := newEngine(t)
			e.spoil = spoil
			spec := newSpec(t)
			box := start(t, e, spec)
			_, _, err := sandbox.SelfCheck(t.Context(), box, spec.Limits)
			if f := fault.Of(err); f == nil || f.Code != "isolation" || !strings.Contains(err.Error(), fact) {
				t.Errorf("%v", err)
			}
		})
	}
}
