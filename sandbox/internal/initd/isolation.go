//go:build unix

package initd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
)

// isolation tells what this thread sees. The keys are stable; a fact that cannot be seen says so.
func isolation(out io.Writer) error {
	status, err := os.ReadFile("/proc/thread-self/status")
	of := func(name string) string {
		if err != nil {
			return "cannot be seen: " + err.Error()
		}
		for line := range strings.Lines(string(status)) {
			if v, ok := strings.CutPrefix(line, name+":"); ok {
				return strings.Join(strings.Fields(v), " ")
			}
		}
		return "cannot be seen"
	}
	groups, _ := os.Getgroups() // none
	facts := []wire.Fact{
		{Key: "uid", Value: fmt.Sprint(os.Getuid())},
		{Key: "gid", Value: fmt.Sprint(os.Getgid())},
		{Key: "groups", Value: fmt.Sprint(groups)},
		{Key: "capabilities", Value: of("CapEff")},
		{Key: "permitted", Value: of("CapPrm")},
		{Key: "bounding", Value: of("CapBnd")},
		{Key: "no_new_privs", Value: of("NoNewPrivs")},
		{Key: "seccomp", Value: of("Seccomp")},
		{Key: "interfaces", Value: interfaces()},
		{Key: "routes", Value: routes()},
		{Key: "reach", Value: reach()},
		{Key: "dns", Value: dns()},
		{Key: "root", Value: writable("/")},
		{Key: "prefix", Value: writable("/opt/validate")},
		{Key: "inputs", Value: writable("/validate")},
	}
	for _, f := range append(facts, limitFacts(theGroups)...) {
		f.Value = f.Value[:min(len(f.Value), 900)]
		if err := wire.WriteJSON(out, wire.KindMessage, f, wire.MaxAnswer); err != nil {
			return err
		}
	}
	return nil
}

func interfaces() string {
	all, err := net.Interfaces()
	if err != nil {
		return "cannot be seen: " + err.Error()
	}
	names := make([]string, 0, len(all))
	for _, i := range all {
		names = append(names, i.Name)
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, " ")
}

// routes counts those that lead out: of IPv4 all, of IPv6 those on an interface other than lo.
func routes() string {
	n := 0
	for _, file := range []string{"/proc/net/route", "/proc/net/ipv6_route"} {
		b, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			if len(f) == 0 || f[0] == "Iface" || f[0] == "lo" || f[len(f)-1] == "lo" {
				continue
			}
			n++
		}
	}
	if n == 0 {
		return "none"
	}
	return fmt.Sprintf("%d", n)
}

// reach tries an address of the range that no network routes.
func reach() string {
	c, err := net.DialTimeout("udp", "192.0.2.1:9", time.Second)
	if err != nil {
		return "nothing: " + lastWords(err)
	}
	c.Close()
	return "a route leads out"
}

func dns() string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if _, err := (&net.Resolver{PreferGo: true}).LookupHost(ctx, "example.com."); err != nil {
		return "none: " + lastWords(err)
	}
	return "answers"
}

func lastWords(err error) string {
	s := err.Error()
	return strings.TrimSpace(s[strings.LastIndex(s, ": ")+1:])
}

func writable(dir string) string {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) == nil && fs.Flags&1 != 0 { // ST_RDONLY
		return "read-only"
	}
	err := unix.Access(dir, unix.W_OK)
	if err == nil {
		return "writable"
	}
	if errors.Is(err, unix.EROFS) {
		return "read-only"
	}
	return "not writable: " + err.Error()
}
