package wire

// Listen asks for a port of the box's loopback that only a session's uid may connect to. The port is open as long as
// the stream is.
type Listen struct {
	Session uint64 `json:"session"`
}

// Listening answers Listen.
type Listening struct {
	Port  int    `json:"port,omitempty"`
	Error string `json:"error,omitempty"`
}

// Accept asks for the next connection to such a port. The answer comes when there is one; what follows it on the stream,
// in both directions, are the bytes of the connection, without frames.
type Accept struct {
	Port int `json:"port"`
}

// Accepted answers Accept.
type Accepted struct {
	Error string `json:"error,omitempty"`
}
