//go:build unix

package sandboxtest

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/sandbox"
)

// talk: one session speaks to what another one runs, waits until it listens, gets no more than it asked for, and is told
// where nobody listens.
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
	stop()
	serving.Wait()
	if r, err := from.Talk(timeout(t), sandbox.Talk{Address: address, Most: 10, Within: time.Millisecond}); err != nil || r.Connected {
		t.Errorf("after its end: %+v, %v", r, err)
	}
}
