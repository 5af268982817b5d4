package redact

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"
)

// form is one thing to look for.
type form struct {
	text string
	kind kind
}

type kind int

const (
	spelled kind = iota // each character as it is or escaped
	wrapped             // base64: as it is, with line breaks in it
)

// starts reports whether the form may begin with b.
func (f form) starts(b byte) bool {
	return b == f.text[0] || f.kind == spelled && (b == '%' || b == '\\' || b == '+' && f.text[0] == ' ')
}

// match tells how many bytes of s the form takes at its beginning; 0 where it is not there. short: that may be otherwise
// once more has come.
func (f form) match(s string) (n int, short bool) {
	if f.kind == spelled {
		return spell(s, f.text)
	}
	for i := 0; i < len(f.text); i++ {
		if i > 0 {
			n += lineBreak(s[n:])
		}
		if n == len(s) {
			return 0, true
		}
		if s[n] != f.text[i] {
			return 0, false
		}
		n++
	}
	return n, false
}

// lineBreak is the length of one at the beginning of s, also where only its first half has come.
func lineBreak(s string) int {
	switch {
	case strings.HasPrefix(s, "\r\n"):
		return 2
	case strings.HasPrefix(s, "\n"), s == "\r":
		return 1
	}
	return 0
}

// spell matches a text of which any character may be escaped. Where a character can be read in two ways, both are
// tried, and the longer one counts: a text may itself hold escapes.
func spell(s, text string) (n int, short bool) {
	for text != "" {
		if n == len(s) {
			return 0, true
		}
		c := s[n]
		if c == text[0] && c != '%' && c != '\\' { // there is but one way to read it
			n, text = n+1, text[1:]
			continue
		}
		whole := 0
		for _, way := range []func(string, string) (int, int, bool){plainly, percent, backslash} {
			took, of, more := way(s[n:], text)
			short = short || more
			switch {
			case took == 0:
			case of == len(text):
				whole = max(whole, n+took)
			default:
				rest, more := spell(s[n+took:], text[of:])
				if short = short || more; rest > 0 {
					whole = max(whole, n+took+rest)
				}
			}
		}
		return whole, short
	}
	return n, false
}

// Each way to read the beginning of s as that of text tells how many bytes of either it takes: 0 where it is none, and
// more where s ends in the middle of it.

func plainly(s, text string) (took, of int, more bool) {
	if s[0] == text[0] {
		return 1, 1, false
	}
	return 0, 0, false
}

// percent reads %2f, and + for a space.
func percent(s, text string) (took, of int, more bool) {
	if s[0] == '+' && text[0] == ' ' {
		return 1, 1, false
	}
	return digits(s, "%", 2, text[:1])
}

// backslash reads \n, \", \x0a and \u000a.
func backslash(s, text string) (took, of int, more bool) {
	if s[0] != '\\' {
		return 0, 0, false
	}
	if len(s) == 1 {
		return 0, 0, true
	}
	switch s[1] {
	case 'x':
		return digits(s, `\x`, 2, text[:1])
	case 'u':
		r, size := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError || r > 0xffff {
			return 0, 0, false
		}
		took, _, more = digits(s, `\u`, 4, string(r))
		return took, size, more
	}
	if i := strings.IndexByte(`ntrbf"\/'`, s[1]); i >= 0 && "\n\t\r\b\f\"\\/'"[i] == text[0] {
		return 2, 1, false
	}
	return 0, 0, false
}

// digits reads a number in n hexadecimal digits behind a mark, where it is that of the character want: a byte where n
// is 2, else a rune.
func digits(s, mark string, n int, want string) (took, of int, more bool) {
	if !strings.HasPrefix(s, mark) {
		return 0, 0, false
	}
	value := uint64(want[0])
	if n > 2 {
		r, _ := utf8.DecodeRuneInString(want)
		value = uint64(r)
	}
	hex := strconv.FormatUint(value, 16)
	hex = strings.Repeat("0", n-len(hex)) + hex
	have := s[len(mark):min(len(s), len(mark)+n)]
	if !strings.EqualFold(have, hex[:len(have)]) {
		return 0, 0, false
	}
	if len(have) < n {
		return 0, 0, true
	}
	return len(mark) + n, 1, false
}

// encoded are the parts of base64 texts that only a secret in what was encoded brings about: three, by how many bytes
// stand before it in its group of three, in both alphabets.
func encoded(secret string) (forms []string) {
	for before := range 3 {
		// The first and the last character hold bits of what stands beside the secret.
		first := (8*before + 5) / 6
		last := 8 * (before + len(secret)) / 6
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			forms = append(forms, e.EncodeToString([]byte("\x00\x00\x00"[:before] + secret))[first:last])
		}
	}
	return forms
}
