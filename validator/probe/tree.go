package probe

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Assertion is an assertion that was understood completely. String says it back in canonical words, which parse to
// the same tree; spans are the only thing that differs. Its parts come about in this order.
type Assertion struct {
	Given    []Given   // what is put into the working directory first
	Setup    []Command // run next, in order; each must succeed
	When     []When    // holds when the command is run
	Command  Command
	Dir      string   // below the working directory, where the command is run; empty: there
	Env      []string // NAME=value, sorted; NAME alone is a variable that is not set
	Input    Input
	Outcomes []Clause // at least one, in the order of the text; their paths begin in Dir
}

// Span is a place in the assertion's text, in bytes.
type Span struct{ Pos, End int }

// Command is what stands between backticks: the words of a program and its arguments, or a text for the shell.
type Command struct {
	Text string
	Span Span
}

// Input is what a command reads on standard input.
type Input struct {
	Given bool   // false: nothing was said, and it finds the end at once
	Text  string // exactly these bytes; empty: "with empty input"
}

// Given is a file or a directory that is made before anything runs.
type Given struct {
	Type string // "file" or "dir"
	Path string
	Any  bool   // of a file: what it holds was not said
	Text string // of a file, else
	Mode int    // of a file: permission bits, -1 where nothing was said
}

// When is a path that has to be there, or must not be, when the command is run. One that has to be there and is not is
// made; one that must not be is never removed.
type When struct {
	Type   string // "file", "dir", or "" for either
	Path   string
	Exists bool
}

// Clause is one outcome and where it stands.
type Clause struct {
	Outcome Outcome
	Span    Span
}

func (a *Assertion) String() string {
	var b strings.Builder
	if len(a.Given) > 0 {
		b.WriteString("given " + joined(a.Given) + ", ")
	}
	if len(a.Setup) > 0 {
		b.WriteString("after " + joined(a.Setup) + ", ")
	}
	if len(a.When) > 0 {
		b.WriteString("when " + joined(a.When) + ", ")
	}
	b.WriteString(a.Command.String())
	if a.Dir != "" {
		b.WriteString(" in the directory " + literal(a.Dir))
	}
	b.WriteString(a.environ())
	switch {
	case a.Input.Given && a.Input.Text == "":
		b.WriteString(" with empty input")
	case a.Input.Given:
		b.WriteString(" with input " + literal(a.Input.Text))
	}
	if hasSubject(a.Outcomes[0].Outcome) {
		b.WriteString(":")
	}
	for i, c := range a.Outcomes {
		w, within := c.Outcome.(Within)
		if i > 0 && (!within || w.Ends) {
			b.WriteString(",")
		}
		b.WriteString(" " + c.Outcome.String())
	}
	return b.String()
}

// hasSubject reports whether an outcome is said with a subject of its own, and not of the command.
func hasSubject(o Outcome) bool {
	switch o.(type) {
	case Line, Output, Exists, Missing, Holds, IsEmpty, HasMode, IsExecutable, HasLines, HoldsJSON:
		return true
	}
	return false
}

func (a *Assertion) environ() string {
	var b strings.Builder
	var set []string
	for _, e := range a.Env {
		if strings.Contains(e, "=") {
			set = append(set, literal(e))
		} else {
			b.WriteString(" with " + literal(e) + " unset")
		}
	}
	if len(set) > 0 {
		b.WriteString(" with " + strings.Join(set, " and ") + " set")
	}
	return b.String()
}

func joined[T fmt.Stringer](list []T) string {
	texts := make([]string, len(list))
	for i, x := range list {
		texts[i] = x.String()
	}
	return strings.Join(texts, " and ")
}

func (g Given) String() string {
	switch {
	case g.Type == "dir":
		return "a directory " + literal(g.Path)
	case g.Any:
		return "a file " + literal(g.Path) + g.mode()
	case g.Text == "":
		return "an empty file " + literal(g.Path) + g.mode()
	default:
		return "a file " + literal(g.Path) + " containing " + literal(g.Text) + g.mode()
	}
}

func (g Given) mode() string {
	if g.Mode < 0 {
		return ""
	}
	return fmt.Sprintf(" with mode %04o", g.Mode)
}

func (w When) String() string {
	if w.Exists {
		return noun(w.Type) + literal(w.Path) + " exists"
	}
	return noun(w.Type) + literal(w.Path) + " does not exist"
}

// String fences the command with more backticks than it holds in a row.
func (c Command) String() string {
	longest := 0
	for i := 0; i < len(c.Text); i++ {
		n := run(c.Text[i:])
		longest, i = max(longest, n), i+n
	}
	if longest == 0 {
		return "`" + c.Text + "`"
	}
	fence := strings.Repeat("`", longest+1)
	return fence + " " + c.Text + " " + fence
}

func (s Stream) String() string {
	if s == AnyStream {
		return ""
	}
	return " to " + string(s)
}

func noun(typ string) string {
	switch typ {
	case "file":
		return "the file "
	case "dir":
		return "the directory "
	default:
		return ""
	}
}

// each writes texts one after the other, the last behind a word.
func each(texts []string, last string) string {
	list := make([]string, len(texts))
	for i, t := range texts {
		list[i] = literal(t)
	}
	n := len(list) - 1
	if n < 1 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:n], ", ") + " " + last + " " + list[n]
}

// literal writes a text so that it is read back byte for byte.
func literal(s string) string {
	plain := utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return r == '`' || r == '\\' || !unicode.IsPrint(r)
	})
	if plain {
		return "`" + s + "`"
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case strings.IndexByte("\n\t\r\\\"", s[i]) >= 0:
			b.WriteString(`\` + string(`ntr\"`[strings.IndexByte("\n\t\r\\\"", s[i])]))
		case r == utf8.RuneError && size == 1 || !unicode.IsPrint(r):
			for _, c := range []byte(s[i : i+size]) {
				b.WriteString(`\x` + string("0123456789abcdef"[c>>4]) + string("0123456789abcdef"[c&15]))
			}
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String() + `"`
}
