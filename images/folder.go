package images

import (
	"context"
	"crypto/rand"
	"errors"
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
	scratchPrefix = "build-scratch-"
)

// Cache gives the folder that all builds of one name share, which is kept until the images are swept.
func (s *Store) Cache(ctx context.Context, name string) (*Folder, error) {
	return s.folderOf(ctx, cachePrefix+name, unix.LOCK_SH)
}

// Scratch gives an empty folder, which is removed when it is closed, or by SweepScratch where its program was killed.
func (s *Store) Scratch(ctx context.Context) (*Folder, error) {
	key := scratchPrefix + strings.ToLower(rand.Text())
	f, err := s.folderOf(ctx, key, unix.LOCK_EX)
	if err == nil {
		f.end = func() error { return s.remove(filepath.Dir(f.Dir), key) }
	}
	return f, err
}

func (s *Store) folderOf(ctx context.Context, key string, how int) (*Folder, error) {
	dir, err := s.open()
	if err != nil {
		return nil, err
	}
	f := &Folder{Dir: filepath.Join(dir, key)}
	if f.lease, err = lock(ctx, f.Dir+lockSuffix, how); err != nil {
		return nil, lockFault(ctx, key, dir, err)
	}
	if err := os.Mkdir(f.Dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, errors.Join(cacheFault(dir, err), f.Close())
	}
	return f, nil
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
