package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/trkr-dev/trkr-validate/config"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// failure is an error in words: what a person reads as error: and hint: lines, and a program as the document's error.
type failure struct {
	code    string
	step    string
	reasons []reason
	exit    exitCode
}

// reason is one error: line and the hint: lines that belong to it.
type reason struct {
	text  string
	hints []string
}

// message is all reasons in one text.
func (f failure) message() string {
	lines := make([]string, len(f.reasons))
	for i, r := range f.reasons {
		lines[i] = r.text
	}
	return strings.Join(lines, "\n")
}

// hints are those of all reasons, each once.
func (f failure) hints() []string {
	all := []string{}
	for _, r := range f.reasons {
		for _, h := range r.hints {
			if !slices.Contains(all, h) {
				all = append(all, h)
			}
		}
	}
	return all
}

// describe chooses the words for an error. It is the only place that does.
func describe(err error) failure {
	if c, ok := errors.AsType[*config.Error](err); ok {
		f := failure{code: "config_invalid", exit: exitUsage}
		for _, p := range c.Problems {
			r := reason{text: p.String()}
			if p.Hint != "" {
				r.hints = []string{p.Hint}
			}
			f.reasons = append(f.reasons, r)
		}
		return f
	}
	if refusals := refusalsIn(err); len(refusals) > 0 {
		f := failure{code: string(refusals[0].Reason), exit: exitRefused}
		for _, r := range refusals {
			f.reasons = append(f.reasons, reason{r.Error(), r.Hints})
		}
		return f
	}
	of := fault.Of(err)
	f := failure{code: of.Code, reasons: []reason{{of.Error(), of.Hints}}, exit: exitError}
	if of.Usage {
		f.exit = exitUsage
	}
	return f
}

// refusalsIn finds every refusal in err's tree, in order.
func refusalsIn(err error) []*verdict.Refusal {
	switch e := err.(type) {
	case nil:
		return nil
	case *verdict.Refusal:
		return []*verdict.Refusal{e}
	case interface{ Unwrap() []error }:
		var all []*verdict.Refusal
		for _, one := range e.Unwrap() {
			all = append(all, refusalsIn(one)...)
		}
		return all
	default:
		return refusalsIn(errors.Unwrap(err))
	}
}

// print writes the error: and hint: lines. A hint that several reasons share stands once, after the last of them.
func (f failure) print(w io.Writer) {
	for i, r := range f.reasons {
		say(w, "error: ", r.text)
		for _, hint := range r.hints {
			again := slices.ContainsFunc(f.reasons[i+1:], func(later reason) bool { return slices.Contains(later.hints, hint) })
			if !again {
				say(w, "hint: ", hint)
			}
		}
	}
}

// say writes text behind a prefix, further lines indented below it.
func say(w io.Writer, prefix, text string) {
	text = strings.TrimRight(visible(text), "\n")
	fmt.Fprintln(w, prefix+strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", len(prefix))))
}

// visible makes text safe for a terminal: what it holds may come from the product, whose escape sequences must not
// move a cursor or hide a line. Tabs and newlines stay.
func visible(s string) string {
	if !strings.ContainsFunc(s, hidden) {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case !hidden(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// hidden tells whether a terminal would act on r or reorder text for it.
func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x2069, r == 0xfeff:
		return true
	}
	return false
}
