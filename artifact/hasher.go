package artifact

import (
	"crypto/sha256"
	"hash"
)

// edge is how much at each end of a large file is hashed apart, as a box does that does not hash everything.
const edge = 1 << 20

// hasher hashes all of a file, and of a large one its edges too.
type hasher struct {
	size, at int64
	all      hash.Hash
	ends     hash.Hash // nil: the file is all edge
}

func newHasher(size int64) *hasher {
	h := &hasher{size: size, all: sha256.New()}
	if size > 2*edge {
		h.ends = sha256.New()
	}
	return h
}

func (h *hasher) feed(b []byte) {
	h.all.Write(b)
	if h.ends != nil {
		n := int64(len(b))
		if h.at < edge {
			h.ends.Write(b[:min(n, edge-h.at)])
		}
		if last := h.size - edge; h.at+n > last {
			h.ends.Write(b[max(0, last-h.at):])
		}
		h.at += n
	}
}

func (h *hasher) sums() (all, ends [sha256.Size]byte) {
	h.all.Sum(all[:0])
	ends = all
	if h.ends != nil {
		h.ends.Sum(ends[:0])
	}
	return all, ends
}

// ringSize is how many buffers are in use beside each other: one is filled, two wait, one is hashed.
const ringSize = 4

// beside hashes on another goroutine. When feed returns, everything is hashed but the last ringSize-1 buffers, so the
// one after them may be filled. finish waits until all is hashed; it may be called twice.
func (h *hasher) beside() (feed func([]byte), finish func()) {
	queue, done := make(chan []byte, ringSize-2), make(chan struct{})
	go func() {
		defer close(done)
		for b := range queue {
			h.feed(b)
		}
	}()
	closed := false
	return func(b []byte) { queue <- b }, func() {
		if !closed {
			closed = true
			close(queue)
			<-done
		}
	}
}
