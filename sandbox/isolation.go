package sandbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// Words of what Sandbox.Isolation tells.
const (
	FactLimit = "limit " // begins the keys of limits as they are seen from inside
	Unlimited = "unlimited"
	NotShown  = "not shown inside"
)

// page is by how much a kernel rounds sizes.
const page = 64 << 10

// Hole is a promise of a box that was not seen to hold.
type Hole struct {
	Fact, Seen string // the key of Isolation and what it said; Seen is empty where it said nothing
	Promise    string // "no network"
	Remedy     string
}

func (h Hole) String() string {
	if h.Seen == "" {
		return fmt.Sprintf("%s (%s could not be seen)", h.Promise, h.Fact)
	}
	return fmt.Sprintf("%s (%s: %s)", h.Promise, h.Fact, h.Seen)
}

const (
	remedyRights  = "look at what runs containers on this machine (runtime, user namespaces, security modules): it leaves rights to what it should not"
	remedyNetwork = "something attaches networks to every container: look for a network plugin or a hook of the daemon"
	remedyRoot    = "look at the daemon's storage driver and mounts: what should be read-only is not"
	remedyLimits  = "look at docker info: a daemon without these control groups drops limits; else choose other values in validate.limits"
)

// promises are what every box keeps, and how it looks from inside.
var promises = []struct {
	fact, promise, remedy string
	holds                 func(seen string) bool
}{
	{"uid", "commands are not root", remedyRights, positive},
	{"gid", "commands are not in root's group", remedyRights, positive},
	{"groups", "commands are in no other groups", remedyRights, is("[]")},
	{"capabilities", "commands have no capabilities", remedyRights, zero},
	{"permitted", "commands can get no capabilities", remedyRights, zero},
	{"no_new_privs", "commands gain no new privileges", remedyRights, is("1")},
	{"seccomp", "system calls are filtered", remedyRights, is("2")},
	{"interfaces", "there is no network but loopback", remedyNetwork, is("lo", "none")},
	{"routes", "no route leads out", remedyNetwork, is("none")},
	{"reach", "nothing outside can be reached", remedyNetwork, func(s string) bool { return strings.HasPrefix(s, "nothing") }},
	{"dns", "no name is resolved", remedyNetwork, func(s string) bool { return strings.HasPrefix(s, "none") }},
	{"root", "the root file system is read-only", remedyRoot, is("read-only")},
	{"inputs", "the inputs are read-only", remedyRoot, is("read-only")},
	{"prefix", "only the install writes its prefix", remedyRoot, func(s string) bool { return s == "read-only" || strings.HasPrefix(s, "not writable") }},
}

func is(words ...string) func(string) bool {
	return func(s string) bool { return slices.Contains(words, s) }
}

func positive(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n > 0
}

func zero(s string) bool { return s != "" && strings.Trim(s, "0") == "" }

// Holes compares what was seen from inside with what every box keeps, and with what Info says of the limits. A limit
// that the engine says is supervised or unavailable, or that nothing inside shows, is no hole: the record says so.
func Holes(seen map[string]string, info Info, l Limits) []Hole {
	var holes []Hole
	for _, p := range promises {
		if !p.holds(seen[p.fact]) {
			holes = append(holes, Hole{p.fact, seen[p.fact], p.promise, p.remedy})
		}
	}
	limit := func(name, promise string, holds func(string) bool) {
		fact := FactLimit + name
		if s := seen[fact]; strings.Contains(info.Limits[name], "enforced") && s != NotShown && !holds(s) {
			holes = append(holes, Hole{fact, s, promise + ", " + info.Limits[name], remedyLimits})
		}
	}
	limit("memory", "memory is limited", func(s string) bool {
		n, ok := number(s)
		_, swap, told := strings.Cut(s, "swap ")
		return ok && n <= l.Memory+page && (!told || swap == "0" || strings.Contains(info.Limits["memory"], "swap beyond"))
	})
	limit("pids", "processes are limited", func(s string) bool {
		n, ok := number(s)
		kept, told := number(info.Limits["pids"])
		return ok && told && n <= kept
	})
	limit("tmp", "writable file systems are limited", func(s string) bool {
		for one := range strings.SplitSeq(s, ", ") {
			if n, ok := number(one); !ok || n == 0 || n > l.Tmp+page {
				return false
			}
		}
		return true
	})
	return holes
}

// number is what a text begins with.
func number(s string) (int64, bool) {
	word, _, _ := strings.Cut(s, " ")
	n, err := strconv.ParseInt(word, 10, 64)
	return n, err == nil
}

// SelfCheck looks at a box from inside and returns what was seen of its isolation, and of its limits beside what the
// engine says of them. What does not hold is a *fault.Error that names it and what to do.
func SelfCheck(ctx context.Context, box Sandbox, l Limits) (isolation, limits map[string]string, err error) {
	seen, err := box.Isolation(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("checking the box's isolation: %w", err)
	}
	info := box.Info()
	holes := Holes(seen, info, l)
	isolation, limits = map[string]string{}, maps.Clone(info.Limits)
	for key, value := range seen {
		name, ok := strings.CutPrefix(key, FactLimit)
		switch {
		case !ok:
			isolation[key] = value
		case value == NotShown:
			limits[name] += "; " + value
		default:
			limits[name] += "; seen inside: " + value
		}
	}
	if len(holes) == 0 {
		return isolation, limits, nil
	}
	var texts, hints []string
	for _, h := range holes {
		texts = append(texts, h.String())
		if !slices.Contains(hints, h.Remedy) {
			hints = append(hints, h.Remedy)
		}
	}
	other := map[string]string{"docker": "gvisor", "gvisor": "docker"}[info.Engine]
	if other != "" {
		hints = append(hints, "or use the other engine: --engine "+other)
	}
	hints = append(hints, "trkr-validate doctor --deep tells what holds on this machine")
	return isolation, limits, fault.Env("isolation", errors.New("the box does not keep what it must; not seen to hold: "+strings.Join(texts, "; ")), hints...)
}
