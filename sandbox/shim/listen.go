package shim

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
)

// maxConns bounds the connections of a listener that are open at once; more wait.
const maxConns = 64

// Listen does as sandbox.Session says.
func (s *session) Listen(ctx context.Context) (net.Listener, error) {
	wrong := func(err error) error { return fmt.Errorf("listening in the box: %w", err) }
	st, err := s.c.call(ctx, wire.Request{Op: "listen", Listen: &wire.Listen{Session: s.id}})
	if err != nil {
		return nil, wrong(err)
	}
	st.SetReadDeadline(time.Now().Add(grace))
	var w wire.Listening
	err = wire.NewReader(st).ReadJSON(wire.KindMessage, &w, wire.MaxAnswer)
	st.SetReadDeadline(time.Time{})
	switch {
	case err != nil:
		st.Close()
		return nil, wrong(s.c.failed(err))
	case w.Error != "":
		st.Close()
		return nil, wrong(fmt.Errorf("%s", short(w.Error)))
	case w.Port <= 0 || w.Port > 65535:
		st.Close()
		return nil, wrong(s.c.failed(fmt.Errorf("%w: port %d", wire.ErrFrame, w.Port)))
	}
	return &listener{c: s.c, open: st, port: w.Port, slots: make(chan struct{}, maxConns), done: make(chan struct{})}, nil
}

// listener is a port of a box.
type listener struct {
	c     *Client
	open  net.Conn // the port is open as long as this is
	port  int
	slots chan struct{}

	closing sync.Once
	done    chan struct{}
	mu      sync.Mutex
	conns   map[net.Conn]struct{} // that wait for their connection, or have it
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	st, err := l.c.call(context.Background(), wire.Request{Op: "accept", Accept: &wire.Accept{Port: l.port}})
	if err != nil {
		<-l.slots
		return nil, err
	}
	conn := &conn{Conn: st, l: l}
	if !l.keep(conn) {
		conn.Close()
		return nil, net.ErrClosed
	}
	var w wire.Accepted
	err = wire.NewReader(st).ReadJSON(wire.KindMessage, &w, wire.MaxAnswer)
	select {
	case <-l.done:
		conn.Close()
		return nil, net.ErrClosed
	default:
	}
	if err == nil && w.Error != "" {
		err = fmt.Errorf("accepting a connection in the box: %s", short(w.Error))
	} else if err != nil {
		err = l.c.failed(err)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

func (l *listener) keep(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.done:
		return false
	default:
	}
	if l.conns == nil {
		l.conns = map[net.Conn]struct{}{}
	}
	l.conns[c] = struct{}{}
	return true
}

func (l *listener) Close() error {
	l.closing.Do(func() {
		l.mu.Lock()
		close(l.done)
		conns := l.conns
		l.conns = nil
		l.mu.Unlock()
		l.open.Close()
		for c := range conns {
			c.Close()
		}
	})
	return nil
}

func (l *listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: l.port} }

// conn is a connection that a process of the box made.
type conn struct {
	net.Conn
	l       *listener
	closing sync.Once
}

func (c *conn) Close() error {
	var err error
	c.closing.Do(func() {
		err = c.Conn.Close()
		c.SetReadDeadline(time.Now()) // a stream that is closed can still be read from, and somebody may
		c.l.mu.Lock()
		delete(c.l.conns, c)
		c.l.mu.Unlock()
		<-c.l.slots
	})
	return err
}
