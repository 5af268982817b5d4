package sandbox_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

var (
	limits = sandbox.Limits{Memory: 1 << 30, CPUs: 2, Pids: 64, Output: 1 << 20, Tmp: 64 << 20}
	info   = sandbox.Info{Engine: "docker", Limits: map[string]string{
		"memory": "1GiB enforced", "cpus": "2 enforced", "pids": "128 enforced (64 and the 64 threads of the init)", "tmp": "64MiB enforced",
	}}
)

// whole is what a box without holes shows.
func whole() map[string]string {
	return map[string]string{
		"uid": "10002", "gid": "10002", "groups": "[]", "capabilities": "0000000000000000", "permitted": "0000000000000000",
		"no_new_privs": "1", "seccomp": "2", "interfaces": "lo", "routes": "none", "reach": "nothing: network is unreachable",
		"dns": "none: no such host", "root": "read-only", "inputs": "read-only", "prefix": "not writable: permission denied",
		"limit memory": "1073741824 bytes (memory.max), swap 0", "limit cpus": "2 cores (cpu.max)",
		"limit pids": "128 (pids.max)", "limit tmp": "67108864 bytes /tmp, 67108864 bytes /work",
	}
}

// Each promise that does not hold, or that could not be looked at, is a hole of its own.
func TestEachHoleIsSeen(t *testing.T) {
	if holes := sandbox.Holes(whole(), info, limits); len(holes) > 0 {
		t.Fatalf("of a box without holes: %v", holes)
	}
	for fact, bad := range map[string][]string{
		"uid":          {"0", "", "-1"},
		"gid":          {"0"},
		"groups":       {"[0]", "[27]"},
		"capabilities": {"00000000a80425fb", "cannot be seen"},
		"permitted":    {"0000000000000001"},
		"no_new_privs": {"0"},
		"seccomp":      {"0", "1"},
		"interfaces":   {"lo eth0", "cannot be seen: no permission"},
		"routes":       {"1"},
		"reach":        {"a route leads out"},
		"dns":          {"answers"},
		"root":         {"writable", "not writable: permission denied"},
		"inputs":       {"writable"},
		"prefix":       {"writable"},
		"limit memory": {"unlimited bytes (memory.max)", "2147483648 bytes (memory.max), swap 0", "1073741824 bytes (memory.max), swap unlimited"},
		"limit pids":   {"unlimited (pids.max)", "129 (pids.max)"},
		"limit tmp":    {"67108864 bytes /tmp, 9663676416 bytes /work", "0 bytes /tmp", ""},
	} {
		for _, value := range bad {
			seen := whole()
			seen[fact] = value
			if holes := sandbox.Holes(seen, info, limits); len(holes) != 1 || holes[0].Fact != fact || holes[0].Remedy == "" {
				t.Errorf("%s is %q: %v", fact, value, holes)
			}
		}
		seen := whole()
		delete(seen, fact)
		if holes := sandbox.Holes(seen, info, limits); len(holes) != 1 {
			t.Errorf("without %s: %v", fact, holes)
		}
	}
}

// What an engine says that it does not enforce is no hole, and neither is what nothing inside shows.
func TestLimitsThatAreSaidToBeOtherwise(t *testing.T) {
	seen, other := whole(), info
	other.Limits = map[string]string{"memory": "1GiB supervised", "pids": "unavailable: no such control group", "tmp": "64MiB enforced"}
	seen["limit memory"], seen["limit pids"] = "unlimited bytes (memory.max)", "unlimited (pids.max)"
	if holes := sandbox.Holes(seen, other, limits); len(holes) > 0 {
		t.Error(holes)
	}
	seen["limit memory"], seen["limit pids"] = sandbox.NotShown, sandbox.NotShown
	if holes := sandbox.Holes(seen, info, limits); len(holes) > 0 {
		t.Error(holes)
	}
}

type box struct {
	sandbox.Sandbox
	seen map[string]string
}

func (b box) Info() sandbox.Info { return info }

func (b box) Isolation(context.Context) (map[string]string, error) {
	if b.seen == nil {
		return nil, errors.New("lost")
	}
	return b.seen, nil
}

// The self-check tells values, and of what does not hold every one, with what to do.
func TestSelfCheck(t *testing.T) {
	isolation, kept, err := sandbox.SelfCheck(t.Context(), box{seen: whole()}, limits)
	if err != nil {
		t.Fatal(err)
	}
	if kept["pids"] != info.Limits["pids"]+"; seen inside: 128 (pids.max)" || isolation["reach"] != "nothing: network is unreachable" {
		t.Errorf("%q %q", kept, isolation)
	}
	if slices.ContainsFunc(slices.Collect(maps.Keys(isolation)), func(k string) bool { return strings.HasPrefix(k, sandbox.FactLimit) }) {
		t.Errorf("limits stand in %q", isolation)
	}
	open := whole()
	open["interfaces"], open["root"] = "lo eth0", "writable"
	_, _, err = sandbox.SelfCheck(t.Context(), box{seen: open}, limits)
	f := fault.Of(err)
	if f == nil || f.Code != "isolation" || !strings.Contains(f.Error(), "(interfaces: lo eth0)") || !strings.Contains(f.Error(), "(root: writable)") {
		t.Errorf("%v", err)
	}
	if !slices.Contains(f.Hints, "or use the other engine: --engine gvisor") || len(f.Hints) != 4 {
		t.Errorf("hints %q", f.Hints)
	}
	if isolation, _, err := sandbox.SelfCheck(t.Context(), box{}, limits); err == nil || isolation != nil {
		t.Errorf("%v, %v of a box that is gone", isolation, err)
	}
}
