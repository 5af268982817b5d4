package command

import (
	"context"
	"errors"
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

var twoLines = contract.Contract{Assertions: []contract.Assertion{{ID: "VAL-1", Text: "one"}, {ID: "VAL-2", Text: "two"}}}

const good = "CRITERION: pass — VAL-1: ran it, saw 1\nCRITERION: pass — VAL-2: ran it, saw 2\nVERDICT: CLEAR\n"

func task(transcript *strings.Builder) validator.Task {
	return validator.Task{
		Contract: twoLines, Assertions: twoLines.Assertions[1:], Path: []string{"/validate/artifact/bin"},
		Timeout: time.Minute, Output: 1000, Transcript: transcript, Ran: func(validator.Ran) {},
	}
}

func TestValidate(t *testing.T) {
	died := func(c sandbox.Cause, signal string) sandbox.Exit { return scriptbox.Died(c, signal) }
	tests := []struct {
		name        string
		say         string
		exit        sandbox.Exit
		diagnostics []string
		outcome     verdict.Outcome
	}{
		{"good", good, scriptbox.Exit(0), nil, verdict.Clear},
		{"a fail", "CRITERION: fail — VAL-1: saw 2\nCRITERION: pass — VAL-2: saw 2\nVERDICT: BLOCKING\n", scriptbox.Exit(0), nil, verdict.Blocking},
		{"nothing said", "", scriptbox.Exit(0), []string{verdict.VerdictMissing, verdict.CriterionMissing}, verdict.Incomplete},
		{"exit code", good, scriptbox.Exit(3), []string{verdict.AgentExit}, verdict.Incomplete},
		{"signal", good, died(sandbox.CauseUnknown, "SIGSEGV"), []string{verdict.AgentSignal}, verdict.Incomplete},
		{"deadline", good, died(sandbox.CauseDeadline, "SIGKILL"), []string{verdict.AgentDeadline}, verdict.Incomplete},
		{"output limit", good, died(sandbox.CauseOutput, "SIGKILL"), []string{verdict.AgentOutputLimit}, verdict.Incomplete},
		{"memory", good, died(sandbox.CauseMemory, "SIGKILL"), []string{verdict.AgentMemory}, verdict.Incomplete},
		{"memory of a child", good, sandbox.Exit{Cause: sandbox.CauseMemory}, []string{verdict.AgentMemory}, verdict.Incomplete},
		{"pids", good, died(sandbox.CausePids, "SIGABRT"), []string{verdict.AgentFailed}, verdict.Incomplete},
		{"not found", "", died(sandbox.CauseNotFound, ""), []string{verdict.AgentFailed}, verdict.Incomplete},
		{"long", strings.Repeat("thinking\n", 1000) + good, scriptbox.Exit(0), []string{verdict.AgentOutputLimit}, verdict.Incomplete},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			box := &scriptbox.Box{Path: "/usr/bin", Play: func(c *scriptbox.Call) sandbox.Exit {
				c.Complain("trying\x1b[2J\n")
				for _, half := range []string{tt.say[:len(tt.say)/2], tt.say[len(tt.say)/2:]} {
					c.Print(half)
				}
				return tt.exit
			}}
			var transcript strings.Builder
			task := task(&transcript)
			var ran []validator.Ran
			task.Ran = func(r validator.Ran) { ran = append(ran, r) }
			report, err := New(Options{Argv: []string{"judge", "-v"}}).Validate(context.Background(), box, task)
			if err != nil {
				t.Fatal(err)
			}
			var codes []string
			j := verdict.Judge(twoLines, []verdict.AgentReport{{Agent: "command", Report: report}})
			for _, d := range j.Diagnostics {
				codes = append(codes, d.Code)
			}
			for _, want := range tt.diagnostics {
				if !slices.Contains(codes, want) {
					t.Errorf("diagnostics %q, want %q", codes, want)
				}
			}
			if tt.diagnostics == nil && codes != nil || j.Outcome != tt.outcome {
				t.Errorf("outcome %s, diagnostics %q", j.Outcome, codes)
			}
			if len(ran) != 1 || ran[0].Command != "judge -v" || ran[0].Exit != tt.exit {
				t.Errorf("ran %+v", ran)
			}
			if got := transcript.String(); !strings.Contains(got, `err| trying\x1b[2J`) || strings.Contains(got, "\x1b") || !strings.Contains(got, "agent $ judge -v") {
				t.Errorf("transcript %q", got)
			}
			s := box.Sessions[len(box.Sessions)-1]
			if !s.Closed || s.Spec.Role != sandbox.RoleAgent || !slices.Equal(s.Spec.Env, []string{"PATH=/usr/bin:/validate/artifact/bin"}) ||
				s.Calls[0].Command.Dir != "/validate" || s.Calls[0].Stdin != nil || s.Calls[0].Timeout != time.Minute {
				t.Errorf("session %+v, command %+v", s.Spec, s.Calls[0].Command)
			}
		})
	}
}

func TestLostBox(t *testing.T) {
	lost := &sandbox.LostError{Cause: sandbox.CauseMemory}
	box := &scriptbox.Box{OpenErr: lost}
	var transcript strings.Builder
	if _, err := New(Options{Argv: []string{"judge"}}).Validate(context.Background(), box, task(&transcript)); !errors.Is(err, lost) {
		t.Errorf("Open: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	box = &scriptbox.Box{}
	if _, err := New(Options{Argv: []string{"judge"}}).Validate(ctx, box, task(&transcript)); !errors.Is(err, context.Canceled) || !box.Sessions[0].Closed {
		t.Errorf("Run: %v", err)
	}
}

// The agent's variables go to its one command, and what they hold is gone before its words are cut or quoted, wherever a
// write ends.
func TestSecretsOfTheAgent(t *testing.T) {
	const key = "sk-0123456789"
	box := &scriptbox.Box{Path: "/usr/bin", Play: func(c *scriptbox.Call) sandbox.Exit {
		for _, half := range []string{"CRITERION: pass — VAL-1: the key is sk-0123", "456789 and more\nCRITERION: pass — VAL-2: saw\nVERDICT: CLEAR\n"} {
			c.Print(half)
		}
		c.Complain("sk-01234")
		c.Complain("56789")
		return scriptbox.Exit(0)
	}}
	var transcript strings.Builder
	report, err := New(Options{Argv: []string{"judge"}, Env: []string{"KEY=" + key, "MODE=fast"}, Secrets: []string{key}}).
		Validate(context.Background(), box, task(&transcript))
	if err != nil || report.Criteria[0].Evidence != "the key is [REDACTED] and more" || len(report.Diagnostics) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
	if got := transcript.String(); strings.Contains(got, "sk-0") || !strings.Contains(got, "err| [REDACTED]") {
		t.Errorf("transcript %q", got)
	}
	s := box.Sessions[len(box.Sessions)-1]
	if !slices.Equal(s.Calls[0].Command.Env, []string{"KEY=" + key, "MODE=fast"}) || strings.Contains(strings.Join(s.Spec.Env, " "), key) {
		t.Errorf("the command got %q, the session %q", s.Calls[0].Command.Env, s.Spec.Env)
	}
}
