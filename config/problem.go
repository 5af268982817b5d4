package config

import (
	"fmt"
	"strings"
)

// Problem is one thing wrong in a configuration.
type Problem struct {
	Where string // the file, the variable or the flag
	Line  int    // of the file, from 1; 0 elsewhere
	Key   string // "validate.limits.memory"; empty where it concerns the whole
	Text  string // what is wrong
	Hint  string // what to write instead, or empty
}

func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Where)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	if p.Key != "" {
		b.WriteString(": " + p.Key)
	}
	return b.String() + ": " + p.Text
}

// Error holds every problem of a configuration, a file's in the order of its lines.
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
