package contract

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEachKindOfHintIsFoundWhereItBelongs(t *testing.T) {
	for text, want := range map[string][]HintCode{
		"the parser is refactored into its own package, and `tool` exits 0": {NotCheckable},
		"the function `parse` returns an error for an empty string":         {NotCheckable},
		"all tests pass and the coverage is above 80%":                      {NotCheckable, NothingObservable},
		"`go test ./...` exits 0":                                           {NotCheckable},
		"`npm test` succeeds":                                               {NotCheckable},
		"`src/parse.go` contains a fast path":                               {NamesSource, Vague},
		"the limit in internal/limits.go is 10":                             {NamesSource, NothingObservable},
		"`tool a` prints `1` and `tool b` prints `2`":                       {TwoAssertions},
		"`tool a` exits 0; `tool b` exits 1":                                {TwoAssertions},
		"`tool` prints `1`. The server answers `GET /` with 200":            {TwoAssertions},
		"the search works":                                                  {Vague, NothingObservable},
		"`tool` handles bad input gracefully":                               {Vague},
		"errors are shown appropriately":                                    {Vague},
		"the user is delighted":                                             {NothingObservable},
		// What a hint must not be about.
		"`tool` prints `works properly`":                                      nil,
		"`tool` prints \"the code is clean\"":                                 nil,
		"`tool src/main.go` exits 0":                                          nil,
		"given a file `main.go` containing `x`, `tool main.go` exits 0":       nil,
		"`tool` exits with code 2 and prints a usage message":                 nil,
		"after `tool init` and `tool add a`, `tool list` prints `a`":          nil,
		"`tool` prints `a` and `b`":                                           nil,
		"`tool --version` exits 0. It prints `1.2`. The output has one line.": nil,
		"with Node.js 20, `tool` exits 0":                                     nil,
		"an unknown option ends it with exit status 2":                        nil,
	} {
		var got []HintCode
		for _, h := range hints(Assertion{ID: "VAL-1", Text: text}) {
			got = append(got, h.Code)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s\ngot %v, want %v", text, got, want)
		}
	}
}

// Whatever the probe can read without a model is checkable: advice about it would be wrong.
func TestNoHintsAboutWhatTheProbeReads(t *testing.T) {
	data, err := os.ReadFile("../docs/probe.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "\n```read\n")
	seen := 0
	for rest != "" {
		block, after, _ := strings.Cut(rest, "\n```")
		for line := range strings.SplitSeq(block, "\n") {
			seen++
			for _, h := range hints(Assertion{Text: line}) {
				t.Errorf("%s\n%s: %s", line, h.Code, h.Text)
			}
		}
		_, rest, _ = strings.Cut(after, "\n```read\n")
	}
	if seen < 50 {
		t.Errorf("only %d sentences were read", seen)
	}
}

func TestLintNamesEverythingAtOnce(t *testing.T) {
	r := Lint([]byte("VAL-1: `tool` works\nprose\nVAL-1: `tool` exits 0\n\n val-2: x\n"))
	var lines []int
	for _, p := range r.Problems {
		lines = append(lines, p.Line)
	}
	if want := []int{2, 3, 5}; !slices.Equal(lines, want) {
		t.Errorf("problems in lines %v, want %v: %v", lines, want, r.Problems)
	}
	if want := []Hint{{Line: 1, ID: "VAL-1", Code: Vague, Text: `"works" can mean anything: say what is printed, created or returned`}}; !cmp.Equal(r.Hints, want) {
		t.Error(cmp.Diff(want, r.Hints))
	}
	r = LintIssue([]byte("## Validation contract\n\n- VAL-1: `tool` exits 0\n\nprose\n"))
	if len(r.Problems) > 0 || len(r.Contract.Assertions) != 1 || len(r.Warnings) != 1 || len(r.Hints) > 0 {
		t.Errorf("%+v", r)
	}
	if r := LintIssue([]byte("no section")); len(r.Problems) != 1 {
		t.Errorf("%+v", r)
	}
}

func FuzzLint(f *testing.F) {
	f.Add("VAL-1: `a` and \"b\" `c")
	f.Fuzz(func(t *testing.T, text string) {
		_, err := Parse([]byte(text))
		if r := Lint([]byte(text)); (err != nil) != (len(r.Problems) > 0) {
			t.Errorf("Parse says %v and Lint %v", err, r.Problems)
		}
		prose, spans := quotesOut(text)
		if len(prose) > len(text) || strings.Count(prose, span) < len(spans) {
			t.Errorf("%q became %q and %q", text, prose, spans)
		}
	})
}
