package probe

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/internal/scriptbox"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/validator"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// An assertion that is met in one run and not in another is flaky, in whatever order that comes, and never met.
func TestFlaky(t *testing.T) {
	for codes, want := range map[string]verdict.Status{
		"000": verdict.Met, "111": verdict.Unmet, "001": verdict.Unverified, "010": verdict.Unverified, "100": verdict.Unverified, "110": verdict.Unverified,
	} {
		b := box()
		runs := 0
		b.Play = func(*scriptbox.Call) sandbox.Exit {
			runs++
			return scriptbox.Exit(int(codes[runs-1] - '0'))
		}
		report, err := New(Options{Repeat: 3}).Validate(context.Background(), b, task("`tool` exits 0"))
		if err != nil || len(report.Criteria) != 1 || report.Criteria[0].Status != want {
			t.Errorf("%s: %+v, %v", codes, report, err)
		} else if e := report.Criteria[0].Evidence; strings.HasPrefix(e, "flaky: ") != (want == verdict.Unverified) {
			t.Errorf("%s: %s", codes, e)
		}
		if want != verdict.Unverified && (runs != 3 || len(b.Sessions) < 3) {
			t.Errorf("%s: %d runs in %d sessions", codes, runs, len(b.Sessions))
		}
		if want == verdict.Unverified && slices.Contains(report.Verdicts, "CLEAR") {
			t.Errorf("%s: %+v", codes, report)
		}
	}
}

// What a program meets that does nothing proves nothing: told of the one that succeeds, and with Prove of the one that
// fails; with Blocking it blocks.
func TestProve(t *testing.T) {
	tests := []struct {
		text     string
		options  Options
		findings []string
	}{
		{"`tool` exits 0", Options{}, []string{"NOTE succeeds"}},
		{"`tool` exits 0", Options{Prove: true}, []string{"NOTE succeeds"}},
		{"`tool` exits 0", Options{Blocking: true}, []string{"BLOCKING succeeds"}},
		{"`tool code x` fails", Options{}, nil},
		{"`tool code x` fails", Options{Prove: true}, []string{"NOTE fails"}},
		{"`tool code x` exits 1", Options{Prove: true, Blocking: true}, []string{"BLOCKING fails"}},
		{"`tool code xx` exits 2", Options{Prove: true}, nil},
		{"given a file `a`, `tool refuse a` fails", Options{Prove: true}, []string{"NOTE fails"}},
		{"given a file `a`, `tool refuse a` fails with an error message", Options{Prove: true}, nil},
		{"given a file `a`, `tool` exits 0", Options{Prove: true}, []string{"NOTE succeeds"}},
		{"after `tool`, `tool code x` fails", Options{Prove: true}, nil}, // the setup fails as well
		{"`tool say x` does not print `y`", Options{Prove: true}, []string{"NOTE succeeds", "NOTE fails"}},
	}
	for _, tt := range tests {
		report, err := New(tt.options).Validate(context.Background(), box(), task(tt.text))
		if err != nil || report.Criteria[0].Status != verdict.Met {
			t.Errorf("%s: %+v, %v", tt.text, report, err)
		}
		var got []string
		for _, f := range report.Findings {
			_, what, _ := strings.Cut(f.Text, "does nothing and ")
			what, _, _ = strings.Cut(what, " ")
			got = append(got, string(f.Severity)+" "+what)
		}
		if !slices.Equal(got, tt.findings) {
			t.Errorf("%s %+v: %q, want %q", tt.text, tt.options, got, tt.findings)
		}
	}
}

// Each assertion has a session of its own: in whatever order they come, each is judged as when it comes alone.
func TestOrderDoesNotMatter(t *testing.T) {
	texts := []string{
		"`tool write a x` creates the file `a`", "`tool` does not create `a`", "given a file `a`, `tool rm a` removes `a`", "`tool` creates nothing",
		"`tool` exits 1", "after `tool write a x`, `tool refuse a` fails", "`tool refuse a` fails", "`tool env` with `A=1` set prints `A=1`",
		"`tool env` prints `A=1`",
	}
	alone := map[string]verdict.Status{}
	for _, text := range texts {
		report, err := New(Options{}).Validate(context.Background(), box(), task(text))
		if err != nil {
			t.Fatal(err)
		}
		alone[text] = report.Criteria[0].Status
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		r.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
		task := task(texts...)
		var order []string
		task.Ran = func(r validator.Ran) { order = append(order, r.Criterion) }
		report, err := New(Options{}).Validate(context.Background(), box(), task)
		if err != nil || len(report.Criteria) != len(texts) {
			t.Fatalf("%+v, %v", report, err)
		}
		for i, c := range report.Criteria {
			if c.Status != alone[texts[i]] {
				t.Errorf("%q: %s is %s, alone %s", texts, texts[i], c.Status, alone[texts[i]])
			}
		}
	}
}

func TestCaret(t *testing.T) {
	tests := []struct{ text, want string }{
		{"`tool` exits 0 unless `x`", "`tool` exits 0 unless `x`\n               ^ expected"},
		{"`tool 日本` prnts `x`", "`tool 日本` prnts `x`\n            ^ expected"},
		{"`tool` prnts `x`", "nearest: `tool` prints `x`\n"},
		{"`tool \x1b[2J` is fun", "`tool \\x1b[2J` is fun\n               ^ expected"},
		{"`tool` exits", "`tool` exits\n            ^ expected"},
		{"`tool` prints `a` and exist 0", "nearest: `tool` prints `a`, exits 0\n"},
	}
	for _, tt := range tests {
		_, e := Parse(tt.text)
		n, ok := e.(*NotUnderstood)
		if !ok || !strings.Contains(n.Caret(), tt.want) {
			t.Errorf("%s\n%v", tt.text, e)
			if ok {
				t.Errorf("\n%s", n.Caret())
			}
		}
	}
}
