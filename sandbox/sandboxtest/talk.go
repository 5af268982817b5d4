//go:build unix

package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/sandbox"
)

// talk: one session speaks to what another one runs, waits until it listens, gets no more than it asked for, and is told
// where nobody listens, and where it is not the one meant who does.
func (s *suite) talk(t *testing.T, box sandbox.Sandbox) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // free here, which matters where a box has no network of its own
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	server, from := open(t, box, sandbox.SessionSpec{}), open(t, box, sandbox.SessionSpec{})
	if r, err := from.Talk(timeout(t), sandbox.Talk{Address: address, Most: 10, Within: time.Millisecond}); err != nil || r.Connected || r.Detail == "" {
		t.Errorf("nobody listens: %+v, %v", r, err)
	}
	ctx, stop := context.WithCancel(timeout(t))
	var serving sync.WaitGroup
	serving.Go(func() {
		e, err := server.Run(ctx, sandbox.Command{Args: []string{program, "serve", address, strings.Repeat("x", 100_000)}})
		if !errors.Is(err, context.Canceled) || e.Cause != sandbox.CauseKilled {
			t.Errorf("the server: %s, %v", e, err)
		}
	})
	ask := sandbox.Talk{Address: address, Request: []byte("hello"), Most: 1 << 20, Within: 20 * time.Second}
	if r, err := from.Talk(timeout(t), ask); err != nil || !r.Connected || r.Detail != "" || string(r.Data) != strings.Repeat("x", 100_000)+" 5" {
		t.Errorf("%v %q %d bytes, %v", r.Connected, r.Detail, len(r.Data), err)
	}
	ask.Most = 1000
	if r, err := from.Talk(timeout(t), ask); err != nil || string(r.Data) != strings.Repeat("x", 1000) {
		t.Errorf("%d bytes, %v", len(r.Data), err)
	}
	ask.Of = server
	for range 5 {
		if r, err := from.Talk(timeout(t), ask); err != nil || !r.Connected || r.Other || len(r.Data) != 1000 {
			t.Errorf("of the one who serves: %v %v %q %d bytes, %v", r.Connected, r.Other, r.Detail, len(r.Data), err)
		}
	}
	stop()
	serving.Wait()
	if r, err := from.Talk(timeout(t), sandbox.Talk{Address: address, Most: 10, Within: time.Millisecond}); err != nil || r.Connected {
		t.Errorf("after its end: %+v, %v", r, err)
	}
	if s.traits.Isolates {
		s.whose(t, box, from)
	}
}

// whose: who answers is told by whose socket it is, of either family, also where a child of the one meant serves or the
// listener is closed once it has accepted; the wrong one is told nothing.
func (s *suite) whose(t *testing.T, box sandbox.Sandbox, from sandbox.Session) {
	meant, wrong := open(t, box, sandbox.SessionSpec{}), open(t, box, sandbox.SessionSpec{Role: sandbox.RoleService})
	for i, c := range []struct {
		server       sandbox.Session
		words        []string
		listen, dial string
		other        bool
	}{
		{meant, []string{"serve"}, "127.0.0.1", "127.0.0.1", false},
		{meant, []string{"serve"}, "[::]", "127.0.0.1", false},
		{meant, []string{"parent", "serve"}, "0.0.0.0", "127.0.0.1", false},
		{meant, []string{"once"}, "127.0.0.1", "127.0.0.1", false},
		{wrong, []string{"serve"}, "127.0.0.1", "127.0.0.1", true},
		{wrong, []string{"serve"}, "[::]", "127.0.0.1", true},
		{wrong, []string{"once"}, "127.0.0.1", "127.0.0.1", true},
	} {
		ctx, stop := context.WithCancel(timeout(t))
		var serving sync.WaitGroup
		port := fmt.Sprintf(":%d", 20100+i)
		words := append(append([]string{program}, c.words...), c.listen+port, "hello")
		serving.Go(func() { c.server.Run(ctx, sandbox.Command{Args: words}) }) //nolint:errcheck // it is ended
		ask := sandbox.Talk{Address: c.dial + port, Request: []byte("x"), Most: 100, Within: 20 * time.Second, Of: meant}
		r, err := from.Talk(timeout(t), ask)
		if want := map[bool]string{false: "hello 1"}[c.other]; err != nil || !r.Connected || r.Other != c.other || string(r.Data) != want {
			t.Errorf("%q, by the wrong one %v: %+v, %v", words[1:], c.other, r, err)
		}
		stop()
		serving.Wait()
	}
}
