// Package redact takes secrets out of byte streams, also where a secret is cut by the border of two writes.
package redact

import (
	"io"
	"slices"
	"strings"
)

// Mark stands where a secret was.
const Mark = "[REDACTED]"

// minSecret keeps everyday values ("1", "true") from garbling every log.
const minSecret = 6

// Redactor knows the secrets of one run. The zero value knows none. It is safe for concurrent use.
type Redactor struct {
	forms  []form // longest first
	starts [256]bool
}

// New makes a redactor. A value of fewer than six bytes is no secret. A secret is found as it is, with any of its bytes
// spelled as a URL, JSON or this program's own logs spell them (%2F, +, \u002f, \x0a), and in base64 of both alphabets,
// wherever it stands in what was encoded and broken into lines or not. Of a secret of several lines each line is one.
func New(secrets ...string) *Redactor {
	r := &Redactor{}
	add := func(f form) {
		if slices.Contains(r.forms, f) {
			return
		}
		r.forms = append(r.forms, f)
		for b := range 256 {
			r.starts[b] = r.starts[b] || f.starts(byte(b))
		}
	}
	for _, s := range secrets {
		for _, part := range append(strings.FieldsFunc(s, func(c rune) bool { return c == '\n' || c == '\r' }), s) {
			if len(part) < minSecret {
				continue
			}
			add(form{part, spelled})
			for _, text := range encoded(part) {
				add(form{text, wrapped})
			}
		}
	}
	slices.SortStableFunc(r.forms, func(a, b form) int { return len(b.text) - len(a.text) })
	return r
}

// String returns s without secrets.
func (r *Redactor) String(s string) string {
	out, _ := r.scan(s, true)
	return out
}

// Writer returns a writer that passes on to w what is no secret. Close writes what was held back because it could
// have become one; it does not close w.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser { return &writer{r: r, w: w} }

// scan replaces secrets in s. Unless final, it stops before an end of s that may be the beginning of a secret and
// returns that end as held.
func (r *Redactor) scan(s string, final bool) (out, held string) {
	if len(r.forms) == 0 {
		return s, ""
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if !r.starts[s[i]] {
			b.WriteByte(s[i])
			i++
			continue
		}
		length := 0
		for _, f := range r.forms {
			n, short := f.match(s[i:])
			if short && !final {
				return b.String(), s[i:]
			}
			if length = n; n > 0 {
				break
			}
		}
		if length == 0 {
			b.WriteByte(s[i])
			i++
			continue
		}
		b.WriteString(Mark)
		i += length
	}
	return b.String(), ""
}

type writer struct {
	r    *Redactor
	w    io.Writer
	held string
}

func (w *writer) Write(p []byte) (int, error) {
	out, held := w.r.scan(w.held+string(p), false)
	w.held = held
	if _, err := io.WriteString(w.w, out); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *writer) Close() error {
	out, _ := w.r.scan(w.held, true)
	w.held = ""
	_, err := io.WriteString(w.w, out)
	return err
}
