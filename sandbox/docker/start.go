package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"github.com/trkr-dev/trkr-validate/images"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/shim"
)

// box is a container of ours.
type box struct {
	daemon   *daemon
	name     string
	id       string
	unsure   bool   // the answer to making it was lost: there may be a container, or will be in a moment
	image    string // what is removed with the box; empty: nothing
	stream   *stream
	warnings []string      // of the daemon when it was made
	patience time.Duration // for its init's first word
	spoil    func(*container.HostConfig)
}

// Start makes a container, attaches to it before it runs, starts it and speaks to its init.
func (e *engine) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	if !utf8.ValidString(spec.Input) { // the API's JSON would name another folder
		return nil, fault.Envf("path_not_utf8", []string{"use --engine gvisor, or a checkout whose path is UTF-8"}, "docker cannot be told of the folder %q", spec.Input)
	}
	d, err := e.connect(ctx)
	if err != nil {
		return nil, err
	}
	go d.about(ctx) //nolint:errcheck // it is asked for again at the end; now it takes its time beside the rest
	p, err := e.program()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(p.loads(spec.Image), p.unchanged()); err != nil {
		return nil, err
	}
	u, err := e.userland(ctx, d, p, spec)
	if err != nil {
		return nil, err
	}
	b := &box{daemon: d, name: "trkr-validate-" + strings.ToLower(rand.Text()[:16]), patience: e.greeting, spoil: e.spoil}
	if u.product {
		b.image = u.image
	}
	box, err := b.boot(ctx, spec, u, p)
	if err != nil {
		return nil, errors.Join(err, b.discard(ctx))
	}
	return box, nil
}

func (e *engine) userland(ctx context.Context, d *daemon, p program, spec sandbox.Spec) (*userland, error) {
	if spec.Image == hostImage {
		return e.host(d, spec)
	}
	if len(spec.Mounts) > 0 {
		return nil, fault.Usagef("mount_invalid", []string{"remove validate.mounts, or use the image \"host\""}, "folders of this machine are mounted with the image \"host\" only, not with %q", spec.Image)
	}
	name, err := images.ParseName(spec.Image)
	if err != nil {
		return nil, err
	}
	switch name.Kind {
	case images.KindRegistry:
		return e.pulled(ctx, d, p, spec.Image)
	case images.KindDockerfile:
		return e.built(ctx, d, p, spec)
	default:
		return e.loaded(ctx, d, p, spec)
	}
}

// Fetch implements sandbox.Fetcher.
func (e *engine) Fetch(ctx context.Context, image, dir string) error {
	name, err := images.ParseName(image)
	if err != nil || name.Kind == images.KindHost || name.Kind == images.KindArtifact {
		return err
	}
	d, err := e.connect(ctx)
	if err != nil {
		return err
	}
	p, err := e.program()
	if err != nil {
		return err
	}
	if err := p.loads(image); err != nil {
		return err
	}
	_, err = e.userland(ctx, d, p, sandbox.Spec{Image: image, ImageDir: dir})
	return err
}

func (b *box) boot(ctx context.Context, spec sandbox.Spec, u *userland, p program) (sandbox.Sandbox, error) {
	if err := b.create(ctx, spec, u, p); err != nil {
		return nil, err
	}
	if err := b.attach(ctx); err != nil {
		return nil, err
	}
	err := b.daemon.call(ctx, callLimit, "starting the box", func(ctx context.Context) error {
		return b.daemon.ContainerStart(ctx, b.id, container.StartOptions{})
	})
	if err != nil {
		return nil, startFault(err)
	}
	seen := make(chan struct{})
	var info sandbox.Info
	var unseen error
	go func() { // beside the init's start
		defer close(seen)
		info, unseen = b.info(ctx, spec, u)
	}()
	greeting, cancel := context.WithTimeoutCause(ctx, b.patience, errStuck)
	defer cancel()
	box, err := shim.Connect(greeting, b.stream, shim.Box{Info: sandbox.Info{Path: u.path}, Spec: spec, Lost: b.lost, Close: b.close})
	<-seen
	if err != nil {
		return nil, b.explain(greeting, err)
	}
	if err = unseen; err == nil && spec.Image == hostImage {
		err = b.daemon.proveLocal(ctx, box, u.mounts)
	} else if err == nil {
		info.Userland, err = release(ctx, box)
	}
	if err != nil {
		return nil, errors.Join(err, box.Close())
	}
	return &described{box, info}, nil
}

// described is a box of which more is known than when its init was connected to.
type described struct {
	*shim.Client
	info sandbox.Info
}

func (d *described) Info() sandbox.Info { return d.info }

// create makes the container, and before it the base image if that is not there.
func (b *box) create(ctx context.Context, spec sandbox.Spec, u *userland, p program) error {
	cfg, host := config(spec, u, p)
	if b.spoil != nil {
		b.spoil(host)
	}
	once := func() error {
		return b.daemon.call(ctx, callLimit, "making the box", func(ctx context.Context) error {
			made, err := b.daemon.ContainerCreate(ctx, cfg, host, nil, nil, b.name)
			b.id, b.warnings = made.ID, made.Warnings
			b.unsure = err != nil && (ctx.Err() != nil || client.IsErrConnectionFailed(err))
			return b.daemon.tooNew(err)
		})
	}
	err := once()
	if cerrdefs.IsNotFound(err) && u.prepare != nil {
		if err := u.prepare(ctx); err != nil {
			return err
		}
		err = once()
	}
	if err != nil && strings.Contains(err.Error(), "Range of CPUs is from") {
		info, ierr := b.daemon.about(ctx)
		if ierr != nil {
			return ierr
		}
		host.NanoCPUs = int64(info.NCPU) * 1e9
		err = once()
	}
	if err != nil && strings.Contains(err.Error(), "bind source path does not exist") {
		return fault.Envf("docker_remote", []string{"use a daemon of this machine that sees the same files", "or use the engine that needs no daemon: --engine gvisor"},
			"the Docker daemon at %s does not see this machine's files: %w", b.daemon.at, err)
	}
	return err
}

// attach connects to the container's stdio. The client does not bound the daemon's answer to it.
func (b *box) attach(ctx context.Context) error {
	type answer struct {
		response types.HijackedResponse
		err      error
	}
	answered := make(chan answer, 1)
	go func() {
		response, err := b.daemon.ContainerAttach(ctx, b.id, container.AttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
		answered <- answer{response, err}
	}()
	return b.daemon.call(ctx, callLimit, "attaching to the box", func(ctx context.Context) error {
		select {
		case a := <-answered:
			if a.err == nil {
				b.stream = newStream(a.response.Conn)
			}
			return a.err
		case <-ctx.Done():
			go func() {
				if late := <-answered; late.err == nil {
					late.response.Close()
				}
			}()
			return ctx.Err()
		}
	})
}

// errStuck is why a start ends whose container runs and says nothing.
var errStuck = errors.New("its init did not answer in time")

// startFault names what a runtime could not do.
func startFault(err error) error {
	text := err.Error()
	switch {
	case strings.Contains(text, "seccomp"), strings.Contains(text, "apparmor"), strings.Contains(text, "cgroup"), strings.Contains(text, "OCI runtime"):
		return fault.Env("docker_runtime", err, restartHints()...)
	}
	return err
}

// explain adds what became of the container to why its init could not be spoken to.
func (b *box) explain(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errStuck) {
		return fault.Env("engine_stuck", fmt.Errorf("starting the box: %w", errStuck), append([]string{
			"look at dmesg: a kernel that takes no new seccomp filters lets every sandbox hang at its start; only a reboot helps",
		}, restartHints()[0], "on a machine that is merely busy, try again")...)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("starting the box: %w", err)
	}
	return fault.Env("box_start", fmt.Errorf("starting the box: %w (%w)", err, b.lost(ctx)), restartHints()...)
}
