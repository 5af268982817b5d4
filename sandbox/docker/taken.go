package docker

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/trkr-dev/trkr-validate/internal/carry"
	"github.com/trkr-dev/trkr-validate/internal/fault"
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
	err = w.copy(ctx, sandbox.BuildTree, func(r io.Reader) error { return w.give(ctx, r) })
	if cerrdefs.IsNotFound(err) { // the build took it away
		err = w.build.Take(ctx, strings.NewReader(""))
	}
	return built, err
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

// give hands the tree on. It lies on the disk meanwhile, in a file without a name: hard links have to be looked up.
func (w *workshop) give(ctx context.Context, from io.Reader) (err error) {
	spool, err := os.CreateTemp("", "trkr-validate-build-*")
	if err != nil {
		return fault.Env("temporary_file", fmt.Errorf("keeping what the build made: %w", err), "set TMPDIR to a folder that can be written")
	}
	defer func() { err = errors.Join(err, spool.Close()) }()
	if err := os.Remove(spool.Name()); err != nil {
		return fmt.Errorf("keeping what the build made: %w", err)
	}
	_, err = io.Copy(spool, from)
	if err == nil {
		_, err = spool.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fault.Env("temporary_file", fmt.Errorf("keeping what the build made: %w", err), "see that "+filepath.Dir(spool.Name())+" has room, or set TMPDIR to another folder")
	}
	return carry.Through(func(t *tar.Writer) error {
		if err := carry.Unlink(ctx, spool, t, path.Base(sandbox.BuildTree)+"/"); err != nil {
			return fmt.Errorf("reading what the build made: %w", err)
		}
		return nil
	}, func(r io.Reader) error { return w.build.Take(ctx, r) })
}
