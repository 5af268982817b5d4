package probe

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
)

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

// Count says how many of something there have to be.
type Count struct {
	Cmp string // "" exactly, "at least", "at most"
	N   int
}

// Relation is what a text has to be to something that was printed or written.
type Relation string

// The relations. Of a pattern, Text is an expression of Go's.
const (
	Is       Relation = "is"
	Contains Relation = "contains"
	Begins   Relation = "starts with"
	Ends     Relation = "ends with"
	Matches  Relation = "matches"
)

// Test is one comparison with a text.
type Test struct {
	Rel  Relation
	Text string
	Fold bool // /.../i
}

// The outcomes that speak of a command's end.
type (
	// Exits is met by one of these exit codes.
	Exits struct{ Codes []int }
	// ExitsNonZero is met by any other code than 0.
	ExitsNonZero struct{}
	// Succeeds is met by exit code 0.
	Succeeds struct{}
	// Fails is met like ExitsNonZero.
	Fails struct{}
	// DoesNotCrash is met by an exit code of the program's own, whatever it is.
	DoesNotCrash struct{}
	// Within is met by a command that ends in time. Where Ends is false it stands behind an outcome that may come
	// about before the end: a command that took longer does not show that the outcome was late.
	Within struct {
		Limit time.Duration
		Ends  bool
	}
)

// The outcomes that speak of what is printed. With AnyStream one of the two streams has to be so, unless it says more.
type (
	// Prints is met by output that holds Text.
	Prints struct {
		Text string
		To   Stream
	}
	// PrintsOneOf is met by output that holds at least one of Texts.
	PrintsOneOf struct {
		Texts []string
		To    Stream
	}
	// PrintsInOrder is met by one stream that holds all Texts, where the first place of each is after the first place
	// of the one before it.
	PrintsInOrder struct {
		Texts []string
		To    Stream
	}
	// PrintsTimes is met by output that holds Text so often, not overlapping; both streams are counted together.
	PrintsTimes struct {
		Text  string
		Count Count
		To    Stream
	}
	// PrintsExactly is met by output that is Text; a final line end is ignored unless Text has one. With AnyStream
	// one stream is Text and the other is empty.
	PrintsExactly struct {
		Text string
		To   Stream
	}
	// PrintsNothing is met by no output at all.
	PrintsNothing struct{ To Stream }
	// PrintsSomething is met by output that is not only white space.
	PrintsSomething struct{ To Stream }
	// DoesNotPrint is met by output that does not hold Text.
	DoesNotPrint struct {
		Text string
		To   Stream
	}
	// PrintsLine is met by a line that Text is.
	PrintsLine struct {
		Text string
		To   Stream
	}
	// PrintsLineMatching is met by a line that Pattern matches.
	PrintsLineMatching struct {
		Pattern string // Go's regular expressions
		Fold    bool   // /.../i
		To      Stream
	}
	// NoLineMatching is met by output without such a line.
	NoLineMatching struct {
		Pattern string
		Fold    bool
		To      Stream
	}
	// PrintsLines is met by so many lines, or by so many that hold Containing. With AnyStream one stream has them and
	// the other is empty.
	PrintsLines struct {
		Count      Count
		Containing string
		To         Stream
	}
	// Line is met where the test holds for the line that Which names: "first", "last", "every" or a number from 1.
	// Of every line there has to be one. With AnyStream one stream has lines and the other is empty.
	Line struct {
		Which string
		Test  Test
		To    Stream
	}
	// Output is met where the test holds for everything printed, without its final line end, or with Not where it does
	// not. With AnyStream one stream is meant, and with Not both.
	Output struct {
		Test Test
		Not  bool
		To   Stream
	}
	// UsageMessage is met by a line that starts with "usage", in any case, with Containing in it or behind it.
	UsageMessage struct {
		To         Stream
		Containing string // empty: anything
	}
	// ErrorMessage is met by something on standard error.
	ErrorMessage struct{}
	// PrintsVersion is met by numbers between dots: two at least, or as semantic versions are written.
	PrintsVersion struct {
		Semantic bool
		To       Stream
	}
	// PrintsSorted is met by lines in this order.
	PrintsSorted struct {
		Descending bool
		To         Stream
	}
	// PrintsJSON is met by output that is such JSON. AnyStream is standard output.
	PrintsJSON struct {
		JSON JSON
		To   Stream
	}
	// PrintsSame is met by the output of the last setup command, on both streams.
	PrintsSame struct{}
)

func (o Exits) String() string {
	texts := make([]string, len(o.Codes))
	for i, c := range o.Codes {
		texts[i] = strconv.Itoa(c)
	}
	return "exits " + strings.Join(texts, " or ")
}
func (ExitsNonZero) String() string  { return "exits non-zero" }
func (Succeeds) String() string      { return "succeeds" }
func (Fails) String() string         { return "fails" }
func (DoesNotCrash) String() string  { return "does not crash" }
func (o Prints) String() string      { return "prints " + literal(o.Text) + o.To.String() }
func (o PrintsOneOf) String() string { return "prints " + each(o.Texts, "or") + o.To.String() }
func (o PrintsInOrder) String() string {
	return "prints " + each(o.Texts, "and") + " in this order" + o.To.String()
}
func (o PrintsTimes) String() string {
	times := o.Count.String() + " times"
	if o.Count.N == 1 {
		times = strings.TrimSpace(o.Count.Cmp + " once")
	}
	return "prints " + literal(o.Text) + " " + times + o.To.String()
}
func (o PrintsExactly) String() string   { return "prints exactly " + literal(o.Text) + o.To.String() }
func (o PrintsNothing) String() string   { return "prints nothing" + o.To.String() }
func (o PrintsSomething) String() string { return "prints something" + o.To.String() }
func (o DoesNotPrint) String() string    { return "does not print " + literal(o.Text) + o.To.String() }
func (o PrintsLine) String() string      { return "prints the line " + literal(o.Text) + o.To.String() }
func (o PrintsLineMatching) String() string {
	return "prints a line matching " + slashed(o.Pattern, o.Fold) + o.To.String()
}
func (o NoLineMatching) String() string {
	return "prints no line matching " + slashed(o.Pattern, o.Fold) + o.To.String()
}
func (o UsageMessage) String() string {
	s := "prints a usage message" + o.To.String()
	if o.Containing != "" {
		s += " containing " + literal(o.Containing)
	}
	return s
}
func (ErrorMessage) String() string { return "prints an error message" }
func (PrintsSame) String() string   { return "prints the same output" }

func (o PrintsSorted) String() string {
	if o.Descending {
		return "prints lines in descending order" + o.To.String()
	}
	return "prints sorted lines" + o.To.String()
}

func (o PrintsVersion) String() string {
	if o.Semantic {
		return "prints a semantic version" + o.To.String()
	}
	return "prints a version number" + o.To.String()
}

func (o PrintsLines) String() string {
	s := "prints " + o.Count.String() + plural(" line", o.Count.N)
	if o.Containing != "" {
		s += " containing " + literal(o.Containing)
	}
	return s + o.To.String()
}

func (o Line) String() string {
	line := map[string]string{"first": "the first line", "last": "the last line", "every": "every line"}[o.Which]
	return cmp.Or(line, "line "+o.Which) + of(o.To) + " " + o.Test.String()
}

func (o Output) String() string {
	return outputName(o.To) + " " + o.Test.says(o.Not)
}

func (o PrintsJSON) String() string { return "prints " + o.JSON.String() + o.To.String() }

func outputName(to Stream) string {
	if to == AnyStream {
		return "the output"
	}
	return string(to)
}

func of(to Stream) string {
	if to == AnyStream {
		return ""
	}
	return " of " + string(to)
}

func (c Count) String() string {
	if c.Cmp == "" {
		return strconv.Itoa(c.N)
	}
	return c.Cmp + " " + strconv.Itoa(c.N)
}

func (c Count) right(n int) bool {
	return c.Cmp == "" && n == c.N || c.Cmp == "at least" && n >= c.N || c.Cmp == "at most" && n <= c.N
}

func (t Test) String() string { return t.says(false) }

func (t Test) says(not bool) string {
	verb := string(t.Rel)
	if not {
		verb = map[Relation]string{
			Is: "is not", Contains: "does not contain", Begins: "does not start with", Ends: "does not end with", Matches: "does not match",
		}[t.Rel]
	}
	if t.Rel == Matches {
		return verb + " " + slashed(t.Text, t.Fold)
	}
	return verb + " " + literal(t.Text)
}

func slashed(text string, fold bool) string {
	if fold {
		return Command{Text: "/" + text + "/i"}.String()
	}
	return Command{Text: "/" + text + "/"}.String()
}

func plural(s string, n int) string {
	if n == 1 {
		return s
	}
	return s + "s"
}

func (o Within) String() string {
	if o.Ends {
		return "finishes within " + limit(o.Limit)
	}
	return "within " + limit(o.Limit)
}

func limit(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return fmt.Sprintf("%dms", d/time.Millisecond)
}
