package probe

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/contract"
	"github.com/trkr-dev/trkr-validate/internal/scriptbox"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/validator"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// box plays a small artifact: "tool" and "other" on PATH, "broken" that cannot be run, scripts; cat and sh are the
// image's. The first word after the program says what it does.
func box() *scriptbox.Box {
	return &scriptbox.Box{
		Path: "/usr/bin",
		Programs: map[string]string{
			"tool": "/validate/artifact/tool", "other": "/opt/validate/bin/other", "/validate/artifact/tool": "/validate/artifact/tool",
			"cat": "/usr/bin/cat", "grep": "/usr/bin/grep", "touch": "/usr/bin/touch", "node": "/usr/bin/node", "env": "/usr/bin/env",
			"linked": "/usr/bin/true", "timeout": "/usr/bin/timeout",
		},
		Files: map[string]sandbox.File{"/validate/artifact/x.js": {Type: "file"}, "/validate/artifact/l.js": {Type: "link"}},
		Play:  play,
	}
}

func play(c *scriptbox.Call) sandbox.Exit {
	if len(c.Args) > 3 && c.Args[0] == "/bin/sh" {
		return groundwork(c)
	}
	verb, rest, _ := strings.Cut(strings.TrimPrefix(c.Line, c.Args[0]+" "), " ")
	if c.Args[0] == "/bin/sh" {
		if len(c.Spec.Decoys) > 0 {
			return scriptbox.Exit(0)
		}
		_, verb, _ = strings.Cut(c.Line, "tool ")
		verb, rest, _ = strings.Cut(verb, " ")
	}
	switch verb {
	case "say":
		c.Print(rest + "\n")
	case "warn":
		c.Complain(rest + "\n")
	case "both":
		c.Print("out\n")
		c.Complain("err\n")
	case "usage":
		c.Complain("tool: bad flag\n  Usage: tool [flags]\n")
		return scriptbox.Exit(2)
	case "usages":
		c.Print("usages are many\nno usage\n")
	case "code":
		return scriptbox.Exit(len(rest))
	case "exit126", "exit127", "exit139":
		return scriptbox.Exit(map[string]int{"exit126": 126, "exit127": 127, "exit139": 139}[verb])
	case "upper":
		c.Print(strings.ToUpper(c.Input))
	case "write":
		name, text, _ := strings.Cut(rest, " ")
		c.Write(name, text)
	case "rm":
		delete(c.Session.Files, rest)
	case "link":
		c.Session.Files[rest] = sandbox.File{Type: "link", Mode: 0o777, Target: "nowhere"}
	case "shut":
		c.Session.Files[rest] = sandbox.File{Type: sandbox.Unseen}
	case "mkdir":
		c.Session.Files[rest] = sandbox.File{Type: "dir", Mode: 0o755}
	case "big":
		c.Session.Files["big"] = sandbox.File{Type: "file", Size: 5 << 20, Digest: "a", Partial: true, Content: make([]byte, fileHead)}
	case "late":
		return scriptbox.Exit(124)
	case "path":
		c.Print(strings.Join(c.Spec.Env, " "))
	case "lines":
		c.Print(strings.ReplaceAll(rest, " ", "\n") + "\n")
	case "env":
		c.Print(strings.Join(c.Command.Env, " ") + " in " + strings.TrimPrefix(c.Command.Dir, c.Session.Dir()))
	case "count":
		c.Session.Files["n"] = sandbox.File{Type: "file", Size: c.Session.Files["n"].Size + 1}
		c.Print(strings.Repeat("n", int(c.Session.Files["n"].Size)))
	case "refuse":
		if c.Session.Files[rest].Type != "" {
			c.Complain("tool: " + rest + " exists\n")
			return scriptbox.Exit(1)
		}
		c.Write(rest, "new")
	case "slow":
		e := scriptbox.Exit(0)
		e.Elapsed = 3 * time.Second
		c.Print("ready\n")
		return e
	case "flood":
		for range 17 {
			c.Print(strings.Repeat("x", 1<<20))
		}
		c.Print("end")
	case "crash":
		c.Print("partial\n")
		return scriptbox.Died(sandbox.CauseUnknown, "SIGSEGV")
	case "hang":
		c.Print("ready\n")
		return scriptbox.Died(sandbox.CauseDeadline, "SIGKILL")
	case "oom":
		e := scriptbox.Exit(0)
		e.Cause = sandbox.CauseMemory
		return e
	case "yes":
		c.Print("y\n")
		return scriptbox.Died(sandbox.CauseOutput, "SIGKILL")
	case "forks":
		return scriptbox.Died(sandbox.CausePids, "SIGABRT")
	case "odd":
		return scriptbox.Died(sandbox.CauseNotExecutable, "")
	case "gone":
		return scriptbox.Died(sandbox.CauseNotFound, "")
	}
	if c.Args[0] == "missing" {
		return scriptbox.Died(sandbox.CauseNotFound, "")
	}
	if c.Args[0] == "broken" {
		return scriptbox.Died(sandbox.CauseNotExecutable, "")
	}
	return scriptbox.Exit(0)
}

// groundwork does what our own texts do with the image's programs.
func groundwork(c *scriptbox.Call) sandbox.Exit {
	if len(c.Args) == 4 {
		for name := range c.Session.Files {
			c.Print("./" + name + "\x00")
		}
		return scriptbox.Exit(0)
	}
	if c.Args[5] == "dir" {
		c.Session.Files[c.Args[4]] = sandbox.File{Type: "dir", Mode: 0o755}
		return scriptbox.Exit(0)
	}
	c.Write(c.Args[4], c.Input)
	return scriptbox.Exit(0)
}

func task(texts ...string) validator.Task {
	var c contract.Contract
	for i, text := range texts {
		c.Assertions = append(c.Assertions, contract.Assertion{ID: "VAL-" + string(rune('1'+i)), Text: text})
	}
	return validator.Task{
		Contract: c, Assertions: c.Assertions, Path: []string{"/validate/artifact", "/opt/validate/bin"}, Programs: []string{"tool", "other"},
		Timeout: 10 * time.Minute, Output: 1 << 20, Transcript: io.Discard, Reported: func(verdict.Reported) {}, Ran: func(validator.Ran) {},
	}
}

func TestOutcomes(t *testing.T) {
	tests := []struct {
		text   string
		status verdict.Status
		why    string // in the evidence
	}{
		{"`tool` exits 0", verdict.Met, "`tool` ran /validate/artifact/tool: exit code 0 after 5ms"},
		{"`tool` exits 1", verdict.Unmet, "expected exit code 1, got 0"},
		{"`tool code xx` exits 2", verdict.Met, "exit code 2"},
		{"`tool code xx` succeeds", verdict.Unmet, "expected exit code 0, got 2"},
		{"`tool code xx` fails", verdict.Met, "exit code 2"},
		{"`tool` fails", verdict.Unmet, "got exit code 0"},
		{"`tool` exits non-zero", verdict.Unmet, "got exit code 0"},
		{"`tool usage` fails with a usage message", verdict.Met, `stderr has "  Usage: tool [flags]"`},
		{"`tool usage` fails with a usage message to stdout", verdict.Unmet, "expected a usage message to stdout"},
		{"`tool usages` prints a usage message", verdict.Unmet, "usages are many"},
		{"`tool warn x` exits 0 with an error message", verdict.Met, `stderr has "x"`},
		{"`tool say x` exits 0 with an error message", verdict.Unmet, "expected an error message on stderr"},

		{"`tool say hello world` prints `hello`", verdict.Met, `stdout has "hello world"`},
		{"`tool warn hello` prints `hello`", verdict.Met, `stderr has "hello"`},
		{"`tool warn hello` prints `hello` to stdout", verdict.Unmet, `expected "hello" to stdout`},
		{"`tool say hello` prints `hello` to stderr", verdict.Unmet, `stdout "hello\n"`},
		{"`tool say hello` prints `Hello`", verdict.Unmet, `expected "Hello", got stdout "hello\n"`},
		{"`tool say hello` prints exactly `hello`", verdict.Met, "stdout is"},
		{"`tool say hello` prints exactly \"hello\\n\"", verdict.Met, "stdout is"},
		{"`tool say hello` prints exactly \"hello\\n\\n\"", verdict.Unmet, "expected exactly"},
		{"`tool say hello you` prints exactly `hello`", verdict.Unmet, "expected exactly"},
		{"`tool both` prints exactly `out`", verdict.Unmet, `say "to stdout"`},
		{"`tool both` prints exactly `out` to stdout", verdict.Met, ""},
		{"`tool` prints nothing", verdict.Met, "stdout and stderr are empty"},
		{"`tool both` prints nothing", verdict.Unmet, "expected nothing"},
		{"`tool warn x` prints nothing to stdout", verdict.Met, "stdout is empty"},
		{"`tool warn x` prints nothing to stderr", verdict.Unmet, "expected nothing to stderr"},
		{"`tool say hello` does not print `bye`", verdict.Met, `no "bye"`},
		{"`tool say hello` does not print `ell`", verdict.Unmet, `expected no "ell", but stdout has "hello"`},
		{"`tool warn hello` does not print `ell`", verdict.Unmet, "but stderr has"},
		{"`tool warn hello` does not print `ell` to stdout", verdict.Met, ""},
		{"`tool say v1.2` prints a line matching `/^v\\d+\\.\\d+$/`", verdict.Met, `stdout has "v1.2"`},
		{"`tool say v1.2` prints a line matching `/^V/`", verdict.Unmet, "a line matching"},
		{"`tool say v1.2` prints a line matching `/^V/i`", verdict.Met, ""},
		{"`tool both` prints 1 line", verdict.Unmet, "1 on stdout, 1 on stderr"},
		{"`tool both` prints 1 line to stderr", verdict.Met, ""},
		{"`tool both` prints 2 lines to stderr", verdict.Unmet, "expected 2 lines to stderr"},
		{"`tool upper` with input `abc` prints exactly `ABC`", verdict.Met, ""},
		{"`tool upper` with empty input prints nothing", verdict.Met, ""},
		{"`tool flood` prints `end`", verdict.Unverified, "not in the first"},
		{"`tool flood` does not print `nope`", verdict.Unverified, "not in the first"},
		{"`tool flood` prints exactly `x`", verdict.Unmet, "got more than"},

		{"`tool write a.txt hi` creates the file `a.txt`", verdict.Met, "created the file"},
		{"`tool write a.txt hi` creates `a.txt` containing `hi`", verdict.Met, "containing"},
		{"`tool write a.txt hi` creates `a.txt` containing `ho`", verdict.Unmet, `it holds "hi"`},
		{"`tool write a.txt hi` creates the directory `a.txt`", verdict.Unmet, "there is a file"},
		{"`tool write a.txt hi` creates the file `b.txt`", verdict.Unmet, "nothing is there"},
		{"`tool mkdir d` creates the directory `d`", verdict.Met, ""},
		{"after `tool write a.txt hi`, `tool write a.txt ho` creates the file `a.txt`", verdict.Unmet, "it was there before"},
		{"after `tool write a.txt hi`, `tool rm a.txt` removes the file `a.txt`", verdict.Met, "removed"},
		{"after `tool write a.txt hi`, `tool` removes `a.txt`", verdict.Unmet, "still there"},
		{"`tool rm a.txt` removes `a.txt`", verdict.Blocked, "was not there before"},
		{"after `tool mkdir a`, `tool rm a` removes the file `a`", verdict.Blocked, "was a dir"},
		{"after `tool write a.txt hi`, `tool` leaves `a.txt` unchanged", verdict.Met, "unchanged"},
		{"after `tool write a.txt hi`, `tool write a.txt hi!` leaves `a.txt` unchanged", verdict.Unmet, "unchanged, it was"},
		{"after `tool write a.txt hi`, `tool rm a.txt` leaves `a.txt` unchanged", verdict.Unmet, "is gone"},
		{"`tool link out` creates `out`", verdict.Unverified, "is a link"},
		{"`tool link out` creates the file `out`", verdict.Unmet, "there is a link"},
		{"`tool mkdir d` creates `d`", verdict.Met, ""},
		{"`tool write d x` creates `d/`", verdict.Unmet, "expected the directory"},
		{"`tool shut d` creates the file `d`", verdict.Unverified, "could not be looked at"},
		{"after `tool shut d`, `tool write d x` creates `d`", verdict.Unverified, "could not be looked at"},
		{"after `tool shut d`, `tool rm d` removes `d`", verdict.Unverified, "could not be looked at"},
		{"after `tool write d x`, `tool shut d` removes `d`", verdict.Unverified, "could not be looked at"},
		{"after `tool write d x`, `tool shut d` leaves `d` unchanged", verdict.Unverified, "could not be looked at"},
		{"after `tool shut d`, `tool` leaves `d` unchanged", verdict.Unverified, "could not be looked at"},
		{"`tool` leaves `a.txt` unchanged", verdict.Blocked, "was not there before"},
		{"after `tool mkdir d`, `tool` leaves `d` unchanged", verdict.Unverified, "only of a file"},
		{"after `tool big`, `tool` leaves `big` unchanged", verdict.Unverified, "were compared"},

		{"`tool` exits 0 within 1s", verdict.Met, "after 5ms"},
		{"`tool slow` exits 0 within 2s", verdict.Unmet, "expected within 2s, took 3s"},
		{"`tool slow` finishes within 2s", verdict.Unmet, ""},
		{"`tool slow` prints `ready` within 2s", verdict.Unverified, "does not show"},
		{"`tool slow` prints `nope` within 2s", verdict.Unmet, ""},

		// A command counts only if it ran, and only as far as its end is its own.
		{"`missing` fails", verdict.Blocked, "not found: it never ran"},
		{"`missing` does not print `x`", verdict.Blocked, "not found"},
		{"`broken` fails", verdict.Unmet, "not executable"},
		{"`missing | cat` does not print `x`", verdict.Blocked, `"missing" was not found`},
		{"`tool gone` fails", verdict.Blocked, "it never ran"},
		{"`tool odd` exits non-zero", verdict.Unmet, "not executable"},
		{"`tool crash` fails", verdict.Unmet, "ended by SIGSEGV"},
		{"`tool crash` exits non-zero", verdict.Unmet, "SIGSEGV"},
		{"`tool crash` does not print `x`", verdict.Unmet, "SIGSEGV"},
		{"`tool crash` prints `partial`", verdict.Unmet, "does not end by itself"},
		{"`tool oom` exits 0", verdict.Unmet, "memory limit"},
		{"`tool forks` fails", verdict.Unmet, "pids limit"},
		{"`tool hang` fails", verdict.Unmet, "did not end and was stopped"},
		{"`tool hang` does not print `x`", verdict.Unmet, "did not end"},
		{"`tool hang` prints `ready`", verdict.Unverified, "meant to go on"},
		{"`tool hang` prints `ready` and `nope`", verdict.Unmet, "nope"},
		{"`tool yes` prints `y`", verdict.Unverified, "output limit"},
		{"`tool yes` prints exactly `y`", verdict.Unmet, "output limit"},
		{"`tool exit127` fails", verdict.Unverified, "exits 127"},
		{"`tool exit127` exits 127", verdict.Met, ""},
		{"`tool exit139` does not print `x`", verdict.Unverified, "signal 11"},
		{"`tool exit139` exits 139 and does not print `x`", verdict.Met, ""},
		{"`A=1 tool exit127` fails", verdict.Blocked, "something was not found"},
		{"`A=1 tool exit126` fails", verdict.Unmet, "could not be run"},
		{"`A=1 tool exit139` fails", verdict.Unmet, "signal 11"},
		{"`A=1 tool code x` fails", verdict.Met, ""},
		{"`tool code x | cat` fails", verdict.Unverified, "may be another program's"},
		{"`tool say x > out` does not print `x`", verdict.Unmet, ""},
		{"`tool code x > out` fails", verdict.Met, ""}, // as it would not if the tool did nothing
		{"`/validate/artifact/tool code x > out` fails", verdict.Unverified, "may be another program's"},
		{"`/validate/artifact/tool code x > out` exits 7", verdict.Unverified, "may be another program's"},
		{"`tool say x | cat` exits 0", verdict.Unverified, "may be another program's"},
		{"`tool say x | cat` prints `x`", verdict.Met, ""},
		{"`tool say $(other)` exits 0", verdict.Unverified, "meets it as well"},
		{"`tool say $(other)` does not print `x`", verdict.Unverified, "hides"},
		{"`tool say x && cat` succeeds", verdict.Unverified, "meets it as well"},
		{"`cat && /validate/artifact/tool` succeeds", verdict.Met, ""},
		{"`timeout 1 tool` exits 0", verdict.Met, ""},
		{"`timeout 1 tool` fails", verdict.Unmet, ""},
		{"`timeout late tool` fails", verdict.Unmet, "timeout and its like"},
		{"`tool quiet | cat` does not print `x`", verdict.Unverified, "hides"},

		// Whose program.
		{"`cat x` exits 0", verdict.Unverified, "only the image's programs"},
		{"`linked` exits 0", verdict.Unverified, "only the image's programs"},
		{"`cat x | grep y` fails", verdict.Unverified, "only the image's programs"},
		{"`other` exits 0", verdict.Met, "/opt/validate/bin/other"},
		{"`/validate/artifact/tool` exits 0", verdict.Met, ""},
		{"`node /validate/artifact/x.js` exits 0", verdict.Met, "/validate/artifact/x.js"},
		{"`node /validate/artifact/missing.js` fails", verdict.Blocked, "was not found"},
		{"`node /validate/artifact/l.js` exits 0", verdict.Blocked, "was not found"},
		{"`PATH=/usr/bin tool` exits 0", verdict.Unverified, "sets PATH"},
		{"after `touch a`, `cat a` exits 0", verdict.Unverified, "only the image's programs"},
		{"after `tool write a x`, `cat a` exits 0", verdict.Met, ""},
		{"after `tool code x`, `tool` exits 0", verdict.Blocked, "setup `tool code x` did not succeed: exit code 1"},
		{"after `missing`, `tool` exits 0", verdict.Blocked, "setup"},
		{"after `tool crash`, `tool` exits 0", verdict.Blocked, "SIGSEGV"},
		{"`tool path` prints `PATH=/validate/artifact:/opt/validate/bin:/usr/bin`", verdict.Met, ""},

		{"`tool` is pleasant to use", verdict.Unverified, `not understood from "is pleasant to use"`},
		{"`tool 'x` exits 0", verdict.Unverified, "POSIX shell"},
	}
	for _, tt := range tests {
		b := box()
		report, err := New(Options{}).Validate(context.Background(), b, task(tt.text))
		if err != nil || len(report.Criteria) != 1 {
			t.Errorf("%s: %+v, %v", tt.text, report, err)
			continue
		}
		r := report.Criteria[0]
		if r.Status != tt.status || !strings.Contains(r.Evidence, tt.why) || r.Evidence == "" {
			t.Errorf("%s\n%s: %s\nwant %s: %s", tt.text, r.Status, r.Evidence, tt.status, tt.why)
		}
		if len(r.Evidence) > maxEvidence || strings.ContainsFunc(r.Evidence, func(c rune) bool { return c < ' ' }) {
			t.Errorf("%s: evidence is no bounded line: %q", tt.text, r.Evidence)
		}
		for _, s := range b.Sessions {
			if !s.Closed || s.Spec.Role != sandbox.RoleSubject {
				t.Errorf("%s: session %+v", tt.text, s)
			}
		}
	}
}

func TestVerdict(t *testing.T) {
	for _, tt := range []struct {
		texts []string
		want  []string
	}{
		{[]string{"`tool` exits 0", "`other` exits 0"}, []string{"CLEAR"}},
		{[]string{"`tool` exits 0", "`tool` exits 1"}, []string{"BLOCKING"}},
		{[]string{"`tool` exits 1", "it is nice"}, []string{"BLOCKING"}},
		{[]string{"`tool` exits 0", "it is nice"}, nil},
	} {
		report, err := New(Options{}).Validate(context.Background(), box(), task(tt.texts...))
		if err != nil || !slices.Equal(report.Verdicts, tt.want) || len(report.Criteria) != len(tt.texts) {
			t.Errorf("%q: %+v, %v", tt.texts, report, err)
		}
		j := verdict.Judge(task(tt.texts...).Contract, []verdict.AgentReport{{Agent: "probe", Report: report}})
		if len(j.Diagnostics) > 0 {
			t.Errorf("%q: diagnostics %v", tt.texts, j.Diagnostics)
		}
	}
}

// Every assertion has a session of its own, so that the order does not matter.
func TestAssertionsDoNotMeet(t *testing.T) {
	b := box()
	report, err := New(Options{}).Validate(context.Background(), b, task("`tool write a hi` creates the file `a`", "`tool write a hi` creates the file `a`"))
	if err != nil || report.Verdicts[0] != "CLEAR" {
		t.Fatalf("%+v, %v", report, err)
	}
}

func TestDecoys(t *testing.T) {
	tests := []struct {
		text   string
		note   bool
		status verdict.Status
	}{
		{"`tool` exits 0", true, verdict.Met},
		{"`tool say hello` prints `hello`", false, verdict.Met},
		{"`tool say hello` does not print `bye`", true, verdict.Met},
		{"`tool code x` fails", false, verdict.Met},
		{"`/validate/artifact/tool` exits 0", false, verdict.Met},      // no decoy takes its place
		{"`node /validate/artifact/x.js` exits 0", false, verdict.Met}, // nor this one's
		{"`tool code xx` exits 0", false, verdict.Unmet},               // met by nobody
		{"`tool code x > y` exits 1", true, verdict.Unverified},        // the shell's code, whatever the tool does
		{"after `tool write a hi`, `other` exits 0", true, verdict.Met},
		{"after `tool write a hi`, `other` leaves `a` unchanged", false, verdict.Met},
		{"after `tool write a hi`, `tool rm a` removes `a`", false, verdict.Met},
		{"after `tool write a hi`, `cat a` exits 0", true, verdict.Met}, // a cat of this test reads what is not there
		{"`env tool` exits 0", true, verdict.Met},
	}
	for _, tt := range tests {
		b := box()
		b.Play = func(c *scriptbox.Call) sandbox.Exit {
			if c.Args[0] == "/bin/sh" {
				return scriptbox.Exit(1)
			}
			return play(c)
		}
		var ran []string
		task := task(tt.text)
		task.Ran = func(r validator.Ran) { ran = append(ran, r.Criterion+" "+r.Command) }
		report, err := New(Options{}).Validate(context.Background(), b, task)
		if err != nil || len(report.Criteria) != 1 || report.Criteria[0].Status != tt.status {
			t.Errorf("%s: %+v, %v", tt.text, report, err)
			continue
		}
		note := len(report.Findings) == 1 && report.Findings[0].Severity == verdict.SeverityNote && slices.Equal(report.Findings[0].Criteria, []string{"VAL-1"})
		if note != tt.note || !note && len(report.Findings) > 0 {
			t.Errorf("%s: findings %+v", tt.text, report.Findings)
		}
		if strings.Contains(tt.text, " > ") && (len(ran) != 2 || !strings.HasPrefix(ran[1], "VAL-1 decoy: ")) {
			t.Errorf("%s: ran %q", tt.text, ran)
		}
		if strings.HasPrefix(tt.text, "`tool") && !strings.Contains(tt.text, " > ") && len(ran) != 1 {
			t.Errorf("%s: a decoy was run where what it does is known: %q", tt.text, ran)
		}
	}
}

// A box that is lost ends the task; what was decided before stays.
func TestLostBox(t *testing.T) {
	b := box()
	b.Play = func(c *scriptbox.Call) sandbox.Exit {
		if c.Line == "tool write x" {
			b.OpenErr = &sandbox.LostError{Cause: sandbox.CauseMemory}
		}
		return play(c)
	}
	var reported []string
	task := task("`tool say hi` prints `hi`", "`tool write x` exits 1", "`tool` exits 0")
	task.Reported = func(r verdict.Reported) { reported = append(reported, r.ID) }
	report, err := New(Options{}).Validate(context.Background(), b, task)
	var lost *sandbox.LostError
	if !errors.As(err, &lost) || len(report.Verdicts) > 0 || !slices.Equal(reported, []string{"VAL-1", "VAL-2"}) || len(report.Criteria) != 2 {
		t.Fatalf("%+v, %v, reported %v", report, err, reported)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	b := box()
	b.Play = func(*scriptbox.Call) sandbox.Exit { cancel(); return scriptbox.Died(sandbox.CauseKilled, "SIGKILL") }
	report, err := New(Options{}).Validate(ctx, b, task("`tool` exits 0", "`other` exits 0"))
	if !errors.Is(err, context.Canceled) || len(report.Verdicts) > 0 || len(report.Criteria) > 0 {
		t.Fatalf("%+v, %v", report, err)
	}
}

// A box that cannot do one thing prevents one assertion.
func TestTrouble(t *testing.T) {
	b := box()
	b.OpenErr = errors.New("no uid left")
	report, err := New(Options{}).Validate(context.Background(), b, task("`tool` exits 0"))
	if err != nil || report.Criteria[0].Status != verdict.Blocked || !strings.Contains(report.Criteria[0].Evidence, "no uid left") {
		t.Fatalf("%+v, %v", report, err)
	}
}

func TestTimeIsUsedUp(t *testing.T) {
	b := box()
	short := task("`tool` exits 0", "`tool hang` fails")
	short.Timeout = 0
	report, err := New(Options{}).Validate(context.Background(), b, short)
	if err != nil || len(b.Sessions) > 1 {
		t.Fatalf("%d sessions, %v", len(b.Sessions), err)
	}
	for _, r := range report.Criteria {
		if r.Status != verdict.Blocked {
			t.Errorf("%+v", r)
		}
	}
	// The run's deadline, not the command's own: nobody knows whether it would have ended.
	short.Timeout = 30 * time.Second
	report, err = New(Options{}).Validate(context.Background(), box(), short)
	if err != nil || report.Criteria[1].Status != verdict.Blocked || !strings.Contains(report.Criteria[1].Evidence, "time was used up") {
		t.Fatalf("%+v, %v", report, err)
	}
}

// The transcript is read on terminals: what the subject prints changes nothing there.
func TestTranscriptIsSafe(t *testing.T) {
	var transcript strings.Builder
	task := task("`tool say \x1b[2J` exits 0")
	task.Transcript = &transcript
	if _, err := New(Options{}).Validate(context.Background(), box(), task); err != nil {
		t.Fatal(err)
	}
	got := transcript.String()
	if strings.Contains(got, "\x1b") || !strings.Contains(got, `out| \x1b[2J`) || !strings.Contains(got, "VAL-1 $ tool say") {
		t.Errorf("%q", got)
	}
}
