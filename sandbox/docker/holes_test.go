package docker

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/sandboxtest"
)

// spoilers are holes that a daemon could have, and the test of the suite that fails of each.
//
// What the init sees to by itself cannot be planted here, because it does so whatever the daemon gives: uids,
// capabilities, no_new_privs, namespaces, the environment, deadlines. e2e takes those out of the program
// (TestCheatsWorkWithoutTheirDefence). A pid namespace of the host's must not be planted: the init ends all processes
// of a uid. Swap cannot be where a machine has none.
var spoilers = []struct {
	sandboxtest.Hole
	spoil func(*container.HostConfig)
}{
	{hole("the host's network", "Sockets"), func(h *container.HostConfig) { h.NetworkMode = "host" }},
	{hole("a network", "Network"), func(h *container.HostConfig) { h.NetworkMode = "bridge" }},
	{hole("no filter of system calls", "Keys"), func(h *container.HostConfig) { h.SecurityOpt = append(h.SecurityOpt, "seccomp=unconfined") }},
	{hole("a writable root", "Isolation"), func(h *container.HostConfig) { h.ReadonlyRootfs = false }},
	{hole("writable inputs", "ReadOnly"), func(h *container.HostConfig) { *inputsOf(h).readOnly = false }},
	{hole("the repository", "Markers"), func(h *container.HostConfig) {
		repository := filepath.Dir(filepath.Dir(filepath.Dir(inputsOf(h).source))) // the input is in .trkr/validate/7
		h.Mounts = append(h.Mounts, mount.Mount{Type: mount.TypeBind, Source: repository, Target: "/mnt", ReadOnly: true})
	}},
	{hole("the place of the inputs", "Host"), func(h *container.HostConfig) {
		h.Mounts = append(h.Mounts, mount.Mount{Type: mount.TypeBind, Source: inputsOf(h).source, Target: inputsOf(h).source, ReadOnly: true})
	}},
	{hole("large file systems", "TmpLimit"), func(h *container.HostConfig) { h.Tmpfs["/tmp"] = "rw,mode=1777,size=1g" }},
	{hole("no limit of processes", "PidsLimit"), func(h *container.HostConfig) { h.PidsLimit = nil }},
	{hole("no limit of memory by the daemon", "MemoryLimit"), func(h *container.HostConfig) { h.Memory, h.MemorySwap = 0, 0 }},
}

func hole(name, fails string) sandboxtest.Hole { return sandboxtest.Hole{Name: name, Fails: fails} }

// inputMount is where the inputs are mounted from.
type inputMount struct {
	source   string
	readOnly *bool
}

func inputsOf(h *container.HostConfig) inputMount {
	m := &h.Mounts[slices.IndexFunc(h.Mounts, func(m mount.Mount) bool { return m.Target == sandbox.Root })]
	return inputMount{m.Source, &m.ReadOnly}
}

// planted is e, with the hole that this program is to have.
func planted(e *engine) sandbox.Engine {
	for _, s := range spoilers {
		if _, ok := sandboxtest.Planted([]sandboxtest.Hole{s.Hole}); ok {
			e.spoil = s.spoil
		}
	}
	if h, ok := sandboxtest.Planted(sandboxtest.SharedHoles); ok {
		return sandboxtest.Plant(e, h)
	}
	return e
}

// Each promise that is taken away is missed by the test that guards it.
func TestEachHoleFailsItsTest(t *testing.T) {
	testEngine(t)
	holes := sandboxtest.SharedHoles
	for _, s := range spoilers {
		holes = append(holes, s.Hole)
	}
	sandboxtest.RunHoles(t, "TestSuiteOnHost", holes)
}
