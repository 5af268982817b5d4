//go:build unix

package initd

import (
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
)

// port is a port of loopback that one session may connect to.
type port struct {
	listener *net.TCPListener
	owner    Identity
	ground   Ground

	mu     sync.Mutex
	conns  map[*net.TCPConn]struct{}
	closed bool
}

// listen opens a port for a session, until the program closes st.
func (s *server) listen(st net.Conn, l wire.Listen) {
	se := s.session(l.Session)
	if se == nil {
		wire.WriteJSON(st, wire.KindMessage, wire.Listening{Error: "no such session"}, wire.MaxAnswer) //nolint:errcheck // the program is gone
		return
	}
	listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		wire.WriteJSON(st, wire.KindMessage, wire.Listening{Error: text(err)}, wire.MaxAnswer) //nolint:errcheck // likewise
		return
	}
	p := &port{listener: listener, owner: se.id, ground: s.ground, conns: map[*net.TCPConn]struct{}{}}
	number := listener.Addr().(*net.TCPAddr).Port
	s.mu.Lock()
	s.ports[number] = p
	s.mu.Unlock()
	if wire.WriteJSON(st, wire.KindMessage, wire.Listening{Port: number}, wire.MaxAnswer) == nil {
		io.Copy(io.Discard, st) //nolint:errcheck // it ends, whatever the reason
	}
	s.mu.Lock()
	delete(s.ports, number)
	s.mu.Unlock()
	p.close()
}

// accept gives st the next connection to a port, and carries its bytes until one side ends.
func (s *server) accept(st net.Conn, a wire.Accept) {
	s.mu.Lock()
	p := s.ports[a.Port]
	s.mu.Unlock()
	if p == nil {
		wire.WriteJSON(st, wire.KindMessage, wire.Accepted{Error: "no such port"}, wire.MaxAnswer) //nolint:errcheck // the program is gone
		return
	}
	conn, err := p.next()
	if err != nil {
		wire.WriteJSON(st, wire.KindMessage, wire.Accepted{Error: text(err)}, wire.MaxAnswer) //nolint:errcheck // likewise
		return
	}
	defer p.drop(conn)
	if wire.WriteJSON(st, wire.KindMessage, wire.Accepted{}, wire.MaxAnswer) != nil {
		return
	}
	in := make(chan struct{})
	go func() {
		defer close(in)
		io.Copy(conn, st) //nolint:errcheck // it ends, whatever the reason
		conn.CloseWrite() //nolint:errcheck // it may be closed
	}()
	io.Copy(st, conn) //nolint:errcheck // likewise
	st.Close()
	<-in
}

// next waits for a connection of the port's session. Those of others are closed.
func (p *port) next() (*net.TCPConn, error) {
	for {
		conn, err := p.listener.AcceptTCP()
		if err != nil {
			return nil, err
		}
		if !p.ground.Connected(p.owner, conn) {
			conn.Close()
			continue
		}
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			conn.Close()
			return nil, fmt.Errorf("the port was closed")
		}
		p.conns[conn] = struct{}{}
		p.mu.Unlock()
		return conn, nil
	}
}

func (p *port) drop(conn *net.TCPConn) {
	conn.Close()
	p.mu.Lock()
	delete(p.conns, conn)
	p.mu.Unlock()
}

// close closes the port and its connections.
func (p *port) close() {
	p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for conn := range p.conns {
		conn.Close()
	}
}
