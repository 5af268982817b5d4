package plain

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestLog(t *testing.T) {
	var b strings.Builder
	l := New(&b)
	out, err := l.Stream("out| "), l.Stream("err| ")
	for _, w := range []struct {
		to   interface{ Write([]byte) (int, error) }
		text string
	}{{out, "one\ntw"}, {err, "\x1b[2Jred\r\n"}, {out, "o\n\n"}, {err, "end"}} {
		if n, e := w.to.Write([]byte(w.text)); n != len(w.text) || e != nil {
			t.Fatalf("Write = %d, %v", n, e)
		}
	}
	if e := errors.Join(l.Printf("$ %s", "a\u202eb"), out.Close(), err.Close()); e != nil {
		t.Fatal(e)
	}
	want := "out| one\nerr| \\x1b[2Jred\\x0d\nout| two\nout| \n$ a\\u202eb\nerr| end\n"
	if b.String() != want {
		t.Errorf("got %q\nwant %q", b.String(), want)
	}
}

func TestLongLineIsBounded(t *testing.T) {
	var b strings.Builder
	w := New(&b).Stream("")
	if _, err := w.Write(bytes.Repeat([]byte("x"), 3*maxLine)); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(b.String(), "\n"); got != 3 {
		t.Errorf("%d lines", got)
	}
}

func TestFullDiskIsTold(t *testing.T) {
	if _, err := New(failing{}).Stream("").Write([]byte("a\nb")); !errors.Is(err, errFull) {
		t.Errorf("err = %v", err)
	}
}

var errFull = errors.New("full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }

// Nothing that comes out of Escape can move a cursor, end a line or turn text around.
func TestEscape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOf(rapid.Byte()).Draw(t, "in")
		out := string(Escape(in))
		if strings.ContainsFunc(out, func(r rune) bool { return r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0 || r >= 0x2028 && r <= 0x202e }) {
			t.Fatalf("Escape(%q) = %q", in, out)
		}
	})
	for in, want := range map[string]string{"é ü": "é ü", "\xff": `\xff`, "\u009b": `\u009b`, "a\x00": `a\x00`, "\u2028": `\u2028`} {
		if got := string(Escape([]byte(in))); got != want {
			t.Errorf("Escape(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "short": "short", "exactly ten": "exactly te…", "ab\ncd": `ab\x0acd`, "€€€€": "€€€…", "\xff\xff\xff": `\xff\xff\x…`,
	} {
		if got := Line(in, 10); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
