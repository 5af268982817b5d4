//go:build linux && (amd64 || arm64)

package gvisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
	"github.com/trkr-dev/trkr-validate/sandbox/shim"
)

const (
	buildSlack = 30 * time.Second // beyond its own limit, after which a build's supervisor counts as lost
	orderFile  = "order.json"
	resultFile = "result.json"
	mapsRoot   = "CAP_SETFCAP" // what it takes to show uid 0 as another one in a user namespace
)

// RunBuild implements sandbox.Builder. The build works on a folder of its own, which is shown to its box and which
// nobody else looks at meanwhile.
func (e *engine) RunBuild(ctx context.Context, b sandbox.Build) (built sandbox.Built, err error) {
	rootless, err := e.host.check()
	if err != nil {
		return sandbox.Built{}, err
	}
	cache, err := e.images.Cache(ctx, b.Cache, func() { sandbox.Waits(b.Log) })
	if err != nil {
		return sandbox.Built{}, err
	}
	defer func() { err = errors.Join(err, cache.Close()) }()
	scratch, err := e.images.Scratch(ctx)
	if err != nil {
		return sandbox.Built{}, err
	}
	defer func() { err = errors.Join(err, scratch.Close()) }()
	u, err := e.userland(ctx, sandbox.Spec{Image: b.Image, ImageDir: b.ImageDir})
	if err != nil {
		return sandbox.Built{}, err
	}
	work, err := layWork(ctx, scratch.Dir, wire.OrderOf(b, u.path), b.Tree)
	if err != nil {
		return sandbox.Built{}, errors.Join(err, u.close())
	}
	defer func() { err = errors.Join(err, work.Close()) }()
	if built, err = e.buildBox(ctx, b, u, work, buildDirs{scratch.Dir, cache.Dir}, rootless); err != nil {
		return built, err
	}
	if built.Exit.Code != 0 || built.Exit.Cause != "" {
		return built, nil
	}
	return built, giveTree(ctx, work, b)
}

// buildDirs are the host's paths of what a build may write to.
type buildDirs struct{ work, cache string }

// buildBox runs the build in a box, with which the userland ends.
func (e *engine) buildBox(ctx context.Context, build sandbox.Build, u *userland, work *os.Root, dirs buildDirs, rootless bool) (built sandbox.Built, err error) {
	dir, err := e.newBoxDir(build.RunID)
	if err != nil {
		return built, errors.Join(err, u.close())
	}
	b := &box{dir: dir, userland: u, removed: e.tidy}
	defer func() { err = errors.Join(err, b.close()) }()
	program, err := ownProgram(dir)
	if err != nil {
		return built, err
	}
	shown, err := buildMounts(dir, dirs, program)
	if err != nil {
		return built, stateError(err)
	}
	limits := build.Limits
	limits.Pids += leastPids // the supervisor's threads have the same uid
	order := filepath.Join(sandbox.BuildOut, orderFile)
	if err := bundle(dir, limits, u, shown, []string{sandbox.Init, shim.Arg, wire.HelperBuild, order}, nil, mapsRoot); err != nil {
		return built, err
	}
	cpus, cpuText, err := chooseCPUs(limits.CPUs)
	if err != nil {
		return built, err
	}
	if b.process, err = startProcess(dir, filepath.Base(dir), rootless, cpus); err != nil {
		return built, startError(err, "")
	}
	if err := b.await(ctx, e.startLimit, build.Limits.Memory); err != nil {
		return built, err
	}
	if built, err = b.follow(ctx, build, work); err != nil {
		return built, err
	}
	built.Info = sandbox.Info{
		Engine: Name, EngineVersion: version(), Image: build.Image, ImageDigest: u.digest, Userland: u.name, Path: u.path,
		Limits: limitTexts(build.Limits, cpuText),
	}
	return built, nil
}

func buildMounts(dir string, dirs buildDirs, program string) ([]specs.Mount, error) {
	work, err := asText(dirs.work, filepath.Join(dir, inputLink))
	if err != nil {
		return nil, err
	}
	cache, err := asText(dirs.cache, filepath.Join(dir, "cache"))
	if err != nil {
		return nil, err
	}
	return []specs.Mount{bind(work, sandbox.Work, "bind", "rw"), bind(cache, sandbox.BuildCache, "bind", "rw"), bind(program, sandbox.Init, "bind", "ro")}, nil
}

// await waits for the supervisor of a build, puts the limit of memory in force and lets it begin.
func (b *box) await(ctx context.Context, limit time.Duration, memory int64) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errStuck)
	defer cancel()
	said := make(chan error, 1)
	go func() {
		first := make([]byte, 1)
		_, err := io.ReadFull(b.process, first)
		if err == nil && string(first) != wire.BuildReady {
			err = fmt.Errorf("the supervisor of the build said %q", first)
		}
		said <- err
	}()
	select {
	case err := <-said:
		if err != nil {
			lost := b.lost(ctx)
			return b.startFailed(ctx, lost)
		}
	case <-ctx.Done():
		return b.startFailed(ctx, context.Cause(ctx))
	}
	if err := b.limitMemory(memory); err != nil {
		return fault.Env("engine_start_failed", err)
	}
	if _, err := b.process.Write([]byte{'\n'}); err != nil {
		return b.startFailed(ctx, b.lost(ctx))
	}
	return nil
}

// follow passes the output on until the box has ended, and reads what became of the build.
func (b *box) follow(ctx context.Context, build sandbox.Build, work *os.Root) (sandbox.Built, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, build.Timeout+buildSlack, errStuck)
	defer cancel()
	passed := make(chan error, 1)
	go func() {
		_, err := io.Copy(build.Log, b.process.stdout)
		if err != nil {
			_, _ = io.Copy(io.Discard, b.process.stdout) // the build goes on to its end
		}
		passed <- err
	}()
	var err error
	select {
	case err = <-passed:
	case <-ctx.Done():
		b.process.kill()
		<-passed
	}
	switch {
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), errStuck):
		return sandbox.Built{}, context.Cause(ctx)
	case ctx.Err() != nil:
		return sandbox.Built{Exit: sandbox.Exit{Code: -1, Cause: sandbox.CauseDeadline, Detail: "and did not obey its supervisor", Elapsed: build.Timeout}}, nil
	case err != nil:
		return sandbox.Built{}, fmt.Errorf("writing the build's output: %w", err)
	}
	lost := b.lost(ctx)
	built, err := readResult(work)
	if err != nil || b.process.err != nil || lost.Cause == sandbox.CauseMemory {
		return sandbox.Built{Exit: sandbox.Exit{Code: -1, Cause: lost.Cause, Detail: lost.Detail}}, nil
	}
	return built, nil
}
