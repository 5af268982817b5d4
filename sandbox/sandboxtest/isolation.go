//go:build unix

package sandboxtest

import (
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/sandbox"
)

func isLost(err error) bool {
	_, ok := errors.AsType[*sandbox.LostError](err)
	return ok
}

func (s *suite) isolation(t *testing.T, box sandbox.Sandbox) {
	got, err := box.Isolation(timeout(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Log(got)
	if holes := sandbox.Holes(got, box.Info(), Limits); len(holes) > 0 {
		t.Errorf("%v", holes)
	}
	seen, limits, err := sandbox.SelfCheck(timeout(t), box, Limits)
	if err != nil || seen["uid"] == "" || !strings.Contains(limits["tmp"], "; seen inside: ") || !strings.Contains(limits["pids"], "; seen inside: ") {
		t.Errorf("%v, %v, %v", seen, limits, err)
	}
}

// network tries what this machine answers on: every address of it, and a listener of ours.
func (s *suite) network(t *testing.T, box sandbox.Sandbox) {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	words := []string{"net", "192.0.2.1:9", "172.17.0.1:" + port}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok {
			words = append(words, net.JoinHostPort(ip.IP.String(), port))
		}
	}
	got := says(t, open(t, box, sandbox.SessionSpec{}), words...)
	for line := range strings.Lines(got) {
		if line = strings.TrimSpace(line); line != "interface lo" && line != "loopback works" {
			t.Errorf("%q", line)
		}
	}
	if !strings.Contains(got, "loopback works") {
		t.Errorf("a server of the product's own is out of reach: %q", got)
	}
}

func (s *suite) privileges(t *testing.T, box sandbox.Sandbox) {
	for _, role := range []sandbox.Role{sandbox.RoleSubject, sandbox.RoleAgent, sandbox.RoleInstall} {
		se := open(t, box, sandbox.SessionSpec{Role: role})
		status := says(t, se, "read", "/proc/self/status")
		has := map[string][]string{}
		for line := range strings.Lines(status) {
			name, value, _ := strings.Cut(line, ":")
			has[name] = strings.Fields(value)
		}
		for _, set := range []string{"CapEff", "CapPrm", "CapInh", "CapAmb"} {
			if v := has[set]; len(v) == 1 && strings.Trim(v[0], "0") != "" {
				t.Errorf("%s: %s is %s", role, set, v)
			}
		}
		if v := has["NoNewPrivs"]; !slices.Equal(v, []string{"1"}) {
			t.Errorf("%s: no_new_privs is %v", role, v)
		}
		if slices.Contains(has["Uid"], "0") || slices.Contains(has["Gid"], "0") || len(has["Uid"]) != 4 {
			t.Errorf("%s: Uid %v, Gid %v", role, has["Uid"], has["Gid"])
		}
		if slices.Contains(has["Groups"], "0") {
			t.Errorf("%s: groups %v", role, has["Groups"])
		}
		se.Close()
	}
}

func (s *suite) readOnly(t *testing.T, box sandbox.Sandbox) {
	for _, role := range []sandbox.Role{sandbox.RoleSubject, sandbox.RoleInstall} {
		se := open(t, box, sandbox.SessionSpec{Role: role})
		got := says(t, se, "touch", sandbox.Artifact+"/deep/open", sandbox.Artifact+"/deep/er/x", "/x", "/usr/x", "/etc/x", "/bin/x", "/var/x", "/run/x", "/run/trkr/x", "/run/trkr/init", "/validate/x",
			"/validate/artifact/x", "/validate/contract.md", program, "/proc/x", "/dev/x", "/root/x", "/home/x", "/opt/x")
		if got != "" {
			t.Errorf("%s: %s", role, got)
		}
		want := "wrote /tmp/x\nwrote /work/x\nwrote /dev/shm/x\n"
		if got := says(t, se, "touch", "/tmp/x", "/work/x", "/dev/shm/x"); got != want {
			t.Errorf("%s: where writing is allowed: %q", role, got)
		}
		se.Close()
	}
}

// attack has the subject do to the init what it can, and shows that the box works on.
func (s *suite) attack(t *testing.T, box sandbox.Sandbox) {
	a, b := open(t, box, sandbox.SessionSpec{}), open(t, box, sandbox.SessionSpec{})
	for range 2 {
		s.tries(t, a, []string{"attack"})
		if got := says(t, b, "say", "alive", ""); got != "alive\n" {
			t.Errorf("after it: %q", got)
		}
	}
	if r := run(t, a, sandbox.Command{Args: []string{sandbox.Init, "--trkr-shim"}}); r.Exited() && r.Code == 0 {
		t.Errorf("a second init: %s %q", r.Exit, r.out)
	}
	if _, err := box.Isolation(timeout(t)); err != nil {
		t.Errorf("after it: %v", err)
	}
}

// comets leaves processes that fork and end without pause: a kill that looks for pids never meets them.
func (s *suite) comets(t *testing.T, box sandbox.Sandbox) {
	se := open(t, box, sandbox.SessionSpec{})
	if got := says(t, se, "comets", "3"); got != "off they go\n" {
		t.Errorf("%q", got)
	}
	if got := says(t, se, "alive"); got != "0\n" {
		t.Errorf("%q processes of the uid are left", got)
	}
}

// remains makes what outlives its maker and is no file of a file system, and looks for it from the next session.
func (s *suite) remains(t *testing.T, box sandbox.Sandbox) {
	other := open(t, box, sandbox.SessionSpec{})
	for range 2 {
		a := open(t, box, sandbox.SessionSpec{})
		if got := says(t, a, "leave"); !strings.Contains(got, "left shared memory\n") {
			t.Errorf("%q", got)
		}
		if got := says(t, other, "found"); !strings.Contains(got, "found shared memory\n") { // there is something to look for
			t.Errorf("%q", got)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		if got := says(t, other, "found"); got != "" {
			t.Errorf("after a session's end another %s", got)
		}
	}
}

// host looks for this machine's things in the box: the input's place, a daemon's socket, passwords.
func (s *suite) host(t *testing.T, box sandbox.Sandbox) {
	se := open(t, box, sandbox.SessionSpec{})
	for _, p := range []string{s.input, filepath.Join(s.input, "contract.md"), "/var/run/docker.sock", "/run/docker.sock", "/proc/1/root/etc/shadow", "/etc/shadow"} {
		if r := subject(t, se, "read", p); r.Code == 0 || strings.Contains(r.err, "is a directory") {
			t.Errorf("%s is there: %q %q", p, r.out, r.err)
		}
	}
	if got := says(t, se, "ls", sandbox.Root); !strings.Contains(got, sandbox.Contract) {
		t.Errorf("%q", got)
	}
}

func (s *suite) tmpLimit(t *testing.T, box sandbox.Sandbox) {
	se := open(t, box, sandbox.SessionSpec{})
	for _, dir := range []string{"/tmp", "/dev/shm", se.Dir()} {
		r := subject(t, se, "fill", dir, "64")
		if r.Code != 8 || !strings.Contains(r.out, "no space left") {
			t.Errorf("%s: %s %q", dir, r.Exit, r.out)
		}
	}
	if got := says(t, se, "write", "x", "y"); got != "" {
		t.Errorf("after it: %q", got)
	}
}

// pidsLimit has a box of its own, with room for as many Go programs as may be: each takes 2 MiB on some engines.
func (s *suite) pidsLimit(t *testing.T) {
	limits := Limits
	limits.Memory *= 4
	box := s.start(t, limits)
	se := open(t, box, sandbox.SessionSpec{})
	for range 2 {
		if r := subject(t, se, "forks", "200"); r.Cause != sandbox.CausePids || !r.Ran() || !strings.Contains(r.out, "unavailable") {
			t.Fatalf("%+v %q %q", r.Exit, r.out, r.err) // not once more, without a limit
		}
	}
	other := open(t, box, sandbox.SessionSpec{})
	if got := says(t, other, "say", "alive", ""); got != "alive\n" {
		t.Errorf("after it: %q", got)
	}
}

// memoryLimit has the command itself meet the limit, and a child of it whose parent lives on and ends well.
func (s *suite) memoryLimit(t *testing.T) {
	for name, words := range map[string][]string{"itself": {"alloc", "512"}, "a child": {"parent", "alloc", "512"}} {
		t.Run(name, func(t *testing.T) { s.memoryOf(t, words) })
	}
}

// memoryOf takes the loss of the box for an answer: some engines can end only all of it.
func (s *suite) memoryOf(t *testing.T, words []string) {
	box := s.start(t, Limits)
	se := open(t, box, sandbox.SessionSpec{})
	e, err := se.Run(timeout(t), sandbox.Command{Args: append([]string{program}, words...)})
	if lost, ok := errors.AsType[*sandbox.LostError](err); ok {
		if lost.Cause != sandbox.CauseMemory || lost.Engine {
			t.Errorf("%+v", lost)
		}
		return
	}
	if err != nil || e.Cause != sandbox.CauseMemory || e.Exited() {
		t.Errorf("%v, %v", e, err)
	}
	if got := says(t, se, "say", "alive", ""); got != "alive\n" {
		t.Errorf("after it: %q", got)
	}
}
