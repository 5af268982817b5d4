// Package plain writes what untrusted programs print into logs that people read on terminals: line by line, marked
// with the stream that it came from, every control character spelled out.
package plain

import (
	"fmt"
	"io"
	"sync"
	"unicode"
	"unicode/utf8"
)

// maxLine is the most bytes of a line that are held back; a longer one is written in parts.
const maxLine = 64 << 10

// Log joins several streams. Its streams may be written at the same time; lines stay whole.
type Log struct {
	mu sync.Mutex
	w  io.Writer
}

// New makes a log that writes to w.
func New(w io.Writer) *Log { return &Log{w: w} }

// Printf writes one line of our own; what it formats is made safe like output.
func (l *Log) Printf(format string, args ...any) error {
	return l.line("", []byte(fmt.Sprintf(format, args...)))
}

func (l *Log) line(mark string, line []byte) error {
	out := append([]byte(mark), Escape(line)...)
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.w.Write(append(out, '\n'))
	return err
}

// Stream makes a writer whose lines begin with mark. Close writes what has no line end yet.
func (l *Log) Stream(mark string) io.WriteCloser { return &stream{log: l, mark: mark} }

type stream struct {
	log  *Log
	mark string
	held []byte
}

func (s *stream) Write(p []byte) (int, error) {
	for i, c := range p {
		if c != '\n' {
			s.held = append(s.held, c)
			if len(s.held) < maxLine {
				continue
			}
		}
		if err := s.flush(); err != nil {
			return i, err
		}
	}
	return len(p), nil
}

func (s *stream) flush() error {
	line := s.held
	s.held = s.held[:0]
	return s.log.line(s.mark, line)
}

func (s *stream) Close() error {
	if len(s.held) == 0 {
		return nil
	}
	return s.flush()
}

// Escape spells out what is no printable text: control and format characters, and bytes that are not UTF-8. Tabs stay.
func Escape(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		switch {
		case r == '\t', r == ' ':
			out = append(out, byte(r))
		case r == utf8.RuneError && size == 1, r < utf8.RuneSelf && !unicode.IsPrint(r):
			out = fmt.Appendf(out, `\x%02x`, b[0])
		case !unicode.IsPrint(r) && !unicode.Is(unicode.Zs, r):
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = append(out, b[:size]...)
		}
		b = b[size:]
	}
	return out
}
