package probe

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/trkr-dev/trkr-validate/sandbox"
)

// maxEvidence bounds one criterion's evidence, in bytes.
const maxEvidence = 600

// quote shows bytes as one safe line between double quotes.
func quote(b []byte, limit int) string { return pieces(string(b), limit, strconv.Quote) }

// safe shows a text as one safe line as it is, but for what is not printable.
func safe(s string, limit int) string {
	return pieces(s, limit, func(s string) string {
		var b strings.Builder
		for _, part := range strings.SplitAfter(s, `"`) {
			text, isQuote := strings.CutSuffix(part, `"`)
			escaped := strconv.Quote(text)
			b.WriteString(strings.ReplaceAll(escaped[1:len(escaped)-1], `\\`, `\`))
			if isQuote {
				b.WriteByte('"')
			}
		}
		return b.String()
	})
}

// pieces shows about limit bytes of a text, the middle left out.
func pieces(s string, limit int, show func(string) string) string {
	if len(s) <= limit {
		return show(s)
	}
	cut, from := limit*2/3, len(s)-limit/3
	for n := 0; n < utf8.UTFMax && cut > 0 && !utf8.RuneStart(s[cut]); n++ {
		cut--
	}
	for n := 0; n < utf8.UTFMax && from < len(s) && !utf8.RuneStart(s[from]); n++ {
		from++
	}
	return fmt.Sprintf("%s…(%d bytes)…%s", show(s[:cut]), from-cut, show(s[from:]))
}

// clip cuts evidence at its bound.
func clip(s string) string {
	if len(s) <= maxEvidence {
		return s
	}
	const mark = "…"
	cut := maxEvidence - len(mark)
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + mark
}

// describe tells how a command ended, in words for people.
func describe(e sandbox.Exit) string {
	after := " after " + e.Elapsed.Round(time.Millisecond).String()
	detail := ""
	if e.Detail != "" {
		detail = " (" + safe(e.Detail, 120) + ")"
	}
	switch {
	case e.Cause == sandbox.CauseNotFound, e.Cause == sandbox.CauseNotExecutable:
		return string(e.Cause) + detail
	case e.Cause == sandbox.CauseDeadline:
		return "it did not end and was stopped" + after + detail
	case e.Cause == sandbox.CauseOutput:
		return "it printed more than the output limit and was stopped" + after + detail
	case e.Cause != "" && e.Cause != sandbox.CauseUnknown && e.Signal != "":
		return fmt.Sprintf("ended by the %s (%s)%s%s", e.Cause, e.Signal, after, detail)
	case e.Cause != "" && e.Cause != sandbox.CauseUnknown:
		return fmt.Sprintf("%s, exit code %d%s%s", e.Cause, e.Code, after, detail)
	case e.Signal != "":
		return "ended by " + e.Signal + after + detail
	default:
		return "exit code " + strconv.Itoa(e.Code) + after + detail
	}
}

// differing shows bytes from a little before the first that is not as the test's text, with a mark there.
func differing(b []byte, t Test, limit int) string {
	if t.Rel != Is && t.Rel != Begins || len(b) == 0 {
		return quote(b, limit)
	}
	n := 0
	for n < len(b) && n < len(t.Text) && b[n] == t.Text[n] {
		n++
	}
	if n == 0 {
		return quote(b, limit)
	}
	for n > 0 && n < len(b) && !utf8.RuneStart(b[n]) {
		n--
	}
	from := 0
	if n > limit/3 {
		from = n - limit/3
		for from < n && !utf8.RuneStart(b[from]) {
			from++
		}
	}
	shown := quote(b[from:n], limit) + " | " + quote(b[n:], limit-min(limit/2, n-from))
	if from > 0 {
		shown = "…" + shown
	}
	return fmt.Sprintf("%s (they differ at |, byte %d)", shown, n+1)
}
