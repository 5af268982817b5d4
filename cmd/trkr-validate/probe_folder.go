package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/trkr-dev/trkr-validate/artifact"
	"github.com/trkr-dev/trkr-validate/contract"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/install"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/validator"
	"github.com/trkr-dev/trkr-validate/validator/gateway"
	"github.com/trkr-dev/trkr-validate/validator/probe"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// probeFolder seals a folder, shows it to a box and has the probe judge it.
func (a *app) probeFolder(ctx context.Context, s settings, o probeOptions, c contract.Contract, dir string) (j verdict.Judgement, err error) {
	v := s.Validate
	engine, _, err := a.choose(ctx, v.Engine, v.Image)
	if err != nil {
		return j, during("start", err)
	}
	if _, err := engine.Check(ctx); err != nil {
		return j, during("start", err)
	}
	temporary, err := os.MkdirTemp("", "trkr-probe-")
	if err != nil {
		return j, fault.Env("temporary", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	set, err := artifact.Collect(ctx, artifact.Options{
		Root: dir, Globs: []string{"**"}, Staging: filepath.Join(temporary, "staging"),
		MaxBytes: v.Limits.Artifacts, MaxFiles: v.Limits.Files, Platform: "linux/" + runtime.GOARCH,
	})
	if err != nil {
		return j, during("collect", err)
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	input := filepath.Join(temporary, "input")
	if err := set.Materialise(input, c.Format()); err != nil {
		return j, during("materialise", err)
	}
	limits := sandbox.Limits{Memory: v.Limits.Memory, CPUs: v.Limits.CPUs, Pids: v.Limits.Pids, Output: v.Limits.Output, Tmp: v.Limits.Tmp}
	box, err := engine.Start(ctx, sandbox.Spec{
		RunID: "probe-" + strings.ToLower(rand.Text()[:12]), Input: input, Image: v.Image, Mounts: v.Mounts, Hidden: []string{dir},
		Limits: limits,
	})
	if err != nil {
		return j, during("start", fmt.Errorf("starting the box: %w", err))
	}
	defer func() { err = errors.Join(err, box.Close()) }()
	seen, err := box.Inputs(ctx, math.MaxInt64)
	if err != nil {
		return j, during("start", err)
	}
	if err := set.Verify(seen, c.Format()); err != nil {
		return j, during("start", fault.Env("inputs_differ", fmt.Errorf("what arrived in the box is not what was sealed: %w", err)))
	}
	if _, _, err := sandbox.SelfCheck(ctx, box, limits); err != nil {
		return j, during("start", err)
	}
	deadline := time.Now().Add(v.Timeout)
	dirs, names := artifact.Programs(set.Manifest())
	installed, err := install.Run(ctx, box, install.Request{
		Commands: v.Install, Manifest: set.Manifest(), Path: dirs, Timeout: v.Timeout, Transcript: io.Discard, Ran: func(validator.Ran) {},
		Network: install.Network{Places: v.InstallFrom, Most: v.Limits.Artifacts, Seen: func(gateway.Seen) {}},
	})
	if err != nil {
		return j, during("install", err)
	}
	report := verdict.Report{}
	if f := installed.Failure; f != nil {
		for _, one := range c.Assertions {
			report.Criteria = append(report.Criteria, verdict.Reported{ID: one.ID, Status: verdict.Blocked, Evidence: f.Evidence()})
		}
		if finding, ok := f.Finding(); ok {
			report.Findings = append(report.Findings, finding)
		}
		report.Conclude()
	} else {
		agent := probe.New(o.box.trials.options(v.Prove))
		report, err = agent.Validate(ctx, box, validator.Task{
			Contract: c, Assertions: c.Assertions, Path: append(dirs, installed.Path...), Programs: append(names, installed.Programs...),
			Services: services(v.Services), Timeout: time.Until(deadline), Output: v.Limits.Output, Transcript: io.Discard, Reported: func(verdict.Reported) {}, Ran: func(validator.Ran) {},
		})
		// The subject may have ended the box on purpose: that is no fault of the environment.
		if lost, ok := errors.AsType[*sandbox.LostError](err); ok && lost.Started && !lost.Engine {
			report.Diagnose(verdict.BoxLost, lost.Error())
		} else if err != nil {
			return j, during("validate", err)
		}
	}
	if err := set.Unchanged(); err != nil {
		return j, during("judge", fault.Env("inputs_changed", err))
	}
	return verdict.Judge(c, []verdict.AgentReport{{Agent: "probe", Report: report}}), nil
}

// probed prints what was found, and ends with the outcome's code.
func (a *app) probed(j verdict.Judgement) error {
	record := verdict.Record{Outcome: j.Outcome, Criteria: j.Criteria, Findings: j.Findings, Diagnostics: j.Diagnostics}
	code := exitError
	switch j.Outcome {
	case verdict.Clear:
		code = exitClear
	case verdict.Blocking:
		code = exitBlocking
	case verdict.Incomplete:
		code = exitIncomplete
	}
	if a.json {
		if err := a.writeJSON(struct {
			SchemaVersion int                  `json:"schemaVersion"`
			Outcome       verdict.Outcome      `json:"outcome"`
			ExitCode      exitCode             `json:"exitCode"`
			Criteria      []verdict.Criterion  `json:"criteria"`
			Findings      []verdict.Finding    `json:"findings"`
			Diagnostics   []verdict.Diagnostic `json:"diagnostics"`
		}{1, j.Outcome, code, j.Criteria, j.Findings, j.Diagnostics}); err != nil {
			return err
		}
	} else {
		var b strings.Builder
		met := 0
		for _, c := range j.Criteria {
			if c.Status == verdict.Met {
				met++
			}
		}
		fmt.Fprintf(&b, "%s, %d of %d met\n", j.Outcome, met, len(j.Criteria))
		if !a.quiet {
			details(&b, record)
		}
		if err := a.printf("%s", b.String()); err != nil {
			return err
		}
	}
	if code != exitClear {
		return exitWith{code}
	}
	return nil
}
