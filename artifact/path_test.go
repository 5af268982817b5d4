package artifact

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func FuzzEscapePath(f *testing.F) {
	for _, s := range []string{"", "a/b c", "ü/日本", "\xff\xfe", `\`, `\x5c`, "new\nline", "\u0085", "\ufffd", "\xc2", "a\x00b", "\x7f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		s := EscapePath(raw)
		if !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
			t.Fatalf("EscapePath(%q) = %q", raw, s)
		}
		if back, err := UnescapePath(s); err != nil || back != raw {
			t.Fatalf("UnescapePath(%q) = %q, %v; was %q", s, back, err, raw)
		}
		// And the other way: whatever is read was written that way.
		if back, err := UnescapePath(raw); err == nil && EscapePath(back) != raw {
			t.Fatalf("UnescapePath(%q) = %q", raw, back)
		}
	})
}

func TestEscapePath(t *testing.T) {
	for raw, want := range map[string]string{
		"a/b c/ü": "a/b c/ü", "a\nb": `a\x0ab`, `a\nb`: `a\x5cnb`, "\xff": `\xff`, "\u0085": `\xc2\x85`, "\ufffd": "\ufffd", "\x1b[31m": `\x1b[31m`,
	} {
		if got := EscapePath(raw); got != want {
			t.Errorf("EscapePath(%q) = %q, want %q", raw, got, want)
		}
	}
	for _, s := range []string{`\`, `\x`, `\x4`, `\xZZ`, `\x41`, `\xFF`, "a\nb", "\xff", `\n`} {
		if raw, err := UnescapePath(s); err == nil {
			t.Errorf("UnescapePath(%q) = %q", s, raw)
		}
	}
}
