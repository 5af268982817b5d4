//go:build unix

package sandboxtest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/sandbox"
)

// kind is what it means when a test of the suite fails.
type kind int

const (
	escape   kind = iota // something got in or out
	leftover             // something stayed
	cause                // something was told otherwise than it was
	kinds
)

// score counts what was tried on an engine, and what came of it.
type score struct {
	attempts int
	failed   [kinds]int
}

// String is a row of the table that scripts/torture prints.
func (s *score) String() string {
	return fmt.Sprintf("row\tattack\t%d\t%d\t%d\t%d\t-\t-", s.attempts, s.failed[escape], s.failed[leftover], s.failed[cause])
}

// do runs one test and counts it.
func (s *suite) do(t *testing.T, k kind, name string, f func(*testing.T)) {
	ran := false
	ok := t.Run(name, func(t *testing.T) { ran = true; f(t) })
	if ran {
		s.score.attempts++
	}
	if !ok {
		s.score.failed[k]++
	}
}

// tries runs a verb that attacks: nothing of it may work but what is in but, and it must come to its end.
func (s *suite) tries(t *testing.T, se sandbox.Session, words []string, but ...string) {
	t.Helper()
	tried := 0
	for line := range strings.Lines(says(t, se, words...)) {
		line = strings.TrimSpace(line)
		what, worked := strings.CutPrefix(line, "worked: ")
		if worked && len(but) > 0 && what == but[0] {
			but = but[1:]
		} else if worked {
			t.Error(line)
		} else if n, ok := strings.CutPrefix(line, "tried "); ok {
			tried, _ = strconv.Atoi(n)
		}
	}
	if tried == 0 || len(but) > 0 {
		t.Errorf("%s: %d attempts; %q did not work", words[0], tried, but)
	}
	s.score.attempts += tried
}
