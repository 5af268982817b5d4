package sandbox

import (
	"context"
	"time"
)

// Talker is a Sandbox whose servers can be spoken to: from inside, because nothing else reaches the box's loopback.
type Talker interface {
	// Talk connects to a TCP address of loopback inside the box as a uid of its own, sends a request, and returns what
	// comes back until the other side closes, the time is over or most bytes have come. It may be called while a
	// session runs a command. The error is about the box alone; that nobody answered is in Reply.
	Talk(ctx context.Context, t Talk) (Reply, error)
}

// Talk is one request.
type Talk struct {
	Address string // "127.0.0.1:8080"
	Request []byte
	Most    int64
	Within  time.Duration
}

// Reply is what came of it.
type Reply struct {
	Connected bool
	Data      []byte
	Cut       bool   // more came than was asked for
	Detail    string // for people: why nothing came, or not all
}
