// Package bound keeps output of unknown length within a limit and tells how much it left out.
package bound

import "fmt"

// Buffer is a writer that keeps the first and the last bytes of a stream in memory. Its memory grows with what is
// written, up to what it may keep. It never fails. It is not for use by several goroutines at the same time.
type Buffer struct {
	head, tail []byte
	next       int // where in a full tail the oldest byte is
	maxHead    int
	maxTail    int
	total      int64
}

// NewBuffer keeps at most the first head bytes and the last tail bytes. Either may be 0.
func NewBuffer(head, tail int) *Buffer {
	return &Buffer{maxHead: head, maxTail: tail}
}

// Write takes all of p.
func (b *Buffer) Write(p []byte) (int, error) {
	n := len(p)
	b.total += int64(n)
	if room := b.maxHead - len(b.head); room > 0 {
		room = min(room, len(p))
		b.head = append(b.head, p[:room]...)
		p = p[room:]
	}
	if len(p) >= b.maxTail {
		b.tail = append(b.tail[:0], p[len(p)-b.maxTail:]...)
		b.next = 0
		return n, nil
	}
	if room := b.maxTail - len(b.tail); room > 0 {
		room = min(room, len(p))
		b.tail = append(b.tail, p[:room]...)
		p = p[room:]
	}
	for len(p) > 0 {
		c := copy(b.tail[b.next:], p)
		b.next = (b.next + c) % len(b.tail)
		p = p[c:]
	}
	return n, nil
}

// Total is how many bytes were written.
func (b *Buffer) Total() int64 { return b.total }

// Dropped is how many bytes between head and tail were left out.
func (b *Buffer) Dropped() int64 { return b.total - int64(len(b.head)) - int64(len(b.tail)) }

// Head is the beginning of the stream as far as it was kept.
func (b *Buffer) Head() []byte { return append([]byte(nil), b.head...) }

// Tail is what follows Head, or what follows the gap after it.
func (b *Buffer) Tail() []byte {
	return append(append([]byte(nil), b.tail[b.next:]...), b.tail[:b.next]...)
}

// Bytes is head and tail, with a line between them that tells how much is missing where something is.
func (b *Buffer) Bytes() []byte {
	out := b.Head()
	if n := b.Dropped(); n > 0 {
		out = fmt.Appendf(out, "\n[%d bytes left out]\n", n)
	}
	return append(out, b.Tail()...)
}

// String is Bytes as text; it may hold bytes that are not UTF-8.
func (b *Buffer) String() string { return string(b.Bytes()) }
