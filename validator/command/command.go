// Package command is the agent that the user brings: a command that lives in the box and prints a report.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/plain"
	"github.com/trkr-dev/trkr-validate/internal/redact"
	"github.com/trkr-dev/trkr-validate/internal/service"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/validator"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// Options of the agent.
type Options struct {
	Argv    []string // must not be empty, and is not expanded
	Env     []string // NAME=value, for the agent's process alone
	Secrets []string // values that stand in no report and no transcript
}

// New makes an agent that runs a command in the box.
func New(o Options) validator.Agent {
	return agent{argv: slices.Clone(o.Argv), env: slices.Clone(o.Env), secrets: redact.New(o.Secrets...)}
}

type agent struct {
	argv, env []string
	secrets   *redact.Redactor
}

func (agent) Name() string           { return "command" }
func (agent) Version() string        { return "1" }
func (agent) Trust() validator.Trust { return validator.Inside }

// Validate runs the command in /validate, where it finds contract.md and artifact/, with the image's programs and then
// the artifact's on PATH and nothing on stdin. What it prints on stdout is its final response; stderr goes to the transcript. It is not
// told which assertions are open: it reports on the whole contract. A command that does not end with exit code 0 is a
// diagnostic, and so is a response of more than task.Output bytes, which is read all the same.
func (a agent) Validate(ctx context.Context, box sandbox.Sandbox, task validator.Task) (report verdict.Report, err error) {
	if err := a.hidden(ctx, box, task, &report); err != nil || len(report.Diagnostics) > 0 {
		return report, err
	}
	services, why, err := service.Start(ctx, box, task, "")
	defer func() { err = errors.Join(err, services.Close()) }()
	if err != nil {
		return report, err
	}
	if why != "" {
		for _, a := range task.Contract.Assertions {
			report.Criteria = append(report.Criteria, verdict.Reported{ID: a.ID, Status: verdict.Blocked, Evidence: why})
		}
		report.Conclude()
		return report, nil
	}
	path := strings.Join(append([]string{box.Info().Path}, task.Path...), ":")
	s, err := box.Open(ctx, sandbox.SessionSpec{Role: sandbox.RoleAgent, Env: []string{"PATH=" + path}})
	if err != nil {
		return verdict.Report{}, fmt.Errorf("opening a session for the agent: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()

	log := plain.New(task.Transcript)
	line := strings.Join(a.argv, " ")
	logErr := log.Printf("agent $ %s", line)
	response, write := io.Pipe()
	parsed := make(chan error, 1)
	go func() {
		var err error
		report, err = verdict.ParseReport(response, task.Contract)
		parsed <- err
	}()
	answered := &answer{to: write, log: log.Stream("  out| ")}
	said := log.Stream("  err| ")
	// Secrets go before anything is cut, quoted or split into lines.
	stdout, stderr := a.secrets.Writer(answered), a.secrets.Writer(said)
	exit, err := s.Run(ctx, sandbox.Command{
		Args: a.argv, Dir: sandbox.Root, Env: a.env, Stdout: stdout, Stderr: stderr, Timeout: max(task.Timeout, time.Millisecond),
	})
	logErr = errors.Join(logErr, stdout.Close(), stderr.Close())
	write.Close()
	parseErr := <-parsed
	logErr = errors.Join(logErr, answered.log.Close(), said.Close(), log.Printf("  %s", exit))
	if err != nil {
		return report, fmt.Errorf("running the agent: %w", err)
	}
	if parseErr != nil {
		return report, fmt.Errorf("reading the agent's response: %w", parseErr)
	}
	if task.Ran != nil {
		task.Ran(validator.Ran{Command: line, Exit: exit})
	}
	diagnose(&report, exit)
	if answered.n > task.Output {
		report.Diagnose(verdict.AgentOutputLimit, fmt.Sprintf("the response has %d bytes, more than the %d that it may have", answered.n, task.Output))
	}
	for _, r := range report.Criteria {
		if task.Reported != nil {
			task.Reported(r)
		}
	}
	if logErr != nil {
		return report, fmt.Errorf("writing the transcript: %w", logErr)
	}
	return report, nil
}

// hidden diagnoses names that mean one program in the image and another in the artifact: the agent would judge the one
// or be fooled by the other, and cannot know. The agent's own program must be the image's, or named by its path.
func (a agent) hidden(ctx context.Context, box sandbox.Sandbox, task validator.Task, report *verdict.Report) error {
	names := slices.Clone(task.Programs)
	if !strings.Contains(a.argv[0], "/") {
		names = append(names, a.argv[0])
	}
	if len(names) == 0 || len(task.Path) == 0 {
		return nil
	}
	image, err := look(ctx, box, box.Info().Path, names)
	if err != nil {
		return err
	}
	subject, err := look(ctx, box, strings.Join(task.Path, ":"), names)
	if err != nil {
		return err
	}
	for i, name := range names {
		switch {
		case subject[i] == "" || subject[i] == image[i]:
		case name == a.argv[0]:
			report.Diagnose(verdict.AgentFailed, fmt.Sprintf("the agent's own program %q is the artifact's (%s): name it by its path in the image", name, subject[i]))
		case image[i] != "":
			report.Diagnose(verdict.AgentFailed, fmt.Sprintf("%q is a program of the artifact (%s) and of the image (%s): use an image without it", name, subject[i], image[i]))
		}
	}
	return nil
}

func look(ctx context.Context, box sandbox.Sandbox, path string, names []string) (found []string, err error) {
	s, err := box.Open(ctx, sandbox.SessionSpec{Role: sandbox.RoleAgent, Env: []string{"PATH=" + path}})
	if err != nil {
		return nil, fmt.Errorf("opening a session for the agent: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.LookPath(ctx, names...)
}

// answer passes the response on and counts it.
type answer struct {
	to  io.Writer
	log io.WriteCloser
	n   int64
}

func (a *answer) Write(p []byte) (int, error) {
	a.n += int64(len(p))
	if _, err := a.log.Write(p); err != nil {
		return 0, err
	}
	return a.to.Write(p)
}

// diagnose tells how the agent ended, where that was not well.
func diagnose(r *verdict.Report, e sandbox.Exit) {
	said := "the agent: " + e.String()
	switch {
	case e.Cause == sandbox.CauseDeadline:
		r.Diagnose(verdict.AgentDeadline, said)
	case e.Cause == sandbox.CauseOutput:
		r.Diagnose(verdict.AgentOutputLimit, said)
	case e.Cause == sandbox.CauseMemory:
		r.Diagnose(verdict.AgentMemory, said)
	case !e.Ran(), e.Cause == sandbox.CausePids, e.Cause == sandbox.CauseKilled:
		r.Diagnose(verdict.AgentFailed, said)
	case e.Signal != "":
		r.Diagnose(verdict.AgentSignal, said)
	case e.Cause != "":
		r.Diagnose(verdict.AgentFailed, said)
	case e.Code != 0:
		r.Diagnose(verdict.AgentExit, said)
	}
}
