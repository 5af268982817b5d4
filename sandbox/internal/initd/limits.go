//go:build unix

package initd

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
)

// What the counters are called, and the files that have them, of both versions of control groups.
const (
	oomKills = "oom_kill"
	pidsHits = "max"
)

var (
	oomFiles  = []string{"memory.events", "memory/memory.oom_control"}
	pidsFiles = []string{"pids.events", "pids/pids.events"}
)

// groups are the control groups that the box sees.
type groups struct {
	at   string
	real func(path string) bool // the kernel answers there: an image may hold files of any name
}

// counter is the file that has the counter; empty where there is none.
func (g groups) counter(files []string, name string) string {
	for _, f := range files {
		path := filepath.Join(g.at, f)
		if _, ok := readCounter(path, name); ok && g.real(path) {
			return path
		}
	}
	return ""
}

func readCounter(file, name string) (int64, bool) {
	if file == "" {
		return 0, false
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(b)) {
		var n int64
		if _, err := fmt.Sscanf(line, name+" %d", &n); err == nil {
			return n, true
		}
	}
	return 0, false
}

// setting is the first of the files that there is, and what stands in it.
func (g groups) setting(names ...string) (name, value string) {
	for _, name := range names {
		if g.at == "" {
			break
		}
		path := filepath.Join(g.at, name)
		if b, err := os.ReadFile(path); err == nil && g.real(path) {
			return filepath.Base(name), strings.TrimSpace(string(b))
		}
	}
	return "", ""
}

// limitFacts tells which limits are in force as the box's own control group and this process show them.
func limitFacts(g groups) []wire.Fact {
	if _, err := os.Stat(g.at); err != nil {
		g.at = "" // none of the files need be looked for, one after the other
	}
	return []wire.Fact{
		{Key: sandbox.FactLimit + "memory", Value: memoryLimit(g)},
		{Key: sandbox.FactLimit + "cpus", Value: cpuLimit(g)},
		{Key: sandbox.FactLimit + "pids", Value: pidsLimit(g)},
		{Key: sandbox.FactLimit + "tmp", Value: tmpLimit("/tmp", "/dev/shm", Work, sandbox.Prefix)},
	}
}

// amount is a number as control groups write it; the first version says "none" by a very large one.
func amount(value string) string {
	if n, err := strconv.ParseInt(value, 10, 64); value == "max" || value == "-1" || err == nil && n > math.MaxInt64>>1 {
		return sandbox.Unlimited
	}
	return value
}

func memoryLimit(g groups) string {
	name, value := g.setting("memory.max", "memory/memory.limit_in_bytes")
	if name == "" {
		return sandbox.NotShown
	}
	text := amount(value) + " bytes (" + name + ")"
	if _, swap := g.setting("memory.swap.max"); swap != "" {
		return text + ", swap " + amount(swap)
	}
	if _, both := g.setting("memory/memory.memsw.limit_in_bytes"); both != "" {
		m, err1 := strconv.ParseInt(value, 10, 64)
		b, err2 := strconv.ParseInt(both, 10, 64)
		if err1 == nil && err2 == nil {
			return text + ", swap " + amount(strconv.FormatInt(b-m, 10))
		}
	}
	return text
}

func cpuLimit(g groups) string {
	quota, period := "", ""
	name, value := g.setting("cpu.max")
	if f := strings.Fields(value); len(f) == 2 {
		quota, period = f[0], f[1]
	} else if name, quota = g.setting("cpu/cpu.cfs_quota_us"); name != "" {
		_, period = g.setting("cpu/cpu.cfs_period_us")
	}
	q, err1 := strconv.ParseFloat(quota, 64)
	p, err2 := strconv.ParseFloat(period, 64)
	if err1 == nil && err2 == nil && q > 0 && p > 0 {
		return strconv.FormatFloat(q/p, 'f', -1, 64) + " cores (" + name + ")"
	}
	return fmt.Sprintf("%d cores that it may run on", cores())
}

func pidsLimit(g groups) string {
	if name, value := g.setting("pids.max", "pids/pids.max"); name != "" {
		return amount(value) + " (" + name + ")"
	}
	var r unix.Rlimit
	if nproc < 0 || unix.Getrlimit(nproc, &r) != nil {
		return sandbox.NotShown
	}
	if r.Cur > math.MaxInt32 {
		return sandbox.Unlimited + " (RLIMIT_NPROC)"
	}
	return fmt.Sprintf("%d (RLIMIT_NPROC)", r.Cur)
}

// tmpLimit tells the sizes of file systems.
func tmpLimit(dirs ...string) string {
	sizes := make([]string, 0, len(dirs))
	for _, dir := range dirs {
		var fs unix.Statfs_t
		if err := unix.Statfs(dir, &fs); err != nil {
			continue // an engine need not have it
		}
		sizes = append(sizes, fmt.Sprintf("%d bytes %s", uint64(fs.Blocks)*uint64(fs.Bsize), dir)) //nolint:unconvert // types differ by system
	}
	return strings.Join(sizes, ", ")
}
