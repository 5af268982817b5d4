package docker

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/trkr-dev/trkr-validate/internal/carry"
	"github.com/trkr-dev/trkr-validate/internal/owner"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
)

// take reads what became of the build, and hands on the tree of one that succeeded.
func (w *workshop) take(ctx context.Context) (built sandbox.Built, err error) {
	err = w.daemon.call(ctx, callLimit, "reading what the build left", func(ctx context.Context) error {
		made, err := w.daemon.ContainerCreate(ctx, &container.Config{
			Image: w.result(), Entrypoint: []string{sandbox.Init},
			Labels: map[string]string{labelOwner: owner.Self().String(), labelMachine: machine(), labelRun: w.build.RunID},
		}, &container.HostConfig{NetworkMode: "none", LogConfig: container.LogConfig{Type: "none"}}, nil, nil, "")
		w.box = made.ID
		return err
	})
	if err != nil {
		return built, err
	}
	err = w.copy(ctx, path.Join(sandbox.BuildOut, "result.json"), func(r io.Reader) error {
		t := tar.NewReader(r)
		if h, err := t.Next(); err != nil || h.Typeflag != tar.TypeReg {
			return errors.Join(errors.New("the supervisor of the build left no result"), err)
		}
		built, err = wire.ReadBuilt(t)
		return err
	})
	if err != nil || built.Exit.Code != 0 || built.Exit.Cause != "" {
		return built, err
	}
	within, cancel := context.WithTimeoutCause(ctx, sandbox.CarryLimit, sandbox.ErrTooMuch)
	defer cancel()
	if err = w.give(within); err != nil && within.Err() != nil && ctx.Err() == nil {
		err = errors.Join(sandbox.ErrTooMuch, err)
	}
	return built, err
}

// give hands on what is wanted of the tree.
func (w *workshop) give(ctx context.Context) (err error) {
	s, err := newSpool(w.build.Want)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.file.Close()) }()
	err = w.copy(ctx, sandbox.BuildTree, func(r io.Reader) error { return s.tree(carry.Reader(ctx, r)) })
	if cerrdefs.IsNotFound(err) { // the build took it away
		return w.build.Take(ctx, strings.NewReader(""))
	}
	if err != nil {
		return err
	}
	for _, name := range s.lacks() {
		err := w.copy(ctx, path.Join(path.Dir(sandbox.BuildTree), name), func(r io.Reader) error { return s.linked(name, carry.Reader(ctx, r)) })
		if err != nil {
			return err
		}
	}
	from, err := s.end()
	if err != nil {
		return err
	}
	return carry.Through(func(t *tar.Writer) error {
		if err := carry.Unlink(ctx, from, t, treeName); err != nil {
			return fmt.Errorf("reading what the build made: %w", err)
		}
		return nil
	}, func(r io.Reader) error { return w.build.Take(ctx, r) })
}

// copy reads a path of the container.
func (w *workshop) copy(ctx context.Context, name string, use func(io.Reader) error) (err error) {
	r, _, err := w.daemon.CopyFromContainer(ctx, w.box, name)
	if err != nil {
		return fmt.Errorf("reading %s after the build: %w", name, err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return use(r)
}
