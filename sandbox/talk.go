package sandbox

import "time"

// Talk is one request to a TCP server inside the box. It is made from inside, because nothing else reaches the box's
// loopback: again and again until somebody listens or the time is over.
type Talk struct {
	Address string // "127.0.0.1:8080"
	Request []byte
	Most    int64         // bytes of an answer
	Within  time.Duration // for all of it
	Of      Session       // whose server must answer, of the same box; nil: anybody's
}

// Reply is what came until the other side closed, the time was over or the most had come.
type Reply struct {
	Connected bool
	Other     bool // it was not seen to be the server of Talk.Of that listens; it was told nothing
	Data      []byte
	Detail    string // for people: why nothing came, or not all
}
