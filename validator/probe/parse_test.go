package probe

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// sameTree compares trees; where they stood in the text is no part of what they mean.
var sameTree = cmp.Options{cmpopts.IgnoreTypes(Span{}), cmpopts.EquateEmpty()}

func tree(cmd string, outcomes ...Outcome) *Assertion {
	a := &Assertion{Command: Command{Text: cmd}}
	for _, o := range outcomes {
		a.Outcomes = append(a.Outcomes, Clause{Outcome: o})
	}
	return a
}

func exits(codes ...int) Exits { return Exits{codes} }

func (a *Assertion) after(setup ...string) *Assertion {
	for _, s := range setup {
		a.Setup = append(a.Setup, Command{Text: s})
	}
	return a
}

func (a *Assertion) reading(s string) *Assertion {
	a.Input = Input{Given: true, Text: s}
	return a
}

func TestParse(t *testing.T) {
	tests := []struct {
		text string
		want *Assertion
	}{
		{"`a` exits 0", tree("a", exits(0))},
		{"`a -x` exits 2.", tree("a -x", exits(2))},
		{"Running `a` exits 1", tree("a", exits(1))},
		{"running ` a ` exits with code 3 .", tree("a", exits(3))},
		{"`a` exits with exit code 4", tree("a", exits(4))},
		{"`a` EXITS with status 5", tree("a", exits(5))},
		{"`a` exits with 255", tree("a", exits(255))},
		{"`a` exits with code `2`", tree("a", exits(2))},
		{"`a` exits non-zero", tree("a", ExitsNonZero{})},
		{"`a` exits with a non-zero exit code", tree("a", ExitsNonZero{})},
		{"`a` succeeds", tree("a", Succeeds{})},
		{"`a` fails", tree("a", Fails{})},
		{"`a` should exit 0 and print `x`", tree("a", exits(0), Prints{"x", ""})},
		{"`a` must fail, print an error message and exit with code 2", tree("a", Fails{}, ErrorMessage{}, exits(2))},
		{"`a` should exit 0 and must not print `x`", tree("a", exits(0), DoesNotPrint{"x", ""})},
		{"`a` creates no file `x`", tree("a", DoesNotCreate{"file", "x"})},
		{"`a` prints nothing to stdout but prints `x` to stderr", tree("a", PrintsNothing{Stdout}, Prints{"x", Stderr})},
		{"`a` fails with exit code 2", tree("a", Fails{}, exits(2))},
		{"`a` fails with code 2 and an error message", tree("a", Fails{}, exits(2), ErrorMessage{})},
		{"`a` fails with an error message", tree("a", Fails{}, ErrorMessage{})},
		{"`a` with an error message", tree("a", ErrorMessage{})},
		{"`a` exits 2 with a usage message to stderr", tree("a", exits(2), UsageMessage{To: Stderr})},
		{"`a` exits 2 and prints the usage message on stdout and an error message on stderr", tree("a", exits(2), UsageMessage{To: Stdout}, ErrorMessage{})},
		{"`a` prints `x`", tree("a", Prints{"x", AnyStream})},
		{"`a` outputs \"x\" to standard output", tree("a", Prints{"x", Stdout})},
		{"`a` prints `x`, `y` and `z`", tree("a", Prints{"x", ""}, Prints{"y", ""}, Prints{"z", ""})},
		{"`a` prints `x` and `y` to stderr", tree("a", Prints{"x", Stderr}, Prints{"y", Stderr})},
		{"`a` prints `x` to stdout and `y` to stderr", tree("a", Prints{"x", Stdout}, Prints{"y", Stderr})},
		{"`a` prints `x`, exits 0", tree("a", Prints{"x", ""}, exits(0))},
		{"`a` prints `x` and it exits 0", tree("a", Prints{"x", ""}, exits(0))},
		{"`a` prints `x` and then exits 0", tree("a", Prints{"x", ""}, exits(0))},
		{"`a` prints `x`, then it fails", tree("a", Prints{"x", ""}, Fails{})},
		{"`a` prints exactly `x`", tree("a", PrintsExactly{"x", ""})},
		{`'a' prints nothing`, nil},
		{"`a` prints exactly \"x\\ny\\n\" to stdout", tree("a", PrintsExactly{"x\ny\n", Stdout})},
		{`` + "`a` prints \"\\x00\\\\\\\"\\t\\r\"", tree("a", Prints{"\x00\\\"\t\r", ""})},
		{"`a` prints nothing", tree("a", PrintsNothing{})},
		{"`a` prints nothing to stderr", tree("a", PrintsNothing{Stderr})},
		{"`a` does not print `x`", tree("a", DoesNotPrint{"x", ""})},
		{"`a` doesn't print `x` on stdout", tree("a", DoesNotPrint{"x", Stdout})},
		{"`a` prints a line matching `/^v\\d+$/`", tree("a", PrintsLineMatching{Pattern: `^v\d+$`})},
		{"`a` prints a line matching `/v/i` to stdout", tree("a", PrintsLineMatching{Pattern: "v", Fold: true, To: Stdout})},
		{"`a` prints 3 lines", tree("a", PrintsLines{Count: Count{N: 3}})},
		{"`a` prints exactly 1 line to stdout", tree("a", PrintsLines{Count: Count{N: 1}, To: Stdout})},
		{"`a` prints `3`", tree("a", Prints{"3", ""})},
		{"`a` prints `3` and exits 0", tree("a", Prints{"3", ""}, exits(0))},
		{"`a` creates `x`", tree("a", Creates{Path: "x"})},
		{"`a` creates the file `x/y.txt`", tree("a", Creates{Type: "file", Path: "x/y.txt"})},
		{"`a` creates a directory `./x/`", tree("a", Creates{Type: "dir", Path: "x"})},
		{"`a` creates `x/`", tree("a", Creates{Type: "dir", Path: "x"})},
		{"`a` creates `x/.`", tree("a", Creates{Type: "dir", Path: "x"})},
		{"`a` removes `x/`", tree("a", Removes{"dir", "x"})},
		{"`a` creates the file `x/`", nil},
		{"`a` creates `x/` containing `y`", nil},
		{"`a` leaves `x/` unchanged", nil},
		{"`a` creates `x` containing `y`", tree("a", Creates{Type: "file", Path: "x", Containing: "y"})},
		{"`a` removes the file `x`", tree("a", Removes{"file", "x"})},
		{"`a` leaves `x` unchanged", tree("a", Unchanged{"x"})},
		{"`a` leaves the file `x` unchanged", tree("a", Unchanged{"x"})},
		{"`a` exits 0 within 2s", tree("a", exits(0), Within{2 * time.Second, true})},
		{"`a` exits 0, within 1.5 seconds", tree("a", exits(0), Within{1500 * time.Millisecond, true})},
		{"`a` finishes within 500ms", tree("a", Within{500 * time.Millisecond, true})},
		{"`a` prints `x` within 1 minute", tree("a", Prints{"x", ""}, Within{time.Minute, false})},
		{"`a` with empty input exits 1", tree("a", exits(1)).reading("")},
		{"`a` with no input exits 1", tree("a", exits(1))},
		{"`a` with input `x` prints `X`", tree("a", Prints{"X", ""}).reading("x")},
		{"`a`, given \"x\\n\" on stdin, prints `X`", tree("a", Prints{"X", ""}).reading("x\n")},
		{"`a` given `x` on stdin prints `X`", tree("a", Prints{"X", ""}).reading("x")},
		{"after `s`, `a` exits 0", tree("a", exits(0)).after("s")},
		{"After `s` and `t`, running `a` exits 0", tree("a", exits(0)).after("s", "t")},
		{"after running `s`, `t` and then `u`, `a` exits 0", tree("a", exits(0)).after("s", "t", "u")},
		{"`` echo `a` `` prints `x`", tree("echo `a`", Prints{"x", ""})},
	}
	for _, tt := range tests {
		got, err := Parse(tt.text)
		if tt.want == nil {
			if err == nil {
				t.Errorf("%s\nwas read as %s", tt.text, got)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s\n%v", tt.text, err)
			continue
		}
		if diff := cmp.Diff(tt.want, got, sameTree); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.text, diff)
		}
		again, err := Parse(got.String())
		if err != nil {
			t.Errorf("%s\nis printed as %s\n%v", tt.text, got, err)
		} else if diff := cmp.Diff(got, again, sameTree); diff != "" {
			t.Errorf("%s\nis printed as %s (-first +second)\n%s", tt.text, got, diff)
		}
	}
}

// A word that could change the meaning makes the whole assertion unread. words is where the reading stops.
func TestNotUnderstood(t *testing.T) {
	tests := []struct{ text, words string }{
		{"", ""},
		{"it works", "it works"},
		{"a exits 0", "a exits 0"},
		{"`a`", ""},
		{"`a`.", "."},
		{"`a` exits", ""},
		{"`a` exits 0 unless `b` exists", "unless `b` exists"},
		{"`a` exits 0 only once", "only once"},
		{"`a` only exits 0", "only exits 0"},
		{"`a` never exits 0", "never exits 0"},
		{"`a` always exits 0", "always exits 0"},
		{"`a` not prints `x`", "not prints `x`"},
		{"`a` exits 0 except on Mondays", "except on Mondays"},
		{"`a` exits 0 and 1", "1"},
		{"`a` exits 256", "256"},
		{"`a` exits -1", "-1"},
		{"`a` exits with an error message", "message"},
		{"`a` exits not 0", "not 0"},
		{"`a` prints", ""},
		{"`a` prints x", "x"},
		{"`a` prints not `x`", "not `x`"},
		{"`a` prints `x` then prints `y`", "prints `y`"},
		{"`a` prints at most `x`", "at most `x`"},
		{"`a` prints 0 lines", "0 lines"},
		{"`a` prints 3 files", "files"},
		{"`a` prints `x` to a file", "a file"},
		{"`a` prints `x` to stdout and `y`", ""},
		{"`a` prints `x` to stdout and `y` and exits 0", "and exits 0"},
		{"`a` prints ``", "``"},
		{"`a` prints \"\"", `""`},
		{"`a` prints `x\\ny`", "`x\\ny`"},
		{"`a` prints \"x\\q\"", `"x\q"`},
		{"`a` prints `x", "`x"},
		{"`a` does not print `x` and `y`", "and `y`"},
		{"`a` prints an error message to stdout", "to stdout"},
		{"`a` prints a line matching `x`", "`x`"},
		{"`a` prints a line matching `/(/`", "`/(/`"},
		{"`a` prints a line matching `//`", "`//`"},
		{"`a` answers `GET /` with 200", "`GET /` with 200"},
		{"`a` creates the file `/etc/x`", "`/etc/x`"},
		{"`a` creates the file `../x`", "`../x`"},
		{"`a` creates the file `~/x`", "`~/x`"},
		{"`a` creates the file `x` not containing `y`", "not containing `y`"},
		{"`a` creates the directory `x` containing `y`", "the directory `x` containing `y`"},
		{"`a` leaves `x`", ""},
		{"`a` leaves `x` almost unchanged", "almost unchanged"},
		{"`a` leaves no file unchanged", "unchanged"},
		{"`a` exits 0 within 2", ""},
		{"`a` exits 0 within 2 beers", "beers"},
		{"`a` exits 0 within 0s", "0s"},
		{"`a` exits 0 not within 2s", "not within 2s"},
		{"`a` with input exits 0", "exits 0"},
		{"`a` given `x` prints `y`", "prints `y`"},
		{"`a`, given `x` on stdin prints `y`", "prints `y`"},
		{"`a` with `x` exits 0", "`x` exits 0"},
		{"`a`, exits 0", ", exits 0"},
		{"`a` prints nothing but an error message", "but an error message"},
		{"`a` prints nothing except `x`", "except `x`"},
		{"`a` does not print anything but `x`", "but `x`"},
		{"`a` creates nothing but `x`", "but `x`"},
		{"`a` does not fail with an error message", "with an error message"},
		{"`a` must not fail with exit code 2", "with exit code 2"},
		{"`a` does not fail (exit code 2)", "(exit code 2)"},
		{"`a` does not fail within 2s", "within 2s"},
		{"`a` does not print `x` with a usage message", "with a usage message"},
		{"`a` prints `x` and not `y` to stdout", "`y` to stdout"},
		{"`a` prints a usage message and an error message to stderr", "stderr"},
		{"`a` prints `x` and a version number to stdout", "stdout"},
		{"`a` should not print `x` and exit 0", "0"},
		{"`a` prints a line containing `x` and `y`", "and `y`"},
		{"`a` creates no file `x` and the file `y` exists unless `z`", "unless `z`"},
		{"`a` and `b` exit 0", "and `b` exit 0"},
		{"`a` `b` exits 0", "`b` exits 0"},
		{"after `a` exits 0", "exits 0"},
		{"after `a` and `b` exits 0", "exits 0"},
		{"after `a`, and `b` exits 0", "exits 0"},
		{"after `a`, it exits 0", "it exits 0"},
		{"after `a` fails, `b` exits 0", "fails, `b` exits 0"},
		{"after 2s, `b` exits 0", "2s, `b` exits 0"},
		{"before `a`, `b` exits 0", "before `a`, `b` exits 0"},
		{"if `a`, `b` exits 0", "if `a`, `b` exits 0"},
		{"`a` exits 0 and", ""},
		{"`a` exits 0 and and exits 0", "and exits 0"},
		{"`a` exits 0,, exits 0", ", exits 0"},
		{"`a` exits 0 (see below)", "see below)"},
		{"`a` exits 0 with a helpful error message", "helpful error message"},
		{"`a`\u00a0exıts 0", "exıts 0"},
	}
	for _, tt := range tests {
		got, err := Parse(tt.text)
		var e *NotUnderstood
		if !errors.As(err, &e) {
			t.Errorf("%s\nwas read as %v", tt.text, got)
			continue
		}
		if e.Words != tt.words {
			t.Errorf("%s\nstopped at %q, want %q: %v", tt.text, e.Words, tt.words, err)
		}
		if e.Wanted == "" {
			t.Errorf("%s\nsays nothing of what would be read: %v", tt.text, err)
		}
	}
}

// Tokens stand one behind the other, inside the text, and nothing but white space is between them.
func FuzzLex(f *testing.F) {
	f.Add("`a`. \"b\\x00\": (c), d; \u2014 e.")
	f.Fuzz(func(t *testing.T, s string) {
		at := 0
		for _, tok := range lex(s) {
			if tok.pos < at || tok.end < tok.pos || tok.end > len(s) || strings.TrimSpace(s[at:tok.pos]) != "" {
				t.Fatalf("%q: %+v after %d", s, tok, at)
			}
			at = tok.end
		}
		if at != len(s) {
			t.Fatalf("%q: ends at %d", s, at)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"after `a` and `b`, `c` with input \"x\\n\" exits 2, prints `y` to stderr within 2s.",
		"`a` prints a line matching `/x/i`, creates the file `x` containing `y` and leaves `z` unchanged",
		"`` a`b `` doesn't print \"\\x00\\xff\" with a usage message", "`a` prints `x`, `y` and `z` to stdout and `\xff` to stderr",
	} {
		f.Add(s)
	}
	for _, s := range sentences(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := Parse(s)
		if err != nil {
			var e *NotUnderstood
			if !errors.As(err, &e) || e.Span.Pos < 0 || e.Span.Pos > e.Span.End || e.Span.End > len(s) || e.Wanted == "" {
				t.Fatalf("%q: %#v", s, err)
			}
			if near, _ := parse(e.Nearest); near == nil {
				t.Fatalf("%q is near to %q, which is not read", s, e.Nearest)
			}
			if lines := strings.Split(e.Caret(), "\n"); len(lines) != 4 {
				t.Fatalf("%q is shown as %q", s, lines)
			}
			return
		}
		again, err := Parse(a.String())
		if err != nil {
			t.Fatalf("%q is printed as %q: %v", s, a, err)
		}
		if diff := cmp.Diff(a, again, sameTree); diff != "" {
			t.Fatalf("%q is printed as %q (-first +second)\n%s", s, a, diff)
		}
		if _, err := read(a.Command.Text); err != nil && err.Error() == "" {
			t.Fatalf("%q: a shell text that is refused without a reason", a.Command.Text)
		}
	})
}

// Whatever an assertion says, its words in canonical form say the same.
func TestPrintedTreeIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawAssertion(t)
		got, err := Parse(a.String())
		if err != nil {
			t.Fatalf("%s\n%v", a, err)
		}
		if diff := cmp.Diff(a, got, sameTree); diff != "" {
			t.Fatalf("%s (-want +got)\n%s", a, diff)
		}
	})
}

func drawAssertion(t *rapid.T) *Assertion {
	texts := rapid.OneOf(rapid.StringN(1, 8, -1), rapid.SampledFrom([]string{"`", "``", " a ", `\n`, "\xff", "\"", "a`b", "x\n", ","}))
	command := rapid.StringMatching("[a-z`\\\\\"$]([a-z `\\\\\"$|]{0,6}[a-z`\\\\\"$])?").Filter(func(s string) bool {
		_, err := read(s)
		return err == nil
	})
	streams := rapid.SampledFrom([]Stream{AnyStream, Stdout, Stderr})
	types := rapid.SampledFrom([]string{"", "file", "dir"})
	paths := rapid.StringMatching("[a-z][a-z .-]{0,3}[a-z](/[a-z]{1,3})?")
	ms := rapid.IntRange(1, 99_999)
	outcome := func(i int) Outcome {
		switch rapid.IntRange(0, 16).Draw(t, "kind") {
		case 0:
			return Exits{rapid.SliceOfNDistinct(rapid.IntRange(0, 255), 1, 3, rapid.ID).Draw(t, "codes")}
		case 1:
			return ExitsNonZero{}
		case 2:
			return Succeeds{}
		case 3:
			return Fails{}
		case 4:
			return PrintsExactly{texts.Draw(t, "text"), streams.Draw(t, "to")}
		case 5:
			return PrintsNothing{streams.Draw(t, "to")}
		case 6:
			return DoesNotPrint{texts.Draw(t, "text"), streams.Draw(t, "to")}
		case 7:
			return PrintsLineMatching{Pattern: rapid.StringMatching("[a-z`]{1,5}").Draw(t, "re"), Fold: rapid.Bool().Draw(t, "fold"), To: streams.Draw(t, "to")}
		case 8:
			return PrintsLines{Count: Count{N: rapid.IntRange(1, 999_999).Draw(t, "n")}, To: streams.Draw(t, "to")}
		case 9:
			return UsageMessage{To: streams.Draw(t, "to")}
		case 10:
			return ErrorMessage{}
		case 11:
			return Creates{Type: types.Draw(t, "type"), Path: paths.Draw(t, "path")}
		case 12:
			return Creates{Type: "file", Path: paths.Draw(t, "path"), Containing: texts.Draw(t, "text")}
		case 13:
			return Removes{types.Draw(t, "type"), paths.Draw(t, "path")}
		case 14:
			return Unchanged{paths.Draw(t, "path")}
		case 15:
			return Within{time.Duration(ms.Draw(t, "ms")) * time.Millisecond, true}
		default:
			return Prints{texts.Draw(t, "text"), streams.Draw(t, "to")}
		}
	}
	a := &Assertion{Command: Command{Text: command.Draw(t, "command")}}
	for range rapid.IntRange(0, 3).Draw(t, "setups") {
		a.Setup = append(a.Setup, Command{Text: command.Draw(t, "setup")})
	}
	if rapid.Bool().Draw(t, "given") {
		a.Given = []Given{
			{Type: "file", Path: "g" + paths.Draw(t, "given"), Text: rapid.StringN(0, 5, -1).Draw(t, "content"), Mode: rapid.IntRange(-1, 0o777).Draw(t, "mode")},
			{Type: "dir", Path: "h" + paths.Draw(t, "given dir"), Mode: -1},
		}
	}
	if rapid.Bool().Draw(t, "when") {
		a.When = []When{{Type: types.Draw(t, "when type"), Path: paths.Draw(t, "when path"), Exists: rapid.Bool().Draw(t, "exists")}}
	}
	if rapid.Bool().Draw(t, "circumstances") {
		a.Dir = paths.Draw(t, "dir") + rapid.SampledFrom([]string{"", "\x03", "\\", "\"", "é"}).Draw(t, "odd")
		a.Env = []string{"A", "B=" + texts.Draw(t, "value")}
		if strings.ContainsRune(a.Env[1], 0) {
			a.Env = a.Env[:1]
		}
	}
	if rapid.Bool().Draw(t, "reads") {
		a.Input = Input{Given: true, Text: rapid.StringN(0, 5, -1).Draw(t, "input")}
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "outcomes") {
		a.Outcomes = append(a.Outcomes, Clause{Outcome: outcome(i)})
	}
	return a
}
