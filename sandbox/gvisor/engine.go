//go:build linux && (amd64 || arm64)

package gvisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/trkr-dev/trkr-validate/images"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/shim"
)

// defaultStartLimit bounds a start for callers whose context does not. A start takes a fraction of a second; one that
// takes this long hangs.
const defaultStartLimit = 60 * time.Second

// New gives the engine. It does nothing yet; Check tells whether it can work here.
func New(o Options) sandbox.Engine {
	return &engine{options: o, host: thisHost(), images: images.NewStore(o.ImageDir, runtime.GOARCH), startLimit: defaultStartLimit}
}

type engine struct {
	options    Options
	host       host
	images     *images.Store
	startLimit time.Duration
	spoil      func(*specs.Spec) // tests: takes a promise away from every box
	spoilArgs  []string          // likewise, by gVisor's own options
}

func (*engine) Name() string { return Name }

// Check implements sandbox.Engine.
func (e *engine) Check(ctx context.Context) (sandbox.Version, error) {
	if err := ctx.Err(); err != nil {
		return sandbox.Version{}, err
	}
	rootless, err := e.host.check()
	if err != nil {
		return sandbox.Version{}, err
	}
	defer e.tidy()
	if _, err := e.openState(); err != nil {
		return sandbox.Version{}, err
	}
	detail := "root, embedded"
	if rootless {
		detail = "rootless, embedded"
	}
	return sandbox.Version{Version: version(), Detail: detail}, nil
}

// Start implements sandbox.Engine.
func (e *engine) Start(ctx context.Context, spec sandbox.Spec) (_ sandbox.Sandbox, err error) {
	rootless, err := e.host.check()
	if err != nil {
		return nil, err
	}
	u, err := e.userland(ctx, spec)
	if err != nil {
		return nil, err
	}
	dir, err := e.newBoxDir(spec.RunID)
	if err != nil {
		return nil, errors.Join(err, u.close())
	}
	b := &box{dir: dir, userland: u, removed: e.tidy}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	program, err := ownProgram(dir)
	if err != nil {
		return nil, err
	}
	input, err := asText(spec.Input, filepath.Join(dir, inputLink))
	if err != nil {
		return nil, stateError(err)
	}
	if err := bundle(dir, spec.Limits, u, boxMounts(spec.Limits, input, program), []string{sandbox.Init, shim.Arg}, e.spoil); err != nil {
		return nil, err
	}
	cpus, cpuText, err := chooseCPUs(spec.Limits.CPUs)
	if err != nil {
		return nil, err
	}
	b.process, err = startProcess(dir, filepath.Base(dir), rootless, cpus, e.spoilArgs...)
	if err != nil {
		return nil, startError(err, "")
	}
	return b.connect(ctx, e.startLimit, spec, sandbox.Info{
		Engine:        Name,
		EngineVersion: version(),
		Image:         spec.Image,
		ImageDigest:   u.digest,
		Userland:      u.name,
		Product:       u.product,
		Path:          u.path,
		Limits:        limitTexts(spec.Limits, cpuText),
	})
}

// connect waits for the init and puts the limit of memory in force. Nothing but the init has run until then.
func (b *box) connect(ctx context.Context, limit time.Duration, spec sandbox.Spec, info sandbox.Info) (sandbox.Sandbox, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errStuck)
	defer cancel()
	s, err := shim.Connect(ctx, b.process, shim.Box{Info: info, Spec: spec, Lost: b.lost, Close: b.close})
	if err != nil {
		return nil, b.startFailed(ctx, err)
	}
	if err := b.limitMemory(spec.Limits.Memory); err != nil {
		return nil, fault.Env("engine_start_failed", errors.Join(err, s.Close()))
	}
	return s, nil
}

// ownProgram is the host's path of this program, which is also the box's init. One that was replaced or that other
// users may not run is copied into the box's folder.
func ownProgram(dir string) (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program: %w", err)
	}
	running, err := os.Stat(selfExe)
	if err != nil {
		return "", fault.Envf("proc_missing", []string{"mount /proc"}, "finding this program: %w", err)
	}
	named, err := os.Stat(path)
	if err == nil && os.SameFile(running, named) && named.Mode().Perm()&0o005 == 0o005 {
		return filepath.EvalSymlinks(path)
	}
	copied := filepath.Join(dir, "init")
	if err := copyFile(copied, selfExe); err != nil {
		return "", stateError(err)
	}
	return copied, nil
}
