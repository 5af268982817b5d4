package shim

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
)

// quick shortens what an honest init never needs, so that a test of a silent one does not take so long.
func quick(t testing.TB) {
	s, g, a := silence, grace, asking
	silence, grace, asking = 300*time.Millisecond, 300*time.Millisecond, 300*time.Millisecond
	t.Cleanup(func() { silence, grace, asking = s, g, a })
}

// peer is an init of a test's own making.
type peer struct {
	t     testing.TB
	beats bool
	// hello, open and run answer a request on its stream, which is closed afterwards. Nil: as an honest init would.
	hello, open, run, close func(st net.Conn)
}

func (p *peer) serve(conn net.Conn) {
	mux, err := wire.Box(conn)
	if err != nil {
		return
	}
	defer mux.Close()
	for n := 0; ; n++ {
		st, err := mux.Accept()
		if err != nil {
			return
		}
		go p.answer(st)
	}
}

func (p *peer) answer(st net.Conn) {
	in := wire.NewReader(st)
	var q wire.Request
	if in.ReadJSON(wire.KindMessage, &q, wire.MaxRequest) != nil {
		return
	}
	switch {
	case q.Op == "hello" && p.hello != nil:
		p.hello(st)
	case q.Op == "hello":
		wire.WriteJSON(st, wire.KindMessage, wire.Welcome{Protocol: wire.Version}, wire.MaxAnswer)
		for p.beats && wire.Write(st, wire.KindBeat, nil) == nil {
			time.Sleep(20 * time.Millisecond)
		}
		return
	case q.Op == "open" && p.open != nil:
		p.open(st)
	case q.Op == "open":
		wire.WriteJSON(st, wire.KindMessage, wire.Opened{Session: 1, UID: wire.FirstUID, Dir: "/d", Home: "/h"}, wire.MaxAnswer)
	case q.Op == "close" && p.close != nil:
		p.close(st)
	case q.Op == "close":
		wire.WriteJSON(st, wire.KindMessage, wire.Closed{}, wire.MaxAnswer)
	case q.Op == "run":
		p.run(st)
	}
	st.Close()
}

// connect connects to p. lost counts what the engine is asked.
func connect(t testing.TB, p *peer, lost func(context.Context) *sandbox.LostError) (sandbox.Sandbox, error) {
	t.Helper()
	p.t = t
	near, far := net.Pipe()
	done := make(chan struct{})
	go func() { defer close(done); p.serve(far) }()
	t.Cleanup(func() { near.Close(); <-done })
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return Connect(ctx, near, Box{Spec: sandbox.Spec{Limits: sandbox.Limits{Output: 1 << 20}}, Lost: lost, Close: func() error { return errors.New("closed once") }})
}

func started(st net.Conn) { wire.Write(st, wire.KindStarted, nil) }

// TestHostileInit: whatever an init answers, a call ends in bounded time, as a lost box, and so do all later ones.
func TestHostileInit(t *testing.T) {
	defer goleak.VerifyNone(t)
	quick(t)
	raw := func(kind wire.Kind, n uint32, data string) func(net.Conn) {
		return func(st net.Conn) {
			started(st)
			h := []byte{byte(kind), 0, 0, 0, 0}
			binary.BigEndian.PutUint32(h[1:], n)
			st.Write(append(h, data...))
		}
	}
	flood := func(kind wire.Kind, data []byte) func(net.Conn) {
		return func(st net.Conn) {
			started(st)
			for wire.Write(st, kind, data) == nil {
			}
		}
	}
	cases := map[string]func(net.Conn){
		"no answer at all":      func(net.Conn) { select {} },
		"an end before a start": func(net.Conn) {},
		"another start":         func(st net.Conn) { wire.Write(st, wire.KindBeat, nil) },
		"an end after a start":  started,
		"an unknown kind":       raw(77, 1, "x"),
		"a length of 4 GiB":     raw(wire.KindStdout, 1<<32-1, "x"),
		"an exit of 4 GiB":      raw(wire.KindExit, 1<<32-1, "{"),
		"a torn frame":          raw(wire.KindStdout, 100, "x"),
		"an empty piece":        raw(wire.KindStdout, 0, ""),
		"an exit that is none":  raw(wire.KindExit, 3, "[1]"),
		"a kill":                raw(wire.KindKill, 2, "{}"),
		"more than the limit":   flood(wire.KindStdout, make([]byte, wire.MaxData)),
		"starts without end":    flood(wire.KindStarted, nil),
		"a box that is broken": func(st net.Conn) {
			started(st)
			wire.WriteJSON(st, wire.KindExit, wire.Exit{Broken: "a process does not end"}, wire.MaxAnswer)
		},
	}
	for name, answer := range cases {
		t.Run(name, func(t *testing.T) {
			if name == "no answer at all" {
				hang := make(chan struct{})
				t.Cleanup(func() { close(hang) })
				answer = func(net.Conn) { <-hang }
			}
			box, err := connect(t, &peer{beats: true, run: answer}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer box.Close()
			se, err := box.Open(t.Context(), sandbox.SessionSpec{})
			if err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			_, err = se.Run(t.Context(), sandbox.Command{Args: []string{"x"}, Stdin: strings.NewReader("in"), Stdout: io.Discard})
			if _, ok := errors.AsType[*sandbox.LostError](err); !ok {
				t.Errorf("%v", err)
			}
			if _, err := box.Inputs(t.Context(), 1); err == nil {
				t.Error("the box is still there")
			}
			if d := time.Since(begin); d > 10*time.Second {
				t.Errorf("it took %s", d)
			}
		})
	}
}

// TestKeepsGoing: an init that neither ends a command nor falls silent is lost after the caller gave up.
func TestKeepsGoing(t *testing.T) {
	defer goleak.VerifyNone(t)
	quick(t)
	hang := make(chan struct{})
	defer close(hang)
	box, err := connect(t, &peer{beats: true, run: func(st net.Conn) { started(st); <-hang }}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	se, err := box.Open(t.Context(), sandbox.SessionSpec{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = se.Run(t.Context(), sandbox.Command{Args: []string{"x"}, Timeout: 10 * time.Millisecond})
	lost, ok := errors.AsType[*sandbox.LostError](err)
	if !ok || !strings.Contains(lost.Detail, "did not end a command") {
		t.Errorf("%v", err)
	}
}

// TestTrickle: an init that sends a little of a killed command's output now and then does not put its end off, neither of
// a command nor of a helper. A writer of the caller's that is slow is not the init's fault.
func TestTrickle(t *testing.T) {
	defer goleak.VerifyNone(t)
	quick(t)
	trickle := func(st net.Conn) {
		started(st)
		for wire.WriteJSON(&split{st}, wire.KindMessage, wire.File{}, wire.MaxAnswer) == nil {
			time.Sleep(grace / 10)
		}
	}
	command := func(box sandbox.Sandbox, ctx context.Context, c sandbox.Command) error {
		se, err := box.Open(t.Context(), sandbox.SessionSpec{})
		if err != nil {
			return err
		}
		c.Args = []string{"x"}
		_, err = se.Run(ctx, c)
		return err
	}
	for name, call := range map[string]func(box sandbox.Sandbox, ctx context.Context) error{
		"a trickle after the deadline": func(box sandbox.Sandbox, _ context.Context) error {
			return command(box, t.Context(), sandbox.Command{Timeout: time.Millisecond})
		},
		"a trickle after the caller gave up": func(box sandbox.Sandbox, ctx context.Context) error {
			return command(box, ctx, sandbox.Command{Stdout: io.Discard})
		},
		"a trickle of a helper": func(box sandbox.Sandbox, ctx context.Context) error {
			_, err := box.Inputs(ctx, 1)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			box, err := connect(t, &peer{beats: true, run: trickle}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer box.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			end := time.AfterFunc(10*time.Second, func() { box.Close() }) // else a failure would hang
			err = call(box, ctx)
			if !end.Stop() {
				t.Fatal("it goes on for ever")
			}
			if lost, ok := errors.AsType[*sandbox.LostError](err); !ok || !strings.Contains(lost.Detail, "did not end a command") {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("a slow writer", func(t *testing.T) {
		box, err := connect(t, &peer{beats: true, run: func(st net.Conn) {
			started(st)
			for range 4 {
				wire.Write(st, wire.KindStdout, []byte("x"))
			}
			wire.WriteJSON(st, wire.KindExit, wire.Exit{Code: -1, Signal: "SIGKILL", Cause: string(sandbox.CauseDeadline)}, wire.MaxAnswer)
		}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer box.Close()
		if err := command(box, t.Context(), sandbox.Command{Timeout: time.Millisecond, Stdout: slow{}}); err != nil {
			t.Error(err)
		}
	})
}

// split sends what is written to it as pieces of stdout.
type split struct{ st net.Conn }

func (s *split) Write(p []byte) (int, error) { return len(p), wire.Write(s.st, wire.KindStdout, p) }

type slow struct{}

func (slow) Write(p []byte) (int, error) {
	time.Sleep(grace / 2)
	return len(p), nil
}

// TestClosedBroken: a session whose processes do not end has broken the box.
func TestClosedBroken(t *testing.T) {
	defer goleak.VerifyNone(t)
	quick(t)
	box, err := connect(t, &peer{beats: true, close: func(st net.Conn) {
		wire.WriteJSON(st, wire.KindMessage, wire.Closed{Broken: "3 processes do not end"}, wire.MaxAnswer)
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	se, err := box.Open(t.Context(), sandbox.SessionSpec{})
	if err != nil {
		t.Fatal(err)
	}
	if lost, ok := errors.AsType[*sandbox.LostError](se.Close()); !ok || !strings.Contains(lost.Detail, "3 processes") {
		t.Errorf("%+v", lost)
	}
	if _, err := box.Open(t.Context(), sandbox.SessionSpec{}); err == nil {
		t.Error("the box is still there")
	}
}

// TestSilence: an init without heartbeats is lost, the engine is asked why, and every call says the same.
func TestSilence(t *testing.T) {
	defer goleak.VerifyNone(t)
	quick(t)
	hang := make(chan struct{})
	defer close(hang)
	asked := 0
	why := &sandbox.LostError{Cause: sandbox.CauseMemory, Detail: "the engine's words"}
	box, err := connect(t, &peer{run: func(st net.Conn) { started(st); <-hang }}, func(context.Context) *sandbox.LostError {
		asked++
		return why
	})
	if err != nil {
		t.Fatal(err)
	}
	se, err := box.Open(t.Context(), sandbox.SessionSpec{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := se.Run(t.Context(), sandbox.Command{Args: []string{"x"}}); !errors.Is(err, why) {
		t.Errorf("the pending call: %v", err)
	}
	if _, err := se.Run(t.Context(), sandbox.Command{Args: []string{"x"}}); !errors.Is(err, why) {
		t.Errorf("a later call: %v", err)
	}
	for range 2 {
		if err := box.Close(); err == nil || err.Error() != "closed once" {
			t.Errorf("closing: %v", err)
		}
	}
	if asked != 1 {
		t.Errorf("the engine was asked %d times", asked)
	}
}

// TestEngineSilent: an engine that does not tell why costs bounded time.
func TestEngineSilent(t *testing.T) {
	defer goleak.VerifyNone(t)
	quick(t)
	box, err := connect(t, &peer{beats: true, run: func(net.Conn) {}}, func(ctx context.Context) *sandbox.LostError {
		<-ctx.Done()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	if _, err := box.Isolation(t.Context()); err == nil || !strings.Contains(err.Error(), "connection to its init broke") {
		t.Errorf("%v", err)
	}
}

func TestConnectRefusals(t *testing.T) {
	defer goleak.VerifyNone(t)
	quick(t)
	welcome := func(w wire.Welcome) func(net.Conn) {
		return func(st net.Conn) { wire.WriteJSON(st, wire.KindMessage, w, wire.MaxAnswer) }
	}
	for want, hello := range map[string]func(net.Conn){
		"speaks version 99":            welcome(wire.Welcome{Protocol: 99}),
		"no limit of output":           welcome(wire.Welcome{Protocol: wire.Version, Error: "no limit of output"}),
		"connection to its init broke": func(net.Conn) {},
		"malformed frame":              func(st net.Conn) { st.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) },
	} {
		if _, err := connect(t, &peer{hello: hello}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	// What is no init at all, and one that never says a word.
	near, far := net.Pipe()
	go func() {
		far.Write([]byte("Unable to find image 'x' locally\n"))
		io.Copy(io.Discard, far)
	}()
	if _, err := Connect(t.Context(), near, Box{}); err == nil {
		t.Error("words were taken for an init")
	}
	far.Close()
	quiet, hole := net.Pipe()
	go io.Copy(io.Discard, hole)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Connect(ctx, quiet, Box{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("silence: %v", err)
	}
	hole.Close()
}

// FuzzProgram: no bytes that an init sends crash or hang the program's side.
func FuzzProgram(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x00\x01\x00\x02\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x15\x01\x00\x00\x00\x10{\"protocol\":1   }"))
	f.Add([]byte("\x00\x02\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01"))
	f.Add([]byte("\x00\x00\x00\x01\x00\x00\x00\x02\xff\xff\xff\xff"))
	quick(f)
	silence, grace = 50*time.Millisecond, 50*time.Millisecond
	f.Fuzz(func(t *testing.T, data []byte) {
		near, far := net.Pipe()
		go func() {
			far.Write(data)
			io.Copy(io.Discard, far)
		}()
		defer far.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		box, err := Connect(ctx, near, Box{Spec: sandbox.Spec{Limits: sandbox.Limits{Output: 1}}})
		if err != nil {
			return
		}
		defer box.Close()
		box.Isolation(ctx)
	})
}

// FuzzFile: what a helper says of files is read within its bounds.
func FuzzFile(f *testing.F) {
	f.Add([]byte("\x01\x00\x00\x00\x02{}"), int64(4))
	f.Add([]byte("\x01\x00\x00\x00\x0b{\"bytes\":3}\x04\x00\x00\x00\x03abc"), int64(4))
	f.Fuzz(func(t *testing.T, data []byte, content int64) {
		r := wire.NewReader(strings.NewReader(string(data)))
		for {
			file, err := readFile(r, content)
			if err != nil {
				return
			}
			if int64(len(file.Content)) > max(content, 0) {
				t.Fatalf("%d bytes of %d", len(file.Content), content)
			}
		}
	})
}
