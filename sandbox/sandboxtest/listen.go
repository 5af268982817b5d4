//go:build unix

package sandboxtest

import (
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/sandbox"
)

// listen: what a session sends to its port comes out of the listener and what is answered comes back, whole and at once
// for many; nobody else's does.
func (s *suite) listen(t *testing.T, box sandbox.Sandbox) {
	se, other := open(t, box, sandbox.SessionSpec{}), open(t, box, sandbox.SessionSpec{})
	l, err := se.Listen(timeout(t))
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	var serving sync.WaitGroup
	accepted := 0
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted++
			serving.Go(func() {
				defer c.Close()
				n, err := io.Copy(c, c)
				if err != nil {
					t.Errorf("echoing: %d, %v", n, err)
				}
			})
		}
	})
	for _, n := range []int{0, 1, 100_000, 5_000_000} {
		if got, want := says(t, se, "send", address, fmt.Sprint(n)), fmt.Sprintf("%d <nil>\n", n); got != want {
			t.Errorf("of %d bytes came back %q", n, got)
		}
	}
	_, port, _ := net.SplitHostPort(address)
	if got := says(t, se, "send6", port, "1000"); got != "1000 <nil>\n" {
		t.Errorf("through a socket of IPv6 came back %q", got)
	}
	if s.traits.Isolates {
		was := accepted
		if r := subject(t, other, "send", address, "1000"); r.out == "1000 <nil>\n" {
			t.Errorf("another session was answered: %q", r.out)
		}
		if r := subject(t, other, "send6", port, "1000"); r.out == "1000 <nil>\n" {
			t.Errorf("another session was answered through a socket of IPv6: %q", r.out)
		}
		says(t, se, "send", address, "1")
		if accepted != was+1 {
			t.Errorf("%d connections came out for one of the session's", accepted-was)
		}
	}

	second, err := se.Listen(timeout(t))
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error)
	go func() {
		_, err := second.Accept()
		waiting <- err
	}()
	for range 2 {
		if err := second.Close(); err != nil {
			t.Error(err)
		}
	}
	select {
	case err := <-waiting:
		if err == nil {
			t.Error("a connection came out of a closed listener")
		}
	case <-time.After(time.Minute):
		t.Fatal("Accept hangs")
	}
	if r := subject(t, se, "send", second.Addr().String(), "10"); r.Code == 0 && r.out == "10 <nil>\n" {
		t.Errorf("a closed port was answered: %s %q", r.Exit, r.out)
	}
	l.Close()
	serving.Wait()
	if _, err := l.Accept(); err == nil {
		t.Error("a connection came out of a closed listener")
	}
}
