//go:build linux && (amd64 || arm64)

package gvisor

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/sandboxtest"
)

// spoilers are holes that a box could have, and the test of the suite that fails of each.
//
// What the init sees to by itself cannot be planted here, because it does so whatever it is given: uids, capabilities,
// no_new_privs, namespaces, the environment, deadlines. e2e takes those out of the program
// (TestCheatsWorkWithoutTheirDefence). Neither can gVisor's own kernel be made to let system calls through.
var spoilers = []struct {
	sandboxtest.Hole
	spoil func(*specs.Spec)
	args  []string
}{
	{hole("the host's network", "Network"), nil, []string{"--network=host"}},
	{hole("the host's Unix sockets", "Sockets"), func(s *specs.Spec) {
		found, _ := filepath.Glob(filepath.Join(os.TempDir(), sandboxtest.SocketDir+"*"))
		for _, dir := range found {
			s.Mounts = append(s.Mounts, bind(dir, dir, "bind", "ro"))
		}
	}, []string{"--host-uds=open"}},
	{hole("a writable root", "Isolation"), func(s *specs.Spec) { s.Root.Readonly = false }, nil},
	{hole("writable inputs", "ReadOnly"), func(s *specs.Spec) { mounted(s).Options = []string{"bind"} }, nil},
	{hole("the repository", "Markers"), func(s *specs.Spec) {
		repository := filepath.Dir(filepath.Dir(filepath.Dir(mounted(s).Source))) // the input is in .trkr/validate/7
		s.Mounts = append(s.Mounts, bind(repository, "/mnt", "bind", "ro"))
	}, nil},
	{hole("the place of the inputs", "Host"), func(s *specs.Spec) {
		s.Mounts = append(s.Mounts, bind(mounted(s).Source, mounted(s).Source, "bind", "ro"))
	}, nil},
	{hole("large file systems", "TmpLimit"), func(s *specs.Spec) {
		i := slices.IndexFunc(s.Mounts, func(m specs.Mount) bool { return m.Destination == "/tmp" })
		s.Mounts[i].Options = []string{"mode=1777", "size=1g"}
	}, nil},
	{hole("a higher limit of processes", "PidsLimit"), func(s *specs.Spec) { // little higher: see docs/threat-model.md
		s.Process.Rlimits[0].Soft, s.Process.Rlimits[0].Hard = 240, 240
	}, nil},
}

func hole(name, fails string) sandboxtest.Hole { return sandboxtest.Hole{Name: name, Fails: fails} }

// mounted is how the inputs are mounted.
func mounted(s *specs.Spec) *specs.Mount {
	return &s.Mounts[slices.IndexFunc(s.Mounts, func(m specs.Mount) bool { return m.Destination == sandbox.Root })]
}

// planted is e, with the hole that this program is to have.
func planted(e *engine) sandbox.Engine {
	for _, s := range spoilers {
		if _, ok := sandboxtest.Planted([]sandboxtest.Hole{s.Hole}); ok {
			e.spoil, e.spoilArgs = s.spoil, s.args
		}
	}
	if h, ok := sandboxtest.Planted(sandboxtest.SharedHoles); ok {
		return sandboxtest.Plant(e, h)
	}
	return e
}

// Each promise that is taken away is missed by the test that guards it.
func TestEachHoleFailsItsTest(t *testing.T) {
	newEngine(t)
	holes := sandboxtest.SharedHoles
	for _, s := range spoilers {
		holes = append(holes, s.Hole)
	}
	sandboxtest.RunHoles(t, "TestConformance", holes)
}
