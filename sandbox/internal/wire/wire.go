// Package wire is the protocol between the program and the init of a box: messages, frames and the multiplexer below
// them. docs/shim-protocol.md describes it for people. The program takes the init for possibly compromised: everything
// that it reads from it is bounded here, in size and in kind.
package wire

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Version of the protocol. Both sides must speak the same one.
const Version = 1

// Bounds of what one side accepts from the other.
const (
	MaxRequest = 8 << 20  // a request of the program: arguments and environment of a command
	MaxAnswer  = 64 << 10 // one JSON message of the init
	MaxData    = 64 << 10 // one piece of output or input
	MaxPath    = 4096     // one path that the init names
)

// Kind of a frame.
type Kind byte

// The kinds of frames.
const (
	KindMessage Kind = 1 + iota // JSON: a request or the answer to one
	KindStdin                   // program to init: bytes for the command
	KindEOF                     // program to init: no more bytes for the command
	KindStdout                  // init to program: bytes of the command
	KindStderr                  //
	KindStarted                 // init to program: the run is known and can be killed; empty
	KindExit                    // init to program: JSON Exit; the last frame of a run
	KindBeat                    // init to program: alive; empty
	KindKill                    // program to init, on the first stream: JSON Kill
	KindResize                  // program to init, on the first stream: JSON Resize
)

const header = 5 // kind and the length of what follows, big endian

// ErrFrame says that the peer sent what nobody who speaks this protocol sends.
var ErrFrame = errors.New("malformed frame")

// ErrTooLarge says that a message was not sent because the peer would not take it.
var ErrTooLarge = errors.New("message too large")

// Request is the first frame of every stream. Exactly the field of its Op is set.
type Request struct {
	Op     string  `json:"op"` // hello, open, run, close, listen, accept
	Hello  *Hello  `json:"hello,omitempty"`
	Open   *Open   `json:"open,omitempty"`
	Run    *Run    `json:"run,omitempty"`
	Close  *Close  `json:"close,omitempty"`
	Listen *Listen `json:"listen,omitempty"`
	Accept *Accept `json:"accept,omitempty"`
}

// Hello opens the first stream, which stays open: heartbeats come back on it, kills and resizes go out.
type Hello struct {
	Protocol int    `json:"protocol"`
	Path     string `json:"path"`   // PATH of the image
	Output   int64  `json:"output"` // bytes of stdout and stderr of each command together
}

// Welcome answers Hello.
type Welcome struct {
	Protocol int    `json:"protocol"`
	Error    string `json:"error,omitempty"`
}

// Open asks for a session. Strings that the system does not hold to UTF-8 are bytes.
type Open struct {
	Role      string   `json:"role"`
	Env       [][]byte `json:"env,omitempty"`
	Decoys    [][]byte `json:"decoys,omitempty"`
	DecoyExit int      `json:"decoyExit,omitempty"`
}

// Opened answers Open.
type Opened struct {
	Session uint64 `json:"session"` // never 0
	UID     int    `json:"uid"`     // likewise
	Dir     string `json:"dir"`
	Home    string `json:"home"`
	Error   string `json:"error,omitempty"`
}

// Run asks for a command. The answer is Started, then output in pieces, then Exit.
type Run struct {
	ID      uint64   `json:"id"`      // chosen by the program, unique
	Session uint64   `json:"session"` // 0: a uid of its own, for helpers only
	Helper  string   `json:"helper,omitempty"`
	Args    [][]byte `json:"args,omitempty"`
	Dir     []byte   `json:"dir,omitempty"`
	Env     [][]byte `json:"env,omitempty"`
	Stdin   bool     `json:"stdin,omitempty"` // frames of stdin follow; else there is none
	Timeout int64    `json:"timeout,omitempty"`
	TTY     *Resize  `json:"tty,omitempty"`
}

// Exit ends a run.
type Exit struct {
	Code    int    `json:"code"`
	Signal  string `json:"signal,omitempty"`
	Cause   string `json:"cause,omitempty"`
	Detail  string `json:"detail,omitempty"`
	Elapsed int64  `json:"elapsed"`          // ns
	Broken  string `json:"broken,omitempty"` // the box can no longer be trusted: something could not be ended
}

// Close ends a session. The answer is Closed.
type Close struct {
	Session uint64 `json:"session"`
}

// Closed answers Close.
type Closed struct {
	Error  string `json:"error,omitempty"`
	Broken string `json:"broken,omitempty"` // as in Exit
}

// Kill ends a run for the cause given.
type Kill struct {
	ID    uint64 `json:"id"`
	Cause string `json:"cause"`
}

// Resize changes the terminal of a run.
type Resize struct {
	ID   uint64 `json:"id,omitempty"`
	Rows uint16 `json:"rows"`
	Cols uint16 `json:"cols"`
}

// Write sends one frame in one piece.
func Write(w io.Writer, k Kind, data []byte) error {
	b := make([]byte, header+len(data))
	copy(b[header:], data)
	return writeFilled(w, k, b)
}

// WriteJSON sends one message. The receiver's bound is the sender's affair as well: max says which holds.
func WriteJSON(w io.Writer, k Kind, v any, max int) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(data) > max {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(data), max)
	}
	return Write(w, k, data)
}

func writeFilled(w io.Writer, k Kind, b []byte) error {
	b[0] = byte(k)
	binary.BigEndian.PutUint32(b[1:header], uint32(len(b)-header))
	_, err := w.Write(b)
	return err
}

// Buffer holds one frame of up to MaxData bytes, so that what is read into it needs no copy to be sent.
type Buffer struct{ b [header + MaxData]byte }

// Space is where to read to.
func (b *Buffer) Space() []byte { return b.b[header:] }

// Send writes the first n bytes of Space as one frame.
func (b *Buffer) Send(w io.Writer, k Kind, n int) error { return writeFilled(w, k, b.b[:header+n]) }

// Reader reads frames from a peer that may send anything.
type Reader struct {
	r   io.Reader
	buf []byte
	hdr [header]byte
}

// NewReader reads from r.
func NewReader(r io.Reader) *Reader { return &Reader{r: r} }

// Next returns the next frame. Its bytes stand until the next call. A message may have max bytes, everything else
// MaxData. io.EOF comes only between two frames.
func (r *Reader) Next(max int) (Kind, []byte, error) {
	if _, err := io.ReadFull(r.r, r.hdr[:]); err != nil {
		return 0, nil, err
	}
	k, n := Kind(r.hdr[0]), int64(binary.BigEndian.Uint32(r.hdr[1:]))
	limit := int64(max)
	switch k {
	case KindStdin, KindStdout, KindStderr:
		limit = MaxData
		if n == 0 {
			return 0, nil, fmt.Errorf("%w: no data in kind %d", ErrFrame, k)
		}
	case KindEOF, KindStarted, KindBeat:
		limit = 0
	case KindMessage, KindExit, KindKill, KindResize:
	default:
		return 0, nil, fmt.Errorf("%w: kind %d", ErrFrame, k)
	}
	if n > limit {
		return 0, nil, fmt.Errorf("%w: %d bytes in kind %d, at most %d", ErrFrame, n, k, limit)
	}
	if int64(cap(r.buf)) < n {
		r.buf = make([]byte, n)
	}
	b := r.buf[:n]
	if _, err := io.ReadFull(r.r, b); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	return k, b, nil
}

// ReadJSON reads one frame of kind k into v.
func (r *Reader) ReadJSON(k Kind, v any, max int) error {
	got, b, err := r.Next(max)
	if err != nil {
		return err
	}
	if got != k {
		return fmt.Errorf("%w: kind %d where %d belongs", ErrFrame, got, k)
	}
	return Decode(b, v)
}

// Decode reads one JSON message.
func Decode(b []byte, v any) error {
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%w: %w", ErrFrame, err)
	}
	return nil
}

// Bytes turns strings into what a message carries.
func Bytes(s []string) [][]byte {
	if s == nil {
		return nil
	}
	out := make([][]byte, len(s))
	for i := range s {
		out[i] = []byte(s[i])
	}
	return out
}

// Strings turns what a message carries into strings.
func Strings(b [][]byte) []string {
	if b == nil {
		return nil
	}
	out := make([]string, len(b))
	for i := range b {
		out[i] = string(b[i])
	}
	return out
}
