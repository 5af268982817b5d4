package wire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"testing/iotest"

	"github.com/hashicorp/yamux"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFrames(t *testing.T) {
	var b bytes.Buffer
	if err := WriteJSON(&b, KindMessage, Kill{ID: 7, Cause: "deadline"}, MaxAnswer); err != nil {
		t.Fatal(err)
	}
	buf := new(Buffer)
	if err := buf.Send(&b, KindStdout, copy(buf.Space(), "bytes")); err != nil {
		t.Fatal(err)
	}
	if err := Write(&b, KindEOF, nil); err != nil {
		t.Fatal(err)
	}
	r := NewReader(iotest.OneByteReader(&b))
	var k Kill
	if err := r.ReadJSON(KindMessage, &k, MaxAnswer); err != nil || k.ID != 7 {
		t.Errorf("%+v, %v", k, err)
	}
	if kind, data, err := r.Next(0); kind != KindStdout || string(data) != "bytes" || err != nil {
		t.Errorf("%d %q %v", kind, data, err)
	}
	if kind, data, err := r.Next(0); kind != KindEOF || len(data) != 0 || err != nil {
		t.Errorf("%d %q %v", kind, data, err)
	}
	if _, _, err := r.Next(0); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	if err := WriteJSON(&b, KindMessage, Kill{Cause: "long"}, 3); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a message beyond its bound: %v", err)
	}
}

// TestGuard: what only a hostile init sends through the multiplexer ends the connection.
func TestGuard(t *testing.T) {
	frame := func(version, kind, flags byte, length ...byte) []byte {
		return append([]byte{version, kind, 0, flags, 0, 0, 0, 1}, length...)
	}
	none := []byte{0, 0, 0, 0}
	for name, bad := range map[string][]byte{
		"a stream of its own":  frame(0, 1, 1, none...),
		"one with data":        frame(0, 0, 1, none...),
		"a ping":               frame(0, 2, 1, none...),
		"an answer to a ping":  frame(0, 2, 2, none...),
		"an unknown type":      frame(0, 9, 0, none...),
		"an unknown flag":      frame(0, 0, 16, none...),
		"another version":      frame(1, 0, 0, none...),
		"a piece of 4 GiB":     frame(0, 0, 0, 255, 255, 255, 255),
		"a window of 4 GiB":    frame(0, 1, 0, 255, 255, 255, 255),
		"behind an honest one": append(append(frame(0, 0, 2, 0, 0, 0, 3), "abc"...), frame(0, 2, 1, none...)...),
	} {
		for _, r := range []io.Reader{bytes.NewReader(bad), iotest.OneByteReader(bytes.NewReader(bad))} {
			g := &guarded{ReadWriteCloser: rw{r}}
			if _, err := io.Copy(io.Discard, g); !errors.Is(err, ErrFrame) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	good := append(append(frame(0, 0, 2, 0, 0, 0, 3), "\x09\x09\x09"...), frame(0, 1, 4, none...)...)
	if n, err := io.Copy(io.Discard, &guarded{ReadWriteCloser: rw{iotest.HalfReader(bytes.NewReader(good))}}); err != nil || int(n) != len(good) {
		t.Errorf("an honest init: %d, %v", n, err)
	}
}

type rw struct{ io.Reader }

func (rw) Write(p []byte) (int, error) { return len(p), nil }
func (rw) Close() error                { return nil }

func TestMux(t *testing.T) {
	near, far := net.Pipe()
	p, err := Program(near)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Box(far)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			st, err := b.Accept()
			if err != nil {
				return
			}
			go func() {
				defer st.Close()
				io.Copy(st, io.LimitReader(st, 3<<20))
			}()
		}
	}()
	st, err := p.Open()
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat([]byte("0123456789abcdef"), 3<<16)
	go st.Write(want)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(st, got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("an echo: %v", err)
	}
	st.Close()
	own, err := b.Open() // an init that opens a stream loses the connection
	if err == nil {
		own.Write([]byte("x"))
	}
	<-p.CloseChan()
	if _, err := p.Open(); !errors.Is(err, yamux.ErrSessionShutdown) {
		t.Errorf("after it: %v", err)
	}
	p.Close()
	b.Close()
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("\x01\x00\x00\x00\x02{}\x04\x00\x00\x00\x01x\x07\x00\x00\x00\x02{}"))
	f.Add([]byte("\x04\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := NewReader(bytes.NewReader(data))
		read := 0
		for {
			kind, b, err := r.Next(100)
			if err != nil {
				return
			}
			read += header + len(b)
			if len(b) > MaxData || kind == KindMessage && len(b) > 100 || read > len(data) {
				t.Fatalf("kind %d with %d bytes", kind, len(b))
			}
		}
	})
}

func FuzzGuard(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x03abc\x00\x02\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00"), 3)
	f.Fuzz(func(t *testing.T, data []byte, n int) {
		whole := (&guarded{}).check(data)
		g := &guarded{} // in pieces it finds the same
		var err error
		for b := data; len(b) > 0 && err == nil; {
			k := min(len(b), max(1, n&15))
			err = g.check(b[:k])
			b = b[k:]
		}
		if (whole == nil) != (err == nil) {
			t.Fatalf("whole: %v, in pieces: %v", whole, err)
		}
	})
}
