package bound

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// Whatever is written in whatever pieces, head and tail are those of the stream and nothing is counted twice.
func TestBuffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		head := rapid.IntRange(0, 20).Draw(t, "head")
		tail := rapid.IntRange(0, 20).Draw(t, "tail")
		pieces := rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 30)).Draw(t, "pieces")
		b := NewBuffer(head, tail)
		var all []byte
		for _, p := range pieces {
			if n, err := b.Write(p); n != len(p) || err != nil {
				t.Fatalf("Write = %d, %v", n, err)
			}
			all = append(all, p...)
		}
		wantHead := all[:min(head, len(all))]
		rest := all[len(wantHead):]
		wantTail := rest[max(0, len(rest)-tail):]
		dropped := int64(len(rest) - len(wantTail))
		if !bytes.Equal(b.Head(), wantHead) || !bytes.Equal(b.Tail(), wantTail) || b.Dropped() != dropped || b.Total() != int64(len(all)) {
			t.Fatalf("head %q tail %q dropped %d total %d of %q", b.Head(), b.Tail(), b.Dropped(), b.Total(), all)
		}
		want := string(all)
		if dropped > 0 {
			want = fmt.Sprintf("%s\n[%d bytes left out]\n%s", wantHead, dropped, wantTail)
		}
		if b.String() != want {
			t.Fatalf("String() = %q, want %q", b, want)
		}
	})
}

func TestWriter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(0, 40).Draw(t, "limit")
		pieces := rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 30)).Draw(t, "pieces")
		var got bytes.Buffer
		w := NewWriter(&got, limit)
		var all []byte
		for _, p := range pieces {
			if n, err := w.Write(p); n != len(p) || err != nil {
				t.Fatalf("Write = %d, %v", n, err)
			}
			all = append(all, p...)
		}
		want := all[:min(limit, int64(len(all)))]
		if !bytes.Equal(got.Bytes(), want) || w.Dropped() != int64(len(all)-len(want)) {
			t.Fatalf("passed %q, dropped %d of %q", got.Bytes(), w.Dropped(), all)
		}
	})
}

type full struct{ room int }

var errFull = errors.New("full")

func (f *full) Write(p []byte) (int, error) {
	n := min(f.room, len(p))
	f.room -= n
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

// A failing file must not be taken for one that is full by our own limit.
func TestWriterPassesErrors(t *testing.T) {
	w := NewWriter(&full{room: 3}, 10)
	if n, err := w.Write([]byte("abcdef")); n != 3 || !errors.Is(err, errFull) {
		t.Fatalf("Write = %d, %v", n, err)
	}
	if w.Dropped() != 0 {
		t.Fatalf("Dropped() = %d", w.Dropped())
	}
}
