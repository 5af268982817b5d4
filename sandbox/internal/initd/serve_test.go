//go:build unix

package initd

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/yamux"
	"go.uber.org/goleak"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stub is a ground whose commands say a word and end.
type stub struct {
	count Counters
	limit int
	end   Status
	kill  error
}

func (stub) Open(Identity, []string) (Dirs, error) {
	return Dirs{Top: "/t", Home: "/t/h", Work: "/t/w", Tmp: "/t/t"}, nil
}
func (s stub) Kill(Identity) error      { return s.kill }
func (stub) Close(Identity, Dirs) error { return nil }

// Look answers with the parameters, fails where they are "fail", and goes on for ever where they are "endless".
func (stub) Look(_ string, params io.Reader, out io.Writer) error {
	p, err := io.ReadAll(params)
	if err != nil || string(p) == "fail" {
		return errors.Join(err, errors.New("it cannot be seen"))
	}
	for err == nil {
		if _, err = out.Write(p); string(p) != "endless" {
			break
		}
	}
	return err
}

func (s *stub) Count() Counters {
	defer func() { s.count.OOM *= 2; s.count.Pids *= 2 }()
	return s.count
}
func (s *stub) Tasks(Identity) (int, int)           { return s.limit, s.limit }
func (*stub) Connected(Identity, *net.TCPConn) bool { return true }
func (s *stub) Start(Identity, Command) (*Process, *wire.Exit) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, StartFailed(err)
	}
	io.WriteString(w, "word")
	w.Close()
	done := make(chan Status, 1)
	done <- s.end
	return &Process{Stdout: r, Done: done}, nil
}

// talk serves g and greets it.
func talk(t testing.TB, g Ground) *yamux.Session {
	t.Helper()
	near, far := net.Pipe()
	done := make(chan struct{})
	go func() { defer close(done); Serve(far, g) }()
	p, err := wire.Program(near)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close(); <-done })
	first, err := p.Open()
	if err != nil {
		t.Fatal(err)
	}
	send(t, first, wire.Request{Op: "hello", Hello: &wire.Hello{Protocol: wire.Version, Output: 1 << 20}})
	var w wire.Welcome
	if err := wire.NewReader(first).ReadJSON(wire.KindMessage, &w, wire.MaxAnswer); err != nil || w.Error != "" {
		t.Fatalf("%+v, %v", w, err)
	}
	return p
}

func send(t testing.TB, w io.Writer, q wire.Request) {
	t.Helper()
	if err := wire.WriteJSON(w, wire.KindMessage, q, wire.MaxRequest); err != nil {
		t.Fatal(err)
	}
}

func execute(t *testing.T, p *yamux.Session) wire.Exit {
	t.Helper()
	ask := func(q wire.Request) *wire.Reader {
		st, err := p.Open()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
		send(t, st, q)
		return wire.NewReader(st)
	}
	var o wire.Opened
	if err := ask(wire.Request{Op: "open", Open: &wire.Open{Role: "subject"}}).ReadJSON(wire.KindMessage, &o, wire.MaxAnswer); err != nil {
		t.Fatal(err)
	}
	r := ask(wire.Request{Op: "run", Run: &wire.Run{ID: o.Session, Session: o.Session, Args: [][]byte{[]byte("x")}}})
	for {
		k, b, err := r.Next(wire.MaxAnswer)
		if err != nil {
			t.Fatal(err)
		}
		if k == wire.KindExit {
			var e wire.Exit
			if err := wire.Decode(b, &e); err != nil {
				t.Fatal(err)
			}
			return e
		}
	}
}

// TestCauses: what the system counts while a command runs names the cause; without a change it names none.
func TestCauses(t *testing.T) {
	for name, c := range map[string]struct {
		ground stub
		cause  sandbox.Cause
	}{
		"ended by itself":                   {stub{}, ""},
		"a child was ended for memory":      {stub{count: Counters{OOM: 1}}, sandbox.CauseMemory},
		"bad end at the limit of pids":      {stub{count: Counters{Pids: 1}, end: Status{Code: 1}}, sandbox.CausePids},
		"good end at the limit of pids":     {stub{count: Counters{Pids: 1}}, ""},
		"bad end with all tasks in use":     {stub{limit: 64, end: Status{Code: 1}}, sandbox.CausePids},
		"killed by nobody here":             {stub{end: Status{Code: -1, Signal: "SIGKILL"}}, sandbox.CauseUnknown},
		"crashed":                           {stub{end: Status{Code: -1, Signal: "SIGSEGV"}}, ""},
		"killed, and memory was the reason": {stub{count: Counters{OOM: 1}, end: Status{Code: -1, Signal: "SIGKILL"}}, sandbox.CauseMemory},
	} {
		t.Run(name, func(t *testing.T) {
			if e := execute(t, talk(t, &c.ground)); sandbox.Cause(e.Cause) != c.cause || e.Code != c.ground.end.Code {
				t.Errorf("%+v, want %q", e, c.cause)
			}
		})
	}
}

// TestLook: what concerns no session is answered by the init itself, tells why it cannot see, and ends when it is told.
func TestLook(t *testing.T) {
	p := talk(t, &stub{})
	look := func(params string, timeout time.Duration) (stdout, stderr string, exit wire.Exit) {
		st, err := p.Open()
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		send(t, st, wire.Request{Op: "run", Run: &wire.Run{ID: 1, Helper: wire.HelperInputs, Timeout: int64(timeout)}})
		for _, part := range strings.SplitAfter(params, "-") {
			if err := wire.Write(st, wire.KindStdin, []byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		if err := wire.Write(st, wire.KindEOF, nil); err != nil {
			t.Fatal(err)
		}
		for r := wire.NewReader(st); ; {
			k, b, err := r.Next(wire.MaxAnswer)
			switch {
			case err != nil:
				t.Fatal(err)
			case k == wire.KindStdout && len(stdout) < 1000:
				stdout += string(b)
			case k == wire.KindStderr:
				stderr += string(b)
			case k == wire.KindExit:
				if err := wire.Decode(b, &exit); err != nil {
					t.Fatal(err)
				}
				return stdout, stderr, exit
			}
		}
	}
	if out, _, exit := look("what-is-there", 0); out != "what-is-there" || exit.Code != 0 || exit.Cause != "" {
		t.Errorf("%q, %+v", out, exit)
	}
	if _, words, exit := look("fail", 0); words != "it cannot be seen" || exit.Code != 1 {
		t.Errorf("%q, %+v", words, exit)
	}
	if _, _, exit := look("endless", time.Millisecond); exit.Cause != string(sandbox.CauseDeadline) || exit.Code != -1 {
		t.Errorf("%+v", exit)
	}
}

// TestCloseKillFails: what could not be ended breaks the box also when its session ends.
func TestCloseKillFails(t *testing.T) {
	s := &server{ground: &stub{kill: errors.New("it hangs")}, sessions: map[uint64]*session{1: {}}}
	if c := s.close(1); c.Broken != "it hangs" || c.Error != "" {
		t.Errorf("%+v", c)
	}
}

func TestRefusals(t *testing.T) {
	near, far := net.Pipe()
	done := make(chan error, 1)
	go func() { done <- Serve(far, &stub{}) }()
	p, err := wire.Program(near)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	first, err := p.Open()
	if err != nil {
		t.Fatal(err)
	}
	send(t, first, wire.Request{Op: "hello", Hello: &wire.Hello{Protocol: wire.Version + 1, Output: 1}})
	var w wire.Welcome
	if err := wire.NewReader(first).ReadJSON(wire.KindMessage, &w, wire.MaxAnswer); err != nil || w.Protocol != wire.Version || w.Error == "" {
		t.Errorf("%+v, %v", w, err)
	}
	if err := <-done; err == nil {
		t.Error("the connection was served")
	}
	if e := (&server{}).open(wire.Open{Role: "nobody"}); e.Error == "" {
		t.Errorf("%+v", e)
	}
}

func TestMerge(t *testing.T) {
	got := merge([]string{"A=1", "B=1"}, []string{"B=2=3", "", "=x", "no", "N=\x00"}, []string{"C="})
	if want := []string{"A=1", "B=2=3", "C="}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// FuzzServe: no bytes of a program crash the init or keep it from ending with its connection.
func FuzzServe(f *testing.F) {
	f.Add([]byte(""))
	f.Add([]byte("\x00\x01\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00")) // gone before its hello
	f.Add([]byte("\x00\x01\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x3f" +
		"\x01\x00\x00\x00\x3a{\"op\":\"hello\",\"hello\":{\"protocol\":1,\"path\":\"\",\"output\":9}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		near, far := net.Pipe()
		done := make(chan struct{})
		go func() { defer close(done); Serve(far, &stub{}) }()
		go io.Copy(io.Discard, near)
		near.SetWriteDeadline(time.Now().Add(time.Second))
		near.Write(data)
		near.Close()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatal("the init goes on without its program")
		}
	})
}

// FuzzRequest goes past the multiplexer: one request of arbitrary bytes on a greeted connection.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{
		`{"op":"open","open":{"role":"subject","decoys":["Li4="]}}`, `{"op":"run","run":{"id":1,"session":1,"args":["eA=="]}}`,
		`{"op":"run","run":{"helper":"observe"}}`, `{"op":"close","close":{"session":1}}`, `{"op":"run"}`, `null`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p := talk(t, &stub{})
		for range 2 {
			st, err := p.Open()
			if err != nil {
				t.Fatal(err)
			}
			if wire.Write(st, wire.KindMessage, data) == nil {
				st.SetReadDeadline(time.Now().Add(5 * time.Second))
				if _, err := io.Copy(io.Discard, st); err != nil && strings.Contains(err.Error(), "timeout") {
					t.Fatalf("no end: %v", err)
				}
			}
			st.Close()
		}
	})
}
