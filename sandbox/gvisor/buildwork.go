//go:build linux && (amd64 || arm64)

package gvisor

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/trkr-dev/trkr-validate/internal/carry"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
)

// sender is sandbox.Build.Tree.
type sender func(ctx context.Context, to *tar.Writer, prefix string) error

// layWork makes what is to be /work: the tree, the order, and empty folders.
func layWork(ctx context.Context, dir string, o wire.BuildOrder, send sender) (*os.Root, error) {
	top := filepath.Join(dir, filepath.Base(sandbox.BuildTop))
	if err := os.Mkdir(top, 0o755); err != nil {
		return nil, stateError(err)
	}
	work, err := os.OpenRoot(top)
	if err != nil {
		return nil, stateError(err)
	}
	if err := fillWork(ctx, work, o, send); err != nil {
		return nil, errors.Join(err, work.Close())
	}
	return work, nil
}

func fillWork(ctx context.Context, work *os.Root, o wire.BuildOrder, send sender) error {
	for _, at := range []string{sandbox.BuildTree, sandbox.BuildHome, sandbox.BuildTmp, sandbox.BuildCache, sandbox.BuildOut} {
		if err := work.Mkdir(filepath.Base(at), 0o755); err != nil {
			return stateError(err)
		}
	}
	o.Result, o.Lifeline = filepath.Join(sandbox.BuildOut, resultFile), true
	order, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("describing the build: %w", err)
	}
	if err := work.WriteFile(filepath.Join(filepath.Base(sandbox.BuildOut), orderFile), order, 0o600); err != nil {
		return stateError(err)
	}
	src, err := work.OpenRoot(filepath.Base(sandbox.BuildTree))
	if err != nil {
		return stateError(err)
	}
	defer src.Close()
	var unsent error
	err = carry.Through(func(w *tar.Writer) error {
		unsent = send(ctx, w, "")
		return unsent
	}, func(r io.Reader) error { return carry.Unpack(ctx, tar.NewReader(r), src) })
	if err != nil && err != unsent && ctx.Err() == nil {
		return stateError(err)
	}
	return err
}

// readResult reads the result, and nothing else that the build may have put there.
func readResult(work *os.Root) (sandbox.Built, error) {
	f, err := work.OpenFile(filepath.Join(filepath.Base(sandbox.BuildOut), resultFile), os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return sandbox.Built{}, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return sandbox.Built{}, errors.Join(errors.New("the result is no file"), err)
	}
	return wire.ReadBuilt(f)
}

// giveTree hands over what is wanted of the tree.
func giveTree(ctx context.Context, work *os.Root, b sandbox.Build) error {
	ctx, cancel := context.WithTimeoutCause(ctx, sandbox.CarryLimit, sandbox.ErrTooMuch)
	defer cancel()
	src, err := work.OpenRoot(filepath.Base(sandbox.BuildTree))
	if err != nil { // the build took it away
		return b.Take(ctx, strings.NewReader(""))
	}
	defer src.Close()
	return carry.Through(func(w *tar.Writer) error {
		if err := (carry.Packing{Ours: true, Want: b.Want}).Pack(ctx, src, w); err != nil && ctx.Err() == nil {
			return stateError(err)
		}
		return context.Cause(ctx)
	}, func(r io.Reader) error { return b.Take(ctx, r) })
}
