package docker

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/pkg/stdcopy"
)

const (
	frameHeader = 8
	tailSize    = 4 << 10
)

// stream is the init's stdio over an attached connection: its stdin as it is, its stdout and stderr as frames of one
// stream. What the init says on stderr is kept, as far as it is the last, for an account of how it ended.
type stream struct {
	conn net.Conn
	in   *bufio.Reader
	left int // of the frame of stdout that is being read

	mu   sync.Mutex
	tail []byte
}

func newStream(conn net.Conn) *stream {
	return &stream{conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}
}

// Read reads the init's stdout.
func (s *stream) Read(p []byte) (int, error) {
	for s.left == 0 {
		var header [frameHeader]byte
		if _, err := io.ReadFull(s.in, header[:]); err != nil {
			return 0, err // io.EOF between two frames: the init has ended
		}
		size := int(binary.BigEndian.Uint32(header[4:]))
		switch kind := stdcopy.StdType(header[0]); kind {
		case stdcopy.Stdout:
			s.left = size
		case stdcopy.Stderr, stdcopy.Systemerr:
			if err := s.keep(size); err != nil {
				return 0, err
			}
			if kind == stdcopy.Systemerr {
				return 0, fmt.Errorf("the Docker daemon: %s", s.said())
			}
		default:
			return 0, fmt.Errorf("reading the container's output: no frame begins with %#x", header[0])
		}
	}
	if len(p) > s.left {
		p = p[:s.left]
	}
	n, err := s.in.Read(p)
	s.left -= n
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// keep reads size bytes of stderr and keeps the last of them.
func (s *stream) keep(size int) error {
	for size > 0 {
		piece := make([]byte, min(size, tailSize))
		n, err := io.ReadFull(s.in, piece)
		size -= n
		s.mu.Lock()
		s.tail = append(s.tail, piece[:n]...)
		s.tail = s.tail[max(0, len(s.tail)-tailSize):]
		s.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// said is the last that the init said on stderr.
func (s *stream) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(s.tail), "?"))
}

func (s *stream) Write(p []byte) (int, error) { return s.conn.Write(p) }

// CloseWrite ends the init's stdin, upon which it ends the box.
func (s *stream) CloseWrite() error {
	if c, ok := s.conn.(types.CloseWriter); ok {
		return c.CloseWrite()
	}
	return s.conn.Close()
}

// Close ends both directions. The daemon closes the init's stdin then as well.
func (s *stream) Close() error { return s.conn.Close() }
