package probe

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
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
		for _, c := range a.Outcomes {
			forms = append(forms, fmt.Sprintf("%T", c.Outcome))
		}
	}
	for _, o := range []Outcome{
		Exits{}, ExitsNonZero{}, Succeeds{}, Fails{}, Prints{}, PrintsExactly{}, PrintsNothing{}, DoesNotPrint{}, PrintsLineMatching{},
		PrintsLines{}, UsageMessage{}, ErrorMessage{}, Creates{}, Removes{}, Unchanged{}, Within{},
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
