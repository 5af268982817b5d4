package wire

import (
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/yamux"
)

const (
	window      = 1 << 20
	muxHeader   = 12
	muxData     = 0
	muxUpdate   = 1
	muxGoAway   = 3
	flagSYN     = 1
	flagAll     = 15
	hostWrites  = 30 * time.Second // a peer that takes nothing for so long is lost
	initWrites  = time.Hour        // the program may be stopped for a while
	closeWithin = time.Minute
)

func muxConfig(writes time.Duration) *yamux.Config {
	c := yamux.DefaultConfig()
	c.EnableKeepAlive = false // our own heartbeat says more
	c.AcceptBacklog = 64
	c.ConnectionWriteTimeout = writes
	c.MaxStreamWindowSize = window
	c.StreamOpenTimeout = 0
	c.StreamCloseTimeout = closeWithin
	c.LogOutput = io.Discard
	return c
}

// Program makes the program's end. Closing the result closes conn, which must end a Read and a Write that hang.
func Program(conn io.ReadWriteCloser) (*yamux.Session, error) {
	return yamux.Client(&guarded{ReadWriteCloser: &joined{ReadWriteCloser: conn}}, muxConfig(hostWrites))
}

// Box makes the init's end.
func Box(conn io.ReadWriteCloser) (*yamux.Session, error) {
	return yamux.Server(&joined{ReadWriteCloser: conn}, muxConfig(initWrites))
}

// joined writes a header of the multiplexer and the data behind it, which come apart, in one piece: a write costs more
// than a copy.
type joined struct {
	io.ReadWriteCloser
	buf  []byte
	held bool // buf begins with a header whose data comes next
}

func (j *joined) Write(p []byte) (int, error) {
	switch {
	case j.held:
		j.held = false
		if n, err := j.ReadWriteCloser.Write(append(j.buf, p...)); err != nil {
			return max(0, n-muxHeader), err
		}
		return len(p), nil
	case len(p) == muxHeader && p[1] == muxData && binary.BigEndian.Uint32(p[8:]) > 0:
		if j.buf == nil {
			j.buf = make([]byte, 0, muxHeader+header+MaxData)
		}
		j.buf, j.held = append(j.buf[:0], p...), true
		return len(p), nil
	}
	return j.ReadWriteCloser.Write(p)
}

// guarded ends the connection when the init sends what an honest one never does. An init never opens streams and
// never pings: both would cost the program memory for as long as it is flooded with them.
type guarded struct {
	io.ReadWriteCloser
	hdr  [muxHeader]byte
	have int
	skip int64
	bad  error
}

func (g *guarded) Read(p []byte) (int, error) {
	if g.bad != nil {
		return 0, g.bad
	}
	n, err := g.ReadWriteCloser.Read(p)
	if g.bad = g.check(p[:n]); g.bad != nil {
		return 0, g.bad
	}
	return n, err
}

func (g *guarded) check(p []byte) error {
	for len(p) > 0 {
		if g.skip > 0 {
			n := min(g.skip, int64(len(p)))
			g.skip -= n
			p = p[n:]
			continue
		}
		n := copy(g.hdr[g.have:], p)
		g.have += n
		p = p[n:]
		if g.have < muxHeader {
			return nil
		}
		g.have = 0
		kind, flags, length := g.hdr[1], binary.BigEndian.Uint16(g.hdr[2:]), binary.BigEndian.Uint32(g.hdr[8:])
		switch {
		case g.hdr[0] != 0:
			return fmt.Errorf("%w: multiplexer version %d", ErrFrame, g.hdr[0])
		case kind != muxData && kind != muxUpdate && kind != muxGoAway:
			return fmt.Errorf("%w: multiplexer type %d", ErrFrame, kind)
		case flags&^flagAll != 0 || flags&flagSYN != 0:
			return fmt.Errorf("%w: multiplexer flags %#x", ErrFrame, flags)
		case kind != muxGoAway && length > window:
			return fmt.Errorf("%w: %d bytes in one piece", ErrFrame, length)
		}
		if kind == muxData {
			g.skip = int64(length)
		}
	}
	return nil
}
