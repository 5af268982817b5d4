//go:build unix

package initd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/sandbox"
)

// laid makes control groups of files.
func laid(t *testing.T, files map[string]string) groups {
	t.Helper()
	g := groups{at: t.TempDir(), real: func(string) bool { return true }}
	for name, content := range files {
		path := filepath.Join(g.at, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// Limits are read the same from both versions of control groups, and what is not there is said not to be.
func TestLimitsAsControlGroupsShowThem(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  map[string]string
	}{
		"v2": {
			map[string]string{"memory.max": "134217728\n", "memory.swap.max": "0\n", "cpu.max": "50000 100000\n", "pids.max": "320\n"},
			map[string]string{"memory": "134217728 bytes (memory.max), swap 0", "cpus": "0.5 cores (cpu.max)", "pids": "320 (pids.max)"},
		},
		"v2 without limits": {
			map[string]string{"memory.max": "max\n", "memory.swap.max": "max\n", "pids.max": "max\n"},
			map[string]string{"memory": "unlimited bytes (memory.max), swap unlimited", "pids": "unlimited (pids.max)"},
		},
		"v1": {
			map[string]string{
				"memory/memory.limit_in_bytes": "134217728\n", "memory/memory.memsw.limit_in_bytes": "134217728\n",
				"cpu/cpu.cfs_quota_us": "200000\n", "cpu/cpu.cfs_period_us": "100000\n", "pids/pids.max": "320\n",
			},
			map[string]string{"memory": "134217728 bytes (memory.limit_in_bytes), swap 0", "cpus": "2 cores (cpu.cfs_quota_us)", "pids": "320 (pids.max)"},
		},
		"v1 without limits": {
			map[string]string{"memory/memory.limit_in_bytes": "9223372036854771712\n", "pids/pids.max": "max\n", "cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"},
			map[string]string{"memory": "unlimited bytes (memory.limit_in_bytes)", "pids": "unlimited (pids.max)"},
		},
		"none": {nil, map[string]string{"memory": sandbox.NotShown}},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]string{}
			for _, f := range limitFacts(laid(t, c.files)) {
				got[strings.TrimPrefix(f.Key, sandbox.FactLimit)] = f.Value
			}
			for key, want := range c.want {
				if got[key] != want {
					t.Errorf("%s is %q, want %q", key, got[key], want)
				}
			}
			if c.want["cpus"] == "" && !strings.HasSuffix(got["cpus"], "cores that it may run on") {
				t.Errorf("cpus is %q", got["cpus"])
			}
		})
	}
}

// The counters of limits that were hit are found in both versions, and files of an image are none.
func TestCountersOfControlGroups(t *testing.T) {
	v2 := map[string]string{"memory.events": "low 0\noom 4\noom_kill 3\n", "pids.events": "max 7\n"}
	v1 := map[string]string{"memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", "pids/pids.events": "max 7\n"}
	for name, files := range map[string]map[string]string{"v2": v2, "v1": v1} {
		g := laid(t, files)
		if n, ok := readCounter(g.counter(oomFiles, oomKills), oomKills); n != 3 || !ok {
			t.Errorf("%s: %d killed for memory, %v", name, n, ok)
		}
		if n, ok := readCounter(g.counter(pidsFiles, pidsHits), pidsHits); n != 7 || !ok {
			t.Errorf("%s: the limit of pids was hit %d times, %v", name, n, ok)
		}
		g.real = func(string) bool { return false }
		if f := g.counter(oomFiles, oomKills) + g.counter(pidsFiles, pidsHits); f != "" {
			t.Errorf("%s: %s is no control group's", name, f)
		}
		if name, _ := g.setting("pids.events"); name != "" {
			t.Errorf("%s is no control group's", name)
		}
	}
	// An older kernel's first version counts nothing: the cause is then not known, and not guessed.
	g := laid(t, map[string]string{"memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\n"})
	if f := g.counter(oomFiles, oomKills); f != "" {
		t.Errorf("%s has no counter", f)
	}
}
