package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/pattern"
)

var (
	plainLine  = pattern.Regexp(`^(` + idPattern + `):(?:[ \t]+(.*))?$`)
	startsAsID = pattern.Regexp(`(?i)^VAL ?[-_‐‑‒–—−] ?[A-Z0-9]`)
)

// What an indented line would continue. One that continues a mistake needs no report of its own.
const (
	nothing = iota
	assertion
	mistake
)

// Parse reads contract.md: lines "VAL-1: text", blank lines, and indented lines that continue the assertion before
// them; a byte order mark and CRLF are understood. Anything else is a problem. All problems are found at once: the
// error is an *Error.
func Parse(data []byte) (Contract, error) {
	b := parse(data)
	return b.finish()
}

func parse(data []byte) *builder {
	b := &builder{}
	if len(data) > MaxSize {
		b.problem(0, "the contract has %d bytes, at most %d are allowed", len(data), MaxSize)
		return b
	}
	before := nothing
	for _, l := range splitLines(data) {
		switch m := plainLine().FindStringSubmatch(l.text); {
		case l.blank():
		case m != nil:
			b.add(m[1], m[2], l.n)
			before = assertion
		case !l.indented():
			b.problem(l.n, "%s is not an assertion: %s", shown(l.text), remedy(l.text))
			before = mistake
		case startsAsID().MatchString(strings.TrimSpace(l.text)), startsAlmost(l.text):
			b.problem(l.n, "%s is indented: an assertion starts at the first column", shown(l.text))
			before = mistake
		case before == assertion:
			b.extend(l.text)
		case before == nothing:
			b.problem(l.n, "%s continues no assertion", shown(l.text))
		}
	}
	return b
}

func remedy(text string) string {
	if almost(text) {
		return `a line is "VAL-1: text" or "VAL-NAME-1: text", without decoration, with a colon and a space`
	}
	return `only lines like "VAL-1: text" and indented lines that continue them belong here`
}

// Format writes the contract canonically: one line "VAL-1: text" each. Parse(c.Format()) is c but for line numbers.
func (c Contract) Format() []byte {
	var out []byte
	for _, a := range c.Assertions {
		out = append(out, a.ID+": "+a.Text+"\n"...)
	}
	return out
}

// Digest names the contract by its content: "sha256:" and the hex digest of Format.
func (c Contract) Digest() string {
	sum := sha256.Sum256(c.Format())
	return "sha256:" + hex.EncodeToString(sum[:])
}
