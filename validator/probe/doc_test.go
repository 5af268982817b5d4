package probe

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// docs/probe.md is what people read: each of its examples is held, and each form of the language has one.
func TestDocumentedExamples(t *testing.T) {
	data, err := os.ReadFile("../../docs/probe.md")
	if err != nil {
		t.Fatal(err)
	}
	var forms []string
	read := 0
	for _, text := range blocks(string(data), "read") {
		a, err := Parse(text)
		if err != nil {
			t.Errorf("%s\n%v", text, err)
			continue
		}
		read++
		if again, err := Parse(a.String()); err != nil || !cmp.Equal(a, again, sameTree) {
			t.Errorf("%s\nis printed as %s\nwhich is read as %v, %v", text, a, again, err)
		}
		for _, c := range a.Outcomes {
			forms = append(forms, fmt.Sprintf("%T", c.Outcome))
		}
	}
	for _, o := range []Outcome{
		Exits{}, ExitsNonZero{}, Succeeds{}, Fails{}, DoesNotCrash{}, Within{},
		Prints{}, PrintsOneOf{}, PrintsInOrder{}, PrintsTimes{}, PrintsExactly{}, PrintsNothing{}, PrintsSomething{}, DoesNotPrint{}, PrintsLine{},
		PrintsLineMatching{}, NoLineMatching{}, PrintsLines{}, Line{}, Output{}, UsageMessage{}, ErrorMessage{}, PrintsVersion{}, PrintsSorted{},
		PrintsJSON{}, PrintsSame{}, Creates{}, DoesNotCreate{}, CreatesNothing{}, Writes{}, Removes{}, Keeps{}, Unchanged{}, Changes{}, Exists{},
		Missing{}, Holds{}, IsEmpty{}, HasMode{}, IsExecutable{}, HasLines{}, HoldsJSON{}, Answers{},
	} {
		if !slices.Contains(forms, fmt.Sprintf("%T", o)) {
			t.Errorf("%T has no example", o)
		}
	}
	lines := blocks(string(data), "not read")
	for i := 0; i+1 < len(lines); i += 2 {
		text, caret := lines[i], strings.Index(lines[i+1], "^")
		a, err := Parse(text)
		var e *NotUnderstood
		if !errors.As(err, &e) {
			t.Errorf("%s\nis read as %s", text, a)
		} else if _, err := Parse(e.Nearest); err != nil {
			t.Errorf("%s\nis near to %s\n%v", text, e.Nearest, err)
		} else if e.Span.Pos != caret {
			t.Errorf("%s\nstops at %d, not at %d: %v", text, e.Span.Pos, caret, err)
		}
	}
	if read < 40 || len(lines) < 20 {
		t.Errorf("%d examples that are read, %d lines that are not", read, len(lines))
	}
}

// blocks are the lines of all fences with this word behind them.
func blocks(doc, word string) (lines []string) {
	in := false
	for line := range strings.Lines(doc) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "```"+word:
			in = true
		case strings.HasPrefix(line, "```"):
			in = false
		case in:
			lines = append(lines, line)
		}
	}
	return lines
}
