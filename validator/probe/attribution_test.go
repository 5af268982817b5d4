package probe

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/internal/scriptbox"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/verdict"
)

const byPath = "/validate/artifact/tool"

// What a text shows may have come about without the artifact. out, complaint and code are what the text's command
// shows; with decoys it shows the same where same is set, and else nothing.
func TestWhoseDoing(t *testing.T) {
	tests := []struct {
		text           string
		out, complaint string
		code           int
		same           bool
		status         verdict.Status
	}{
		{text: "`set -e; cd missing; " + byPath + " bad` fails", code: 2, status: verdict.Unverified},
		{text: "`set -u; " + byPath + " $UNSET` fails with an error message", complaint: "/bin/sh: 1: UNSET: parameter not set\n", code: 2, status: verdict.Unverified},
		{text: "`" + byPath + " ${X:?}` exits 2", code: 2, status: verdict.Unverified},
		{text: "`" + byPath + " $((1/0))` fails", code: 2, status: verdict.Unverified},
		{text: "`" + byPath + " <&9` fails", code: 2, status: verdict.Unverified},
		{text: "`sh -c 'exit 3; " + byPath + "'` exits 3", code: 3, status: verdict.Unverified},
		{text: "`sh -c 'exit 3; tool'` exits 3", code: 3, same: true, status: verdict.Unverified},
		{text: "`true || tool` succeeds", same: true, status: verdict.Unverified},
		{text: "`true || " + byPath + "` prints nothing", status: verdict.Unverified},
		{text: "`true || " + byPath + "` finishes within 1s", status: verdict.Unverified},
		{text: "`exit 0; tool` succeeds", same: true, status: verdict.Unverified},
		{text: "`trap 'exit 0' EXIT; tool bad` succeeds", same: true, status: verdict.Unverified},

		{text: "`" + byPath + " < missing` prints an error message", complaint: "/bin/sh: 1: cannot open missing: No such file\n", code: 2, status: verdict.Unverified},
		{text: "`tool < missing` prints an error message", complaint: "/bin/sh: 1: cannot open missing: No such file\n", code: 2, same: true, status: verdict.Unverified},
		{text: "`tool < missing` prints `cannot open`", complaint: "/bin/sh: 1: cannot open missing: No such file\n", code: 2, same: true, status: verdict.Unverified},
		{text: "`tool < in` prints `bad input`", complaint: "bad input\n", code: 2, status: verdict.Met},
		{text: "`" + byPath + " < in` prints `bad input`", complaint: "bad input\n", code: 2, status: verdict.Unverified},
		{text: "`" + byPath + " < in` prints `fine`", out: "fine\n", status: verdict.Met},
		{text: "`" + byPath + " > log` with an error message", complaint: "sh: 1: x\ntool: bad\n", status: verdict.Met},
		{text: "`sh " + byPath + "` with an error message", complaint: "/bin/sh: 3: x: not found\n", status: verdict.Unverified},
		{text: "`f() { " + byPath + "; }; echo hi` prints `hi`", out: "hi\n", status: verdict.Unverified},
		{text: "`f() { tool; }; echo hi` prints `hi`", out: "hi\n", same: true, status: verdict.Unverified},
		{text: "`tool; printf bye` prints `bye`", out: "bye", same: true, status: verdict.Unverified},
		{text: "`tool; printf bye` prints `hello`", out: "hello\nbye", status: verdict.Met},
		{text: "`printf bye && " + byPath + "` prints `bye`", out: "bye", status: verdict.Unverified},
		{text: "after `true || " + byPath + "`, `cat x` prints `hi`", out: "hi", status: verdict.Unverified},
		{text: "after `" + byPath + " x`, `cat x` prints `hi`", out: "hi", status: verdict.Met},
		{text: "after `" + byPath + " x`, `cat x || true` exits 0", status: verdict.Unverified},
		{text: "after `tool x`, `PATH=/x cat y` exits 0", status: verdict.Unverified},
	}
	for _, tt := range tests {
		b := box()
		b.Programs["sh"] = "/usr/bin/sh"
		b.Files[byPath] = sandbox.File{Type: "file"}
		tree, err := Parse(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		b.Play = func(c *scriptbox.Call) sandbox.Exit {
			if c.Line != tree.Command.Text && strings.Join(c.Args, " ") != strings.ReplaceAll(tree.Command.Text, "'", "") || len(c.Spec.Decoys) > 0 && !tt.same {
				return scriptbox.Exit(0)
			}
			c.Print(tt.out)
			c.Complain(tt.complaint)
			return scriptbox.Exit(tt.code)
		}
		report, err := New(Options{}).Validate(context.Background(), b, task(tt.text))
		if err != nil || len(report.Criteria) != 1 || report.Criteria[0].Status != tt.status {
			t.Errorf("%s: %+v, %v", tt.text, report, err)
		}
	}
}

// A tool of the artifact that stands before the image's of the same name is no judge of another one of the artifact.
func TestArtifactsOwnTools(t *testing.T) {
	for text, want := range map[string]verdict.Status{
		"`tool | grep nonsense` succeeds":                          verdict.Unverified,
		"`tool | grep nonsense` prints `x`":                        verdict.Unverified,
		"`/validate/artifact/tool | grep x` prints `x`":            verdict.Unverified,
		"after `tool write x y`, `grep x y` exits 0":               verdict.Unverified,
		"after `tool write x y`, `env grep x y` exits 0":           verdict.Unverified,
		"after `tool write x y`, `xargs -n 1 grep y` exits 0":      verdict.Unverified,
		"after `tool write x y`, `sh -c 'grep x y'` exits 0":       verdict.Unverified,
		"after `grep x y`, `tool say x` prints `x`":                verdict.Unverified,
		"`grep say x` prints `x`":                                  verdict.Met, // it is what is looked at
		"`tool say grep` prints `grep`":                            verdict.Met,
		"after `tool write x y`, `other say x` prints `x`":         verdict.Met, // the image has no such program
		"after `tool write x y`, `cat say x` prints `x`":           verdict.Met,
		"after `tool write x y`, `cat say grep` prints `grep`":     verdict.Unverified,
		"after `PATH=/x grep y`, `tool say x` prints `x`":          verdict.Met,
		"after `tool write x y`, `timeout -k 5 5 grep x` succeeds": verdict.Unverified,
	} {
		b := box()
		for name, place := range map[string]string{"grep": "/validate/artifact/grep", "/usr/bin/grep": "/usr/bin/grep", "sh": "/bin/sh", "xargs": "/usr/bin/xargs"} {
			b.Programs[name] = place
		}
		task := task(text)
		task.Programs = append(task.Programs, "grep")
		report, err := New(Options{}).Validate(context.Background(), b, task)
		if err != nil || report.Criteria[0].Status != want {
			t.Errorf("%s: %+v, %v", text, report, err)
		} else if e := report.Criteria[0].Evidence; want == verdict.Unverified && !strings.Contains(e, "own") {
			t.Errorf("%s: %s", text, e)
		}
	}
}

// A session that cannot be closed does not take back what was seen to be wrong.
func TestSessionDoesNotClose(t *testing.T) {
	for text, want := range map[string]verdict.Status{
		"`tool` exits 0": verdict.Blocked, "`tool` exits 1": verdict.Unmet, "`tool say $(cat) | cat` exits 0": verdict.Blocked,
		"after `tool code x`, `tool` exits 0": verdict.Blocked,
	} {
		b := box()
		b.CloseErr = errors.New("its directory stays")
		report, err := New(Options{}).Validate(context.Background(), b, task(text))
		if err != nil || report.Criteria[0].Status != want {
			t.Errorf("%s: %+v, %v", text, report, err)
		}
		lost := box()
		lost.Play = func(c *scriptbox.Call) sandbox.Exit {
			lost.CloseErr = &sandbox.LostError{Cause: sandbox.CauseMemory}
			return play(c)
		}
		report, err = New(Options{}).Validate(context.Background(), lost, task(text))
		if unmet := len(report.Criteria) == 1 && report.Criteria[0].Status == verdict.Unmet; err == nil || unmet != (want == verdict.Unmet) {
			t.Errorf("%s, lost: %+v, %v", text, report, err)
		}
	}
}
