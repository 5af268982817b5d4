package contract

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxSize is the most bytes that a contract's source may have: a contract is read by people.
	MaxSize = 1 << 20
	// maxProblems keeps the report of a text that is no contract at all readable.
	maxProblems = 100
)

// line is one line of the source without its end.
type line struct {
	n    int // from 1
	text string
}

func (l line) blank() bool    { return strings.TrimSpace(l.text) == "" }
func (l line) indented() bool { return l.text != "" && (l.text[0] == ' ' || l.text[0] == '\t') }

func splitLines(data []byte) []line {
	text := string(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	var lines []line
	for part := range strings.SplitSeq(text, "\n") {
		lines = append(lines, line{n: len(lines) + 1, text: strings.TrimSuffix(part, "\r")})
	}
	return lines
}

// builder collects assertions and problems. An assertion that has a problem is kept as well, so that what depends on
// it (its continuation, a second one of its id) is not reported twice.
type builder struct {
	assertions []Assertion
	problems   []Problem
	warnings   []Problem
}

func (b *builder) problem(n int, format string, args ...any) {
	b.problems = append(b.problems, Problem{Line: n, Text: fmt.Sprintf(format, args...)})
}

func (b *builder) warn(n int, format string, args ...any) {
	b.warnings = append(b.warnings, Problem{Line: n, Text: fmt.Sprintf(format, args...)})
}

func (b *builder) add(id, text string, n int) {
	b.assertions = append(b.assertions, Assertion{ID: id, Text: strings.TrimSpace(text), Line: n})
}

func (b *builder) extend(text string) {
	last := &b.assertions[len(b.assertions)-1]
	last.Text = strings.TrimSpace(last.Text + " " + strings.TrimSpace(text))
}

// finish checks what needs whole assertions and gives the contract, or every problem in the order of lines.
func (b *builder) finish() (Contract, error) {
	first := make(map[string]int, len(b.assertions))
	for _, a := range b.assertions {
		if at, ok := first[a.ID]; ok {
			b.problem(a.Line, "%s is used twice, first in line %d", a.ID, at)
		} else {
			first[a.ID] = a.Line
		}
		if a.Text == "" {
			b.problem(a.Line, "%s says nothing", a.ID)
		}
		if n := Units(a.Text); n > MaxText {
			b.problem(a.Line, "%s has %d characters, at most %d are allowed", a.ID, n, MaxText)
		}
		if other := secondID().FindString(a.Text); other != "" {
			b.problem(a.Line, "the text of %s holds %q: an assertion needs a line of its own", a.ID, other)
		}
		if why := hidden(a.Text); why != "" {
			b.problem(a.Line, "%s holds %s", a.ID, why)
		}
	}
	if len(b.assertions) == 0 && len(b.problems) == 0 {
		b.problem(0, "there is no assertion: a contract has at least one line like %q", "VAL-1: `app --help` exits 0")
	}
	if len(b.problems) > 0 {
		return Contract{}, &Error{Problems: bounded(b.problems)}
	}
	return Contract{Assertions: b.assertions}, nil
}

// hidden names what a person who reads s would not see, or would see as something else.
func hidden(s string) string {
	if !utf8.ValidString(s) {
		return "bytes that are not UTF-8"
	}
	for _, r := range s {
		switch {
		case unicode.IsControl(r) && r != '\t',
			r == '\u2028', r == '\u2029', // line ends
			unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d': // direction, zero width; joiners are spelling
			return fmt.Sprintf("the character U+%04X, which nobody sees", r)
		}
	}
	return ""
}

func bounded(problems []Problem) []Problem {
	slices.SortStableFunc(problems, func(a, b Problem) int { return a.Line - b.Line })
	if rest := len(problems) - maxProblems; rest > 0 {
		problems = append(problems[:maxProblems:maxProblems], Problem{Text: fmt.Sprintf("and %d more", rest)})
	}
	return problems
}

// shown quotes s for a message, cut to what fits in one.
func shown(s string) string {
	s = strings.TrimSpace(s)
	if runes := []rune(s); len(runes) > 60 {
		s = string(runes[:60]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
