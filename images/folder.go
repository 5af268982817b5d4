package images

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Folder is a folder beside the images, for builds. Nobody else removes it before it is closed.
type Folder struct {
	Dir string

	lease *os.File
	end   func() error // nil: it is kept
}

const (
	cachePrefix   = "build-cache-"
	turnPrefix    = "build-turn-"
	scratchPrefix = "build-scratch-"
)

// Cache gives the folder that all builds of one name share, one at a time; it is kept until the images are swept. Where
// another has it, waits is called once, and it waits until that one is closed or ctx ends.
func (s *Store) Cache(ctx context.Context, name string, waits func()) (*Folder, error) {
	f, err := s.turn(ctx, cachePrefix+name, waits)
	if err != nil {
		return nil, err
	}
	return f, f.make()
}

// Turn is Cache without a folder, for a cache that lies elsewhere: nothing is left of it.
func (s *Store) Turn(ctx context.Context, name string, waits func()) (*Folder, error) {
	f, err := s.turn(ctx, turnPrefix+name, waits)
	if err == nil {
		f.end = func() error { return s.remove(filepath.Dir(f.Dir), turnPrefix+name) }
	}
	return f, err
}

// Scratch gives an empty folder, which is removed when it is closed, or by SweepScratch where its program was killed.
func (s *Store) Scratch(ctx context.Context) (*Folder, error) {
	key := scratchPrefix + strings.ToLower(rand.Text())
	f, err := s.turn(ctx, key, func() {})
	if err != nil {
		return nil, err
	}
	f.end = func() error { return s.remove(filepath.Dir(f.Dir), key) }
	return f, f.make()
}

// turn takes the lock of a folder, alone.
func (s *Store) turn(ctx context.Context, key string, waits func()) (*Folder, error) {
	dir, err := s.open()
	if err != nil {
		return nil, err
	}
	f := &Folder{Dir: filepath.Join(dir, key)}
	f.lease, err = tryLock(f.Dir+lockSuffix, unix.LOCK_EX)
	if errors.Is(err, errHeld) {
		waits()
		f.lease, err = lock(ctx, f.Dir+lockSuffix, unix.LOCK_EX)
	}
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("waiting for another build of this repository in this image: %w", err)
	}
	if err != nil {
		return nil, cacheFault(dir, err)
	}
	return f, nil
}

// make makes the folder, or gives up what was taken of it.
func (f *Folder) make() error {
	if err := os.Mkdir(f.Dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return errors.Join(cacheFault(filepath.Dir(f.Dir), err), f.Close())
	}
	return nil
}

// Close gives the folder back.
func (f *Folder) Close() error {
	var err error
	if f.end != nil {
		err = f.end()
	}
	return errors.Join(err, f.lease.Close())
}

// SweepScratch removes the scratch folders of programs that were killed, and returns their names. With dryRun it only
// names them.
func (s *Store) SweepScratch(ctx context.Context, dryRun bool) ([]string, error) {
	return s.sweep(ctx, scratchPrefix, dryRun)
}
