package verdict

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxShown is how many characters of one text a person is shown; the record has all of it.
const maxShown = 1000

// code shows untrusted text as a code span: the one place of Markdown where nothing is a link, a mention, HTML or
// emphasis, for GitHub's own extensions too. What would end the line or hides on a screen is shown escaped. The
// result holds no line end and its first character is a backtick, so it must not stand first in its line.
func code(s string) string {
	text, rest := visible(s)
	if text == "" {
		return "(empty)"
	}
	ticks := "`"
	for strings.Contains(text, ticks) {
		ticks += "`" // at most three, as visible leaves no longer run than two
	}
	pad := ""
	if text[0] == '`' || text[len(text)-1] == '`' || text[0] == ' ' && text[len(text)-1] == ' ' {
		pad = " " // the one space on each side that Markdown takes off again
	}
	span := ticks + pad + text + pad + ticks
	if rest > 0 {
		span += fmt.Sprintf(" … and %d characters more, all in the record below", rest)
	}
	return span
}

// visible escapes what is no plain character and cuts to maxShown; rest is how many characters were cut.
func visible(s string) (text string, rest int) {
	var out strings.Builder
	n := 0
	for i := 0; i < len(s); {
		if n == maxShown {
			return out.String(), utf8.RuneCountInString(s[i:])
		}
		if s[i] == '`' {
			run := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
			run = min(run, maxShown-n)
			if run > 2 {
				out.WriteString(strings.Repeat(`\x60`, run)) // readers differ about long runs
			} else {
				out.WriteString(s[i : i+run])
			}
			n, i = n+run, i+run
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\r':
			out.WriteString(`\r`)
		case r == '\t':
			out.WriteString(`\t`)
		case unicode.IsPrint(r):
			out.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&out, `\x%02x`, r)
		default:
			fmt.Fprintf(&out, `\u{%x}`, r)
		}
		n, i = n+1, i+size
	}
	return out.String(), 0
}
