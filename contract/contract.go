// Package contract reads validation contracts: ordered lists of assertions, each an id and one sentence that a
// black-box tester can check. It is pure: bytes in, values out.
package contract

import (
	"fmt"
	"strings"
)

// Assertion is one line of a contract.
type Assertion struct {
	ID   string // "VAL-3" or "VAL-AUTH-2"
	Text string // one line, trimmed, at most MaxText characters
	Line int    // where it stood in its source, from 1
}

// MaxText is the most characters (UTF-16 units) that an assertion may have.
const MaxText = 512

// Contract is a valid contract: at least one assertion, ids unique. The zero value is not valid.
type Contract struct {
	Assertions []Assertion
}

// Problem is one thing wrong with a contract.
type Problem struct {
	Line int // from 1; 0 where it concerns the whole text
	Text string
}

func (p Problem) String() string {
	if p.Line == 0 {
		return p.Text
	}
	return fmt.Sprintf("line %d: %s", p.Line, p.Text)
}

// Error holds every problem found, in the order of their lines.
type Error struct {
	Problems []Problem
}

func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Lookup finds an assertion by its id.
func (c Contract) Lookup(id string) (Assertion, bool) {
	for _, a := range c.Assertions {
		if a.ID == id {
			return a, true
		}
	}
	return Assertion{}, false
}
