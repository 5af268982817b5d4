package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/trkr-dev/trkr-validate/artifact"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// Run implements Place. The worktree is Artifacts.Root. It answers as the function Run does; what the globs match comes
// back where the build exited with 0, and nothing else changes in the worktree.
func (c Container) Run(ctx context.Context, r Request) (res Result, err error) {
	if strings.TrimSpace(r.Command) == "" {
		return Result{}, Missing(r.Dir)
	}
	there, err := artifact.NewElsewhere(c.Artifacts)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, there.Close()) }()
	said := &listener{log: r.Log, last: newTail(r.Secrets)}
	built, err := c.Builder.RunBuild(ctx, sandbox.Build{
		RunID: c.RunID, Image: c.Image, ImageDir: c.ImageDir, Cache: c.Cache, Limits: c.Limits,
		Script: r.Command, Env: r.Env, Timeout: r.Timeout, Tree: there.Send, Want: there.Want, Take: there.Fetch, Log: said,
	})
	i := built.Info
	res = Result{Elapsed: built.Exit.Elapsed, Leftovers: built.Leftovers, Tail: said.last.end(), Changed: there.Changed(), Where: verdict.Build{
		Where: "container", Engine: i.Engine, EngineVersion: i.EngineVersion, Image: c.Image, ImageDigest: i.ImageDigest, Limits: i.Limits,
		MS: built.Exit.Elapsed.Milliseconds(),
	}}
	switch {
	case err != nil && ctx.Err() != nil:
		return res, fmt.Errorf("running validate.build: %w", ctx.Err())
	case said.err != nil:
		return res, fault.Envf("build_unrunnable", []string{"see that the disk has room"}, "writing the output of validate.build: %w", said.err)
	case errors.Is(err, sandbox.ErrTooMuch):
		return res, &verdict.Refusal{
			Reason: verdict.ArtifactTooLarge, Detail: fmt.Sprintf("the tree that validate.build left could not be gone through within %s", sandbox.CarryLimit),
			Hints: []string{"have the build remove what it needs no longer, or make it in TMPDIR"},
		}
	case err != nil:
		return res, fmt.Errorf("running validate.build in a container: %w", err)
	}
	return res, c.judge(r, res, built.Exit)
}

// judge puts into words how a build ended that did not succeed.
func (c Container) judge(r Request, res Result, e sandbox.Exit) error {
	took := e.Elapsed.Round(time.Millisecond)
	hint := func(key string) []string {
		return []string{fmt.Sprintf(`raise %q under "limits" in "validate" if the build needs more`, key)}
	}
	switch {
	case e.Cause == sandbox.CauseDeadline:
		return refuse(verdict.BuildTimeout, res.Tail, timeoutHints(), "validate.build was still running after %s and was stopped", r.Timeout)
	case e.Cause == sandbox.CauseMemory:
		return refuse(verdict.BuildFailed, res.Tail, hint("memory"), "validate.build used more memory than it may (%d MiB): %s", c.Limits.Memory>>20, e.Detail)
	case e.Cause == sandbox.CausePids:
		return refuse(verdict.BuildFailed, res.Tail, hint("pids"), "validate.build ended with exit code %d after %s, and had as many processes and threads as it may (%d)", e.Code, took, c.Limits.Pids)
	case e.Cause == sandbox.CauseNotFound:
		return fault.Envf("build_unrunnable", []string{`name a "build_image" that has /bin/sh and what the build needs`}, "running validate.build in the image %q: %s", c.Image, e.Detail)
	case e.Cause != "":
		return refuse(verdict.BuildFailed, res.Tail, []string{
			"a build must end by itself and leave its supervisor alone; nothing that this one made was used",
		}, "the container of validate.build was lost: %s", e.Detail)
	case e.Signal != "":
		return refuse(verdict.BuildFailed, res.Tail, c.hints(-1), "validate.build was ended by a signal (%s) after %s", e.Signal, took)
	case e.Code != 0:
		return refuse(verdict.BuildFailed, res.Tail, c.hints(e.Code), "validate.build ended with exit code %d after %s", e.Code, took)
	}
	return nil
}

func (c Container) hints(code int) []string {
	hints := []string{"it ran in a container of " + c.Image + ", without a network, as an ordinary user who can write to the worktree, HOME and TMPDIR only",
		"build.log in the run folder has all of its output"}
	if code == 127 {
		hints = append([]string{"exit code 127 means that a program was not found: the build sees the programs of its image, and the image's PATH"}, hints...)
	}
	return hints
}

// Required refuses a build on this machine where it makes programs for another platform than the box's.
func Required(machine, box, image, dir string) error {
	if machine == box || image != "" {
		return nil
	}
	with := map[string]string{"go.mod": "golang:1", "package.json": "node:24", "pyproject.toml": "python:3", "Cargo.toml": "rust:1"}[Kind(dir)]
	if with == "" {
		with = "buildpack-deps:stable"
	}
	return fault.Usagef("build_image_required", []string{
		fmt.Sprintf(`build in a container: write "build_image": %q, or another image with what the build needs, under "validate" in .trkr/config.json`, with),
	}, "the box is %s and this machine is %s, so what is built here does not run there", box, machine)
}

// listener hears the output of a build. A log that cannot be written does not stop it.
type listener struct {
	log  io.Writer // nil discards
	last *tail
	err  error
}

func (l *listener) Write(p []byte) (int, error) {
	_, _ = l.last.Write(p) // a buffer takes everything
	if l.log != nil && l.err == nil {
		_, l.err = l.log.Write(p)
	}
	return len(p), nil
}
