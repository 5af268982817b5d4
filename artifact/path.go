package artifact

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// EscapePath makes a path or link target fit for a record: valid UTF-8 with every byte that is not, every byte of a
// control character and every backslash written as \xNN. UnescapePath is its inverse, so no two paths look the same.
func EscapePath(raw string) string {
	plain := utf8.ValidString(raw) && !strings.ContainsFunc(raw, escaped)
	if plain {
		return raw
	}
	var b strings.Builder
	for i := 0; i < len(raw); {
		r, n := utf8.DecodeRuneInString(raw[i:])
		if r == utf8.RuneError && n == 1 || escaped(r) {
			for _, c := range []byte(raw[i : i+n]) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		} else {
			b.WriteString(raw[i : i+n])
		}
		i += n
	}
	return b.String()
}

func escaped(r rune) bool { return r == '\\' || unicode.IsControl(r) }

// UnescapePath reads what EscapePath wrote, and nothing else.
func UnescapePath(s string) (string, error) {
	raw := s
	if strings.Contains(s, `\`) {
		var b strings.Builder
		for rest := s; rest != ""; {
			before, after, found := strings.Cut(rest, `\`)
			b.WriteString(before)
			if !found {
				break
			}
			if len(after) < 3 || after[0] != 'x' {
				return "", fmt.Errorf("reading path %q: a backslash that begins no \\xNN", s)
			}
			c, err := strconv.ParseUint(after[1:3], 16, 8)
			if err != nil {
				return "", fmt.Errorf("reading path %q: %w", s, err)
			}
			b.WriteByte(byte(c))
			rest = after[3:]
		}
		raw = b.String()
	}
	if EscapePath(raw) != s {
		return "", fmt.Errorf("reading path %q: not as it is written", s)
	}
	return raw, nil
}
