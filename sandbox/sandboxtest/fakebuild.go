//go:build unix

package sandboxtest

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/carry"
	"github.com/trkr-dev/trkr-validate/internal/proc"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

// RunBuild builds in a temporary directory of this machine, to which the paths of a build's container are translated in
// the environment. Of the limits it keeps Timeout. Callers need proc.Dispatch.
func (f *Fake) RunBuild(ctx context.Context, b sandbox.Build) (built sandbox.Built, err error) {
	f.mu.Lock()
	f.builds = append(f.builds, b)
	f.mu.Unlock()
	top, err := os.MkdirTemp("", "trkr-fake-build-")
	if err != nil {
		return built, err
	}
	defer func() { err = errors.Join(err, carry.RemoveAll(top)) }()
	real := strings.NewReplacer(sandbox.BuildTop, top)
	for _, dir := range []string{sandbox.BuildTree, sandbox.BuildHome, sandbox.BuildTmp, sandbox.BuildCache} {
		if err := os.Mkdir(real.Replace(dir), 0o755); err != nil {
			return built, err
		}
	}
	src, err := os.OpenRoot(real.Replace(sandbox.BuildTree))
	if err != nil {
		return built, err
	}
	defer src.Close()
	err = carry.Through(func(w *tar.Writer) error { return b.Tree(ctx, w, "") }, func(r io.Reader) error { return carry.Unpack(ctx, tar.NewReader(r), src) })
	if err != nil {
		return built, err
	}
	env := []string{"PATH=" + os.Getenv("PATH")}
	for _, v := range b.Env {
		env = append(env, real.Replace(v))
	}
	ended, err := proc.Run(ctx, proc.Command{Script: b.Script, Dir: filepath.Clean(real.Replace(sandbox.BuildTree)), Env: env, Output: b.Log, Timeout: b.Timeout})
	built = sandbox.Built{
		Leftovers: ended.Leftovers, Exit: sandbox.Exit{Code: ended.Code, Signal: ended.Signal, Elapsed: ended.Elapsed},
		Info: sandbox.Info{Engine: "fake", EngineVersion: "0", Image: b.Image, ImageDigest: "sha256:0f"},
	}
	switch {
	case errors.Is(err, proc.ErrSupervision):
		built.Exit = sandbox.Exit{Code: -1, Cause: sandbox.CauseUnknown, Detail: err.Error()}
		return built, nil
	case err != nil:
		return built, err
	case ended.TimedOut:
		built.Exit.Cause = sandbox.CauseDeadline
	}
	if built.Exit.Code != 0 || built.Exit.Cause != "" {
		return built, nil
	}
	return built, carry.Through(func(w *tar.Writer) error { return carry.Packing{Ours: true, Want: b.Want}.Pack(ctx, src, w) }, func(r io.Reader) error { return b.Take(ctx, r) })
}

// Builds are those that RunBuild was asked for, in order.
func (f *Fake) Builds() []sandbox.Build {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]sandbox.Build(nil), f.builds...)
}
