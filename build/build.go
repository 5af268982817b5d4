// Package build runs validate.build, on the host or in a container. The command is not trusted: it sees an environment of
// chosen names only, has a time limit, and nothing of it is left when Run returns.
package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/proc"
	"github.com/trkr-dev/trkr-validate/internal/redact"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// Request describes a build.
type Request struct {
	Dir     string        // the worktree
	Command string        // for /bin/sh -c
	Env     []string      // the whole environment, NAME=value; see Environment
	Timeout time.Duration // must be positive
	Log     io.Writer     // all output as it comes; nil discards. The caller bounds it, see bound.NewWriter

	Secrets *redact.Redactor // taken out of what is told of the output, before it is cut into lines; nil: there are none
}

// Result of a build that ended with exit code 0.
type Result struct {
	Elapsed   time.Duration
	Leftovers []string      // names of processes that the build left running; they were killed
	Tail      string        // the last lines of the output, without secrets
	Changed   []string      // tracked files that a build in a container changed there; the worktree's are as they were
	Where     verdict.Build // for the record
}

// Run builds on the host. What the ticket is to blame for is a *verdict.Refusal: build_missing, build_failed, build_timeout. A Log
// that cannot be written is the environment's fault; the build went on to its end all the same. When ctx ends the
// build, its error is returned.
//
// Callers need proc.Dispatch at the start of main, and of TestMain.
func Run(ctx context.Context, r Request) (Result, error) {
	if strings.TrimSpace(r.Command) == "" {
		return Result{}, Missing(r.Dir)
	}
	last := newTail(r.Secrets)
	var log io.Writer = last
	if r.Log != nil {
		log = io.MultiWriter(last, r.Log)
	}
	ended, err := proc.Run(ctx, proc.Command{Script: r.Command, Dir: r.Dir, Env: r.Env, Output: log, Timeout: r.Timeout})
	res := Result{
		Elapsed: ended.Elapsed, Leftovers: ended.Leftovers, Tail: last.end(),
		Where: verdict.Build{Where: "host", MS: ended.Elapsed.Milliseconds()},
	}
	took := ended.Elapsed.Round(time.Millisecond)
	switch {
	case errors.Is(err, proc.ErrSupervision):
		return res, refuse(verdict.BuildFailed, res.Tail, []string{
			"a build must end by itself and with all of its processes; nothing that this one made was used",
		}, "%v", err)
	case err != nil && ctx.Err() != nil:
		return res, fmt.Errorf("running validate.build: %w", ctx.Err())
	case err != nil:
		return res, fault.Envf("build_unrunnable", []string{"see that the disk has room and that the worktree can be entered"}, "running validate.build: %w", err)
	case ended.TimedOut:
		return res, refuse(verdict.BuildTimeout, res.Tail, timeoutHints(), "validate.build was still running after %s and was stopped", r.Timeout)
	case ended.Signal != "":
		return res, refuse(verdict.BuildFailed, res.Tail, codeHints(r.Command, -1), "validate.build was ended by a signal (%s) after %s", ended.Signal, took)
	case ended.Code != 0:
		return res, refuse(verdict.BuildFailed, res.Tail, codeHints(r.Command, ended.Code), "validate.build ended with exit code %d after %s", ended.Code, took)
	}
	return res, nil
}

func refuse(reason verdict.Reason, tail string, hints []string, format string, args ...any) error {
	detail := fmt.Sprintf(format, args...)
	if tail == "" {
		detail += "; it printed nothing"
	} else {
		detail += "; the last it printed:\n" + tail
	}
	return &verdict.Refusal{Reason: reason, Detail: detail, Hints: hints}
}

func timeoutHints() []string {
	return []string{`raise "build_timeout" under "validate" if the build needs more time`}
}

// codeHints tells what an exit code means that is not the build's own, and how to see the build fail.
func codeHints(command string, code int) (hints []string) {
	switch code {
	case 126:
		hints = append(hints, "exit code 126 means that a program was found but could not be run: see that it is executable")
	case 127:
		hints = append(hints, "exit code 127 means that a program was not found: the build sees the PATH of whoever started this",
			`variables beyond a fixed list must be named: "env": ["NAME"] under "validate"`)
	}
	return append(hints, "build.log in the run folder has all of its output; to see it fail, run this where the ticket is checked out: "+command)
}
