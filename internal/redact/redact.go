// Package redact takes secrets out of byte streams, also where a secret is cut by the border of two writes.
package redact

import (
	"encoding/base64"
	"encoding/json"
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
	secrets []string // longest first
	starts  [256]bool
}

// New makes a redactor. A value of fewer than six bytes is no secret. A secret is also found in its JSON spelling and
// in base64, on one line, wherever it stands in what was encoded.
func New(secrets ...string) *Redactor {
	r := &Redactor{}
	for _, s := range secrets {
		if len(s) < minSecret {
			continue
		}
		quoted, _ := json.Marshal(s) // a string always marshals
		for _, form := range append(encoded(s), s, string(quoted[1:len(quoted)-1])) {
			if !slices.Contains(r.secrets, form) {
				r.secrets = append(r.secrets, form)
				r.starts[form[0]] = true
			}
		}
	}
	slices.SortFunc(r.secrets, func(a, b string) int { return len(b) - len(a) })
	return r
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
	if len(r.secrets) == 0 {
		return s, ""
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if !r.starts[s[i]] {
			b.WriteByte(s[i])
			i++
			continue
		}
		rest, match := s[i:], ""
		for _, secret := range r.secrets {
			if !final && len(rest) < len(secret) && strings.HasPrefix(secret, rest) {
				return b.String(), rest
			}
			if strings.HasPrefix(rest, secret) {
				match = secret
				break
			}
		}
		if match == "" {
			b.WriteByte(s[i])
			i++
			continue
		}
		b.WriteString(Mark)
		i += len(match)
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
