//go:build unix

package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/sandbox"
)

// sockets knocks at what this machine listens on, by every kind of address, and asks its name servers.
func (s *suite) sockets(t *testing.T, box sandbox.Sandbox) {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	words := append([]string{"sockets", "udp:169.254.169.254:80", "tcp:169.254.169.254:80", "udp:[2001:db8::1]:53", "udp:255.255.255.255:9"}, s.planted.names...)
	for _, ip := range append(gateways(t), nameServers(t)...) {
		words = append(words, "tcp:"+net.JoinHostPort(ip, port), "tcp:"+net.JoinHostPort(ip, "53"), "udp:"+net.JoinHostPort(ip, "53"))
	}
	s.tries(t, open(t, box, sandbox.SessionSpec{}), words)
}

// gateways are the routers of this machine, and where it is one for its own containers.
func gateways(t *testing.T) []string {
	t.Helper()
	found := []string{"172.17.0.1"}
	text, err := os.ReadFile("/proc/net/route")
	if errors.Is(err, os.ErrNotExist) {
		return found
	}
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var a, b, c, d byte
		if f := strings.Fields(line); len(f) > 2 && f[2] != "00000000" {
			if _, err := fmt.Sscanf(f[2], "%02x%02x%02x%02x", &d, &c, &b, &a); err == nil {
				found = append(found, net.IPv4(a, b, c, d).String())
			}
		}
	}
	return found
}

func nameServers(t *testing.T) (found []string) {
	t.Helper()
	text, err := os.ReadFile("/etc/resolv.conf")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "nameserver" {
			continue
		}
		if ip := net.ParseIP(f[1]); ip != nil && !ip.IsLoopback() {
			found = append(found, f[1])
		}
	}
	return found
}

// regain has every role try to get back what the init took from it.
func (s *suite) regain(t *testing.T, box sandbox.Sandbox) {
	for _, role := range []sandbox.Role{sandbox.RoleSubject, sandbox.RoleInstall, sandbox.RoleAgent, sandbox.RoleService} {
		se := open(t, box, sandbox.SessionSpec{Role: role})
		s.tries(t, se, []string{"regain"})
		se.Close()
	}
}

func (s *suite) keys(t *testing.T, box sandbox.Sandbox) {
	s.tries(t, open(t, box, sandbox.SessionSpec{}), []string{"keys"})
}

// setuid has one session leave programs that would run as itself, and another run them.
func (s *suite) setuid(t *testing.T, box sandbox.Sandbox) {
	maker, user := open(t, box, sandbox.SessionSpec{Role: sandbox.RoleInstall}), open(t, box, sandbox.SessionSpec{})
	ids := says(t, user, "ids")
	for _, dir := range []string{sandbox.Prefix, "/tmp", "/dev/shm", sandbox.Work} {
		path := dir + "/setuid-program"
		says(t, maker, "copy", path, "6755")
		s.score.attempts++
		if r := run(t, user, sandbox.Command{Args: []string{path, "ids"}}); r.Ran() && r.out != ids {
			t.Errorf("%s: %q instead of %q: %s", path, r.out, ids, r.Exit)
		}
	}
}

// meddle has one session do to another's command, its files and its output, on pipes and on a terminal, what it can.
func (s *suite) meddle(t *testing.T, box sandbox.Sandbox) {
	for _, tty := range []*sandbox.TTY{nil, {Rows: 24, Cols: 80}} {
		victim, attacker := open(t, box, sandbox.SessionSpec{Env: []string{"MARK=of-the-victim"}}), open(t, box, sandbox.SessionSpec{})
		file := "/tmp/of-" + strings.ReplaceAll(strings.Trim(victim.Dir(), "/"), "/", "-")
		end := stand(t, victim, tty, "victim", file)
		for range 2 {
			s.tries(t, attacker, []string{"meddle", victim.Dir() + "/mine", victim.Home(), victim.Dir(), file})
		}
		r := end()
		want := "ready\nof the victim\nof the victim\n"
		if tty != nil { // it shows what is typed, too
			want = "ready\r\n\r\nof the victim\r\nof the victim\r\n"
		}
		if !r.Exited() || r.Code != 0 || r.out != want || r.err != "" {
			t.Errorf("the other command: %s %q %q", r.Exit, r.out, r.err)
		}
	}
	if got := says(t, open(t, box, sandbox.SessionSpec{}), "say", "alive", ""); got != "alive\n" {
		t.Errorf("after it: %q", got)
	}
}

// stand starts a verb that says something and then waits for its input to end, and returns when it has. The returned
// function ends the input and gives the result.
func stand(t *testing.T, se sandbox.Session, tty *sandbox.TTY, words ...string) func() result {
	t.Helper()
	pr, pw := io.Pipe()
	up := make(chan struct{})
	ended := make(chan result, 1)
	var once sync.Once
	var out, errs strings.Builder
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	go func() {
		defer once.Do(func() { close(up) })
		e, err := se.Run(ctx, sandbox.Command{
			Args: append([]string{program}, words...), Stdin: pr, Stderr: &errs, TTY: tty,
			Stdout: writer(func(p []byte) error { out.Write(p); once.Do(func() { close(up) }); return nil }),
		})
		if err != nil {
			t.Errorf("%q: %v", words, err)
		}
		ended <- result{e, out.String(), errs.String()}
	}()
	<-up
	return func() result {
		if tty != nil { // a terminal that ends hangs up
			io.WriteString(pw, "\n")
			defer pw.Close()
		} else {
			pw.Close()
		}
		return <-ended
	}
}
