package probe

import (
	"context"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/internal/scriptbox"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// Each outcome is met by what it says and by nothing near it.
func TestEachOutcome(t *testing.T) {
	const yes, not, open, shut = verdict.Met, verdict.Unmet, verdict.Unverified, verdict.Blocked
	tests := []struct {
		text   string
		status verdict.Status
		why    string
	}{
		{"`tool code x` exits 0 or 1", yes, ""},
		{"`tool code xx` exits 0 or 1", not, "expected exit code 0 or 1, got 2"},
		{"`tool` does not exit 0", not, ""},
		{"`tool code x` does not exit 0", yes, ""},
		{"`tool code x` does not crash", yes, ""},
		{"`tool crash` does not crash", not, "SIGSEGV"},
		{"`tool exit139` does not crash", open, "signal 11"},
		{"`tool` is rejected", not, ""},

		{"`tool lines a b` prints `x` or `b`", yes, ""},
		{"`tool lines a b` prints `x` or `y`", not, "expected `x` or `y`"},
		{"`tool lines a b` prints `a` before `b`", yes, `"a\nb"`},
		{"`tool lines b a` prints `a` before `b`", not, ""},
		{"`tool lines b a b` prints `a` before `b`", not, ""},
		{"`tool lines a b a` prints `a`, then `b`", yes, ""},
		{"`tool lines 10 1` prints `1` before `10`", not, ""},
		{"`tool both` prints `out` before `err`", not, ""},
		{"`tool lines a b c` prints `a`, `b` and `c` in this order", yes, ""},
		{"`tool lines a c b` prints `a`, `b` and `c` in this order", not, ""},
		{"`tool lines a b a` prints `a` twice", yes, ""},
		{"`tool lines a b a` prints `a` once", not, "got 2"},
		{"`tool lines a a a` prints `a` twice", not, "got 3"},
		{"`tool lines a a a` prints `a` at least 2 times", yes, ""},
		{"`tool lines a a a` prints `a` at most 2 times", not, ""},
		{"`tool crash` prints `a` at most 2 times", not, "SIGSEGV"},
		{"`tool exit127` prints `a` at most 2 times", open, ""},
		{"`tool flood` prints `x` at most 2 times", open, "were not looked at"},
		{"`tool warn x` prints something to stderr", yes, ""},
		{"`tool say x` prints something to stderr", not, ""},
		{"`tool lines a ab` prints the line `a`", yes, ""},
		{"`tool lines aa ab` prints the line `a`", not, ""},
		{"`tool lines a b` prints no line matching `/^c/`", yes, ""},
		{"`tool lines a b` prints no line matching `/^b/`", not, "stdout has"},
		{"`tool exit127` prints no line matching `/^b/`", open, ""},
		{"`tool lines a b c` prints at least 3 lines", yes, ""},
		{"`tool lines a b` prints at least 3 lines", not, "2 on stdout"},
		{"`tool lines a b c` prints more than 3 lines", not, ""},
		{"`tool lines a b` prints at most 2 lines", yes, ""},
		{"`tool lines a b c` prints at most 2 lines", not, ""},
		{"`tool lines a b c` prints fewer than 3 lines", not, ""},
		{"`tool lines ax cx` prints 2 lines containing `x`", yes, ""},
		{"`tool lines ax b cx` prints 2 lines containing `x`", open, "whether there may be others"},
		{"`tool lines a b cx d` prints exactly one line containing `x`", open, "1 of 4 lines"},
		{"`tool lines ax b cx` prints at least 2 lines containing `x`", yes, ""},
		{"`tool say 13` exits 0 with output `3`", not, ""},
		{"`tool say 13` exits 0 with output `13`", yes, ""},
		{"`tool both` exits 0 with output `out`", not, "nothing else"},
		{"`tool both` exits 0 with output `out` on stdout", yes, ""},
		{"`tool both` prints `err` and nothing else", not, ""},
		{"`tool both`: the output starts with `err`", open, "both streams"},
		{"`tool both`: the output is exactly `err`", not, ""},
		{"`tool both`: stderr starts with `err`", yes, ""},
		{"`tool both`: the output does not match `/err/`", not, ""},
		{"given a file `a`, `tool refuse a` does not crash", open, "may be a crash"},
		{"`tool code x` finishes within 2s", open, "whether it has to succeed"},
		{"`tool code x` fails within 2s", yes, ""},
		{"`tool` finishes within 2s", yes, ""},
		{"`tool usage` prints a usage message containing `[flags]`", yes, ""},
		{"`tool usage` prints a usage message containing `bad flag`", open, "in front of"},
		{"`tool usage` prints a usage message containing `none`", not, ""},
		{"`tool usage` prints a usage message to stdout containing `[flags]`", not, ""},
		{"`tool lines 1 10 2` prints sorted lines", open, "as texts"},
		{"`tool lines 1 2 10` prints sorted lines", open, "as numbers"},
		{"`tool lines 1 2 3` prints sorted lines", yes, ""},
		{"`tool write a 13` creates the file `a` with content `3`", not, ""},
		{"`tool write a 13` creates the file `a` with content `13`", yes, ""},
		{"`tool write a 13` creates the file `a` containing `3`", yes, ""},
		{"`tool lines ax b cx` prints 1 line containing `x`", not, "got 2"},
		{"`tool lines a b`: the first line is `a`", yes, ""},
		{"`tool lines a b`: the first line is `b`", not, ""},
		{"`tool lines a b`: the last line is `b`", yes, ""},
		{"`tool lines a b`: line 2 is `b`", yes, ""},
		{"`tool lines a b`: line 3 is `b`", not, ""},
		{"`tool lines a b`: every line matches `/^[a-z]$/`", yes, ""},
		{"`tool lines a 1`: every line matches `/^[a-z]$/`", not, ""},
		{"`tool`: every line matches `/^[a-z]$/`", not, ""},
		{"`tool say abc`: the output starts with `ab`", yes, ""},
		{"`tool say abc`: the output starts with `bc`", not, ""},
		{"`tool say abc`: stdout ends with `bc`", yes, ""},
		{"`tool say abc`: stdout matches `/^abc$/`", yes, ""},
		{"`tool lines abc d`: stdout matches `/^abc$/`", not, ""},
		{"`tool say abc`: stdout does not match `/b/`", not, "stdout is"},
		{"`tool say abc`: stdout does not match `/x/`", yes, ""},
		{"`tool exit127`: stdout is not `x`", open, ""},
		{"`tool say abc`: stderr is empty", yes, ""},
		{"`tool warn abc`: stderr is empty", not, ""},
		{"`tool say v1.2` prints a version number", yes, ""},
		{"`tool say 12` prints a version number", not, ""},
		{"`tool say v1.2.3-rc.1+b` prints a semantic version", yes, ""},
		{"`tool say 1.2` prints a semantic version", not, ""},
		{"`tool say 1.2.3.4` prints a semantic version", not, ""},
		{"`tool say 01.2.3` prints a semantic version", not, ""},
		{"`tool lines a b c` prints sorted lines", yes, ""},
		{"`tool lines a c b` prints sorted lines", not, ""},
		{"`tool lines B a` prints sorted lines", open, "upper and lower case"},
		{"`tool lines a` prints sorted lines", open, "too few"},
		{"`tool lines c b a` prints lines in descending order", yes, ""},
		{"after `tool say a`, `tool say a` prints the same output", yes, ""},
		{"after `tool say ab`, `tool say ax` prints the same output", not, `"a" | "x\n"`},
		{"after `tool`, `tool` prints the same output", open, "nothing was printed"},
		{"`tool count` run twice prints the same output", not, ""},
		{"`tool say x` run twice prints the same output", yes, ""},
		{"`tool say a` prints the same output as `tool say a`", yes, ""},
		{"`tool say a` prints the same output as `tool say b`", not, ""},

		{"`tool say [1,2]` prints valid JSON", yes, ""},
		{"`tool say [1,2` prints valid JSON", not, "unexpected EOF"},
		{"`tool say 1 2` prints valid JSON", not, "something follows"},
		{"`tool` prints valid JSON", not, "it is empty"},
		{"`tool warn 1` prints valid JSON", not, ""},
		{"`tool warn 1` prints valid JSON to stderr", yes, ""},
		{"`tool say [1,2]` prints a JSON object", not, ""},
		{"`tool say [1,2]` prints a JSON array", yes, ""},
		{"`tool say [1,2]` prints JSON where `length == 2`", yes, ""},
		{"`tool say [1,2]` prints JSON where `length == 3`", not, "got false"},
		{"`tool say [1,2]` prints JSON where `.[] == 1`", not, "got false"},
		{"`tool say []` prints JSON where `.[] == 1`", not, "gave nothing"},
		{"`tool say [1,2]` prints JSON where `length`", open, "neither true nor false"},
		{"`tool say [1,2]` prints JSON where `.a`", not, "the error"},
		{"`tool say [1]` prints JSON where `env | length == 0`", yes, ""},
		{`after ` + "`tool`" + `, ` + "`tool say {\"a\":1}` prints JSON equal to `{\"a\": 1.0}`", yes, ""},
		{"`tool say {\"a\":1}` prints JSON equal to `{\"a\": 2}`", not, ""},
		{"`tool say {\"a\":1}` prints JSON with the key `a`", yes, ""},
		{"`tool say {\"a\":1}` prints JSON with the key `b`", not, ""},
		{"`tool lines 1 2` prints one JSON value per line", yes, ""},
		{"`tool lines 1 x` prints one JSON value per line", not, ""},
		{"`tool lines 1 2` prints one JSON object per line", not, ""},
		{"`tool` prints one JSON value per line", not, ""},
		{"`tool write a [1]` exits 0 and the file `a` is valid JSON", yes, ""},
		{"`tool write a [1` exits 0 and the file `a` is valid JSON", not, ""},

		{"`tool` does not create `a`", yes, ""},
		{"`tool write a x` does not create `a`", not, ""},
		{"`tool exit127` does not create `a`", open, ""},
		{"given a file `a`, `tool` does not create `a`", shut, "was there before"},
		{"`tool` creates nothing", yes, ""},
		{"`tool write a x` creates nothing", not, `"./a"`},
		{"given a file `b`, `tool` creates nothing", yes, ""},
		{"`tool write a x` writes the file `a`", yes, ""},
		{"given a file `a` containing `y`, `tool write a x` writes the file `a`", yes, ""},
		{"given a file `a` containing `x`, `tool write a x` writes the file `a`", open, "the same as then"},
		{"`tool` writes the file `a`", not, ""},
		{"given a file `a`, `tool` does not remove `a`", yes, ""},
		{"given a file `a`, `tool rm a` does not remove `a`", not, ""},
		{"given a file `a`, `tool rm a` removes `a`", yes, ""},
		{"given a file `a` containing `y`, `tool write a x` changes the file `a`", yes, ""},
		{"given a file `a` containing `x`, `tool write a x` changes the file `a`", not, "still"},
		{"`tool write a x` changes the file `a`", shut, ""},
		{"`tool write a x` exits 0 and `a` exists", yes, ""},
		{"`tool` exits 0 and `a` exists", not, ""},
		{"given a file `a`, `tool` exits 0 and `a` exists", yes, ""},
		{"`tool write a x` exits 0 and `a` does not exist", not, ""},
		{"given a file `a`, `tool rm a` exits 0 and `a` no longer exists", yes, ""},
		{"`tool` exits 0 and `a` no longer exists", shut, ""},
		{"`tool write a xyz`: the file `a` contains `y`", yes, ""},
		{"`tool write a xyz`: the file `a` is exactly `xyz`", yes, ""},
		{"`tool write a xyz`: the file `a` is exactly `xy`", not, `"xy" | "z"`},
		{"`tool write a xyz`: the file `a` does not contain `y`", not, ""},
		{"`tool`: the file `a` does not contain `y`", not, "nothing is there"},
		{"`tool write a xyz`: `a` is not empty", yes, ""},
		{"`tool write a x`: `a` is empty", not, ""},
		{"`tool write a xyz`: `a` has 1 line", yes, ""},
		{"`tool write a xyz`: `a` has 2 lines", not, ""},
		{"`tool write a xyz`: `a` has mode 0644", yes, ""},
		{"`tool write a xyz`: `a` has mode 0600", not, "got 0644"},
		{"`tool write a xyz`: `a` is executable", not, ""},
		{"`tool big`: `big` contains `y`", open, "were looked at"},

		{"`tool refuse a` fails if `a` already exists", yes, ""},
		{"`tool write a x` fails if `a` already exists", not, ""},
		{"when `a` does not exist, `tool refuse a` succeeds", yes, ""},
		{"after `tool write a x`, when `a` does not exist, `tool refuse a` succeeds", shut, "there is"},
		{"given a file `a` containing `old`, `tool refuse a` refuses to overwrite `a`", yes, ""},
		{"given a file `a` containing `old`, `tool write a x` refuses to overwrite `a`", not, ""},
		{"`tool env` with `B=2` and `A=1` set prints `A=1 B=2`", yes, ""},
		{"given a directory `sub`, `tool env` in the directory `sub` prints `in /sub`", yes, ""},
		{"`tool env` in the directory `sub` prints `in /sub`", shut, "is not there"},
		{"given a directory `sub`, `./tool` in the directory `sub` exits 0", open, "relative path"},
	}
	for _, tt := range tests {
		report, err := New(Options{}).Validate(context.Background(), box(), task(tt.text))
		if err != nil || len(report.Criteria) != 1 {
			t.Fatalf("%s: %+v, %v", tt.text, report, err)
		}
		if got := report.Criteria[0]; got.Status != tt.status || !strings.Contains(got.Evidence, tt.why) {
			t.Errorf("%s\n%s: %s\nwant %s: %s", tt.text, got.Status, got.Evidence, tt.status, tt.why)
		}
	}
}

// A server is asked from a session beside it and stopped; what it did until then counts.
func TestServers(t *testing.T) {
	const asked = " answers `GET http://127.0.0.1:8080/x` with 200"
	answer := func(s string) func(sandbox.Talk) sandbox.Reply {
		return func(sandbox.Talk) sandbox.Reply { return sandbox.Reply{Connected: true, Data: []byte(s)} }
	}
	ok := answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
	other := func(sandbox.Talk) sandbox.Reply { return sandbox.Reply{Connected: true, Other: true} }
	tests := []struct {
		text   string
		answer func(sandbox.Talk) sandbox.Reply
		status verdict.Status
		why    string
	}{
		{"`tool serve`" + asked, ok, verdict.Met, "answered 200"},
		{"`tool serve`" + asked + " and a body containing `ell`", ok, verdict.Met, `"hello"`},
		{"`tool serve`" + asked + " and a body containing `x`", ok, verdict.Unmet, `got "hello"`},
		{"`tool serve`" + asked + " and the body `hello`", ok, verdict.Met, ""},
		{"`tool serve`" + asked + " and the body `hell`", ok, verdict.Unmet, "differ"},
		{"`tool serve`" + asked + " and a body that is valid JSON", ok, verdict.Unmet, ""},
		{"`tool serve`" + asked + ", prints `listening`", ok, verdict.Met, ""},
		{"`tool serve`" + asked + ", prints `ready`", ok, verdict.Unverified, "stopped"},
		{"`tool serve`" + asked, answer("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"), verdict.Unmet, "got 404"},
		{"`tool serve`" + asked, answer("SSH-2.0\r\n"), verdict.Unmet, "no HTTP answer"},
		{"`tool serve`" + asked + " and a body containing `ell`", answer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"), verdict.Unverified, "whole"},
		{"`tool serve`" + asked + " within 1s", nil, verdict.Unmet, nobody},
		{"`tool`" + asked, ok, verdict.Unmet, "ended before"},
		{"`tool serve`" + asked, other, verdict.Blocked, "somebody else"},
	}
	for _, tt := range tests {
		b := box()
		up, ended := make(chan struct{}), make(chan struct{})
		b.Play = func(c *scriptbox.Call) sandbox.Exit {
			if c.Line != "tool serve" {
				close(ended)
				return scriptbox.Exit(0)
			}
			c.Print("listening\n")
			close(up)
			<-c.Done
			return scriptbox.Died(sandbox.CauseKilled, "SIGKILL")
		}
		calls := 0
		b.Answer = func(talk sandbox.Talk) sandbox.Reply {
			if calls++; calls == 1 || tt.answer == nil { // before the start
				return sandbox.Reply{}
			}
			select {
			case <-up:
				if of, ok := talk.Of.(*scriptbox.Session); !ok || len(of.Calls) == 0 {
					t.Errorf("%s: asked of %+v, which does not run the command", tt.text, talk.Of)
				}
				return tt.answer(talk)
			case <-ended:
				return sandbox.Reply{}
			}
		}
		report, err := New(Options{}).Validate(context.Background(), b, task(tt.text))
		if err != nil || len(report.Criteria) != 1 {
			t.Fatalf("%s: %+v, %v", tt.text, report, err)
		}
		if got := report.Criteria[0]; got.Status != tt.status || !strings.Contains(got.Evidence, tt.why) {
			t.Errorf("%s\n%s: %s\nwant %s: %s", tt.text, got.Status, got.Evidence, tt.status, tt.why)
		}
		for _, s := range b.Sessions {
			if !s.Closed {
				t.Errorf("%s: a session stays open", tt.text)
			}
		}
	}
	late := box() // it ends because somebody else, which is a service, has taken the port
	ended := make(chan struct{})
	late.Play = func(*scriptbox.Call) sandbox.Exit {
		close(ended)
		return scriptbox.Exit(1)
	}
	calls := 0
	late.Answer = func(talk sandbox.Talk) sandbox.Reply {
		if calls++; calls == 1 {
			return sandbox.Reply{}
		}
		if <-ended; talk.Of != nil {
			return sandbox.Reply{}
		}
		return ok(talk)
	}
	early := box()
	early.Answer = ok
	for _, b := range []*scriptbox.Box{late, early} {
		report, err := New(Options{}).Validate(context.Background(), b, task("`tool serve`"+asked))
		if err != nil || report.Criteria[0].Status != verdict.Blocked || !strings.Contains(report.Criteria[0].Evidence, "somebody else") {
			t.Errorf("%+v, %v", report, err)
		}
	}
}
