package probe

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Assertion is an assertion that was understood completely. String says it back in canonical words, which parse to
// the same tree; spans are the only thing that differs.
type Assertion struct {
	Setup    []Command // run first, in order; each must succeed
	Command  Command
	Input    Input
	Outcomes []Clause // at least one, in the order of the text
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

// Clause is one outcome and where it stands.
type Clause struct {
	Outcome Outcome
	Span    Span
}

// Outcome is what an assertion says about an ended command.
type Outcome interface {
	String() string // canonical
	judge(s *seen) judgement
}

// Stream says where output has to be.
type Stream string

// AnyStream means standard output or standard error; what an outcome makes of that is its own.
const (
	AnyStream Stream = ""
	Stdout    Stream = "stdout"
	Stderr    Stream = "stderr"
)

// The outcomes.
type (
	// Exits is met by this exit code.
	Exits struct{ Code int }
	// ExitsNonZero is met by any other code than 0.
	ExitsNonZero struct{}
	// Succeeds is met by exit code 0.
	Succeeds struct{}
	// Fails is met like ExitsNonZero.
	Fails struct{}

	// Prints is met by output that holds Text.
	Prints struct {
		Text string
		To   Stream
	}
	// PrintsExactly is met by output that is Text; a final line end is ignored unless Text has one. With AnyStream
	// one stream is Text and the other is empty.
	PrintsExactly struct {
		Text string
		To   Stream
	}
	// PrintsNothing is met by no output at all.
	PrintsNothing struct{ To Stream }
	// DoesNotPrint is met by output that does not hold Text.
	DoesNotPrint struct {
		Text string
		To   Stream
	}
	// PrintsLineMatching is met by a line that Pattern matches.
	PrintsLineMatching struct {
		Pattern string // Go's regular expressions
		Fold    bool   // /.../i
		To      Stream
	}
	// PrintsLines is met by exactly N lines. With AnyStream one stream has them and the other is empty.
	PrintsLines struct {
		N  int
		To Stream
	}
	// UsageMessage is met by a line that starts with "usage", in any case.
	UsageMessage struct{ To Stream }
	// ErrorMessage is met by something on standard error.
	ErrorMessage struct{}

	// Creates is met by a path that was not there before and is there afterwards.
	Creates struct {
		Type       string // "file", "dir", or "" for either
		Path       string
		Containing string // of a file; empty: anything
	}
	// Removes is met by a path that was there before and is not afterwards.
	Removes struct {
		Type string
		Path string
	}
	// Unchanged is met by a file that is afterwards what it was before.
	Unchanged struct{ Path string }

	// Within is met by a command that ends in time. Where Ends is false it stands behind an outcome that may come
	// about before the end: a command that took longer does not show that the outcome was late.
	Within struct {
		Limit time.Duration
		Ends  bool
	}
)

func (a *Assertion) String() string {
	var b strings.Builder
	for i, c := range a.Setup {
		b.WriteString([]string{"after ", " and "}[min(i, 1)] + c.String())
	}
	if len(a.Setup) > 0 {
		b.WriteString(", ")
	}
	b.WriteString(a.Command.String())
	switch {
	case a.Input.Given && a.Input.Text == "":
		b.WriteString(" with empty input")
	case a.Input.Given:
		b.WriteString(" with input " + literal(a.Input.Text))
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

func (o Exits) String() string         { return "exits " + strconv.Itoa(o.Code) }
func (ExitsNonZero) String() string    { return "exits non-zero" }
func (Succeeds) String() string        { return "succeeds" }
func (Fails) String() string           { return "fails" }
func (o Prints) String() string        { return "prints " + literal(o.Text) + o.To.String() }
func (o PrintsExactly) String() string { return "prints exactly " + literal(o.Text) + o.To.String() }
func (o PrintsNothing) String() string { return "prints nothing" + o.To.String() }
func (o DoesNotPrint) String() string  { return "does not print " + literal(o.Text) + o.To.String() }
func (o UsageMessage) String() string  { return "prints a usage message" + o.To.String() }
func (ErrorMessage) String() string    { return "prints an error message" }
func (o Removes) String() string       { return "removes " + noun(o.Type) + literal(o.Path) }
func (o Unchanged) String() string     { return "leaves " + literal(o.Path) + " unchanged" }
func (o PrintsLineMatching) String() string {
	flag := ""
	if o.Fold {
		flag = "i"
	}
	return "prints a line matching " + Command{Text: "/" + o.Pattern + "/" + flag}.String() + o.To.String()
}

func (o PrintsLines) String() string {
	if o.N == 1 {
		return "prints 1 line" + o.To.String()
	}
	return "prints " + strconv.Itoa(o.N) + " lines" + o.To.String()
}

func (o Creates) String() string {
	s := "creates " + noun(o.Type) + literal(o.Path)
	if o.Containing != "" {
		s += " containing " + literal(o.Containing)
	}
	return s
}

func (o Within) String() string {
	if o.Ends {
		return "finishes within " + limit(o.Limit)
	}
	return "within " + limit(o.Limit)
}

func limit(d time.Duration) string {
	if d%time.Second == 0 {
		return strconv.FormatInt(int64(d/time.Second), 10) + "s"
	}
	return strconv.FormatInt(int64(d/time.Millisecond), 10) + "ms"
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
