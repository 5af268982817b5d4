//go:build linux && (amd64 || arm64)

package gvisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/owner"
)

// Sweep implements sandbox.Engine. A box whose program was killed has no process left (see start): what it leaves is
// its folder, and where it was a build's the copy that it worked on.
func (e *engine) Sweep(ctx context.Context, dryRun bool) ([]string, error) {
	boxes, err := e.sweepBoxes(ctx, dryRun)
	builds, berr := e.images.SweepScratch(ctx, dryRun)
	return append(boxes, builds...), errors.Join(err, berr)
}

func (e *engine) sweepBoxes(ctx context.Context, dryRun bool) ([]string, error) {
	if _, err := os.Lstat(e.stateDir()); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	defer e.tidy()
	state, unlock, err := e.lockState()
	if err != nil {
		return nil, err
	}
	defer unlock()
	entries, err := os.ReadDir(state)
	if err != nil {
		return nil, stateError(err)
	}
	var names []string
	var failed []error
	for _, entry := range entries {
		if err := ctx.Err(); err != nil {
			return names, err
		}
		dir := filepath.Join(state, entry.Name())
		if !entry.IsDir() || !stale(dir) {
			continue
		}
		name := "gvisor box " + entry.Name()
		if run, err := os.ReadFile(filepath.Join(dir, specFile)); err == nil {
			name += " of run " + strings.TrimSpace(string(run))
		}
		if !dryRun {
			if err := os.RemoveAll(dir); err != nil {
				failed = append(failed, fmt.Errorf("removing what a run left: %w", err))
				continue
			}
		}
		names = append(names, name)
	}
	return names, errors.Join(failed...)
}

// SweepImages implements sandbox.ImageSweeper. A box holds its image by a lock, as long as its program lives.
func (e *engine) SweepImages(ctx context.Context, dryRun bool) ([]string, error) {
	return e.images.Sweep(ctx, dryRun)
}

// stale reports whether no live program owns the box. Under the state's lock a folder without a readable owner is one
// whose making was cut short.
func stale(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, ownerFile))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	o, err := owner.Parse(strings.TrimSpace(string(text)))
	return err != nil || !o.Alive()
}
