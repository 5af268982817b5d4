package images

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trkr-dev/trkr-validate/internal/carry"
)

const (
	lockSuffix = ".lock" // of the file that is locked: shared by who uses an image, alone by who makes or removes it
	newSuffix  = ".new"  // of an image that is being unpacked
	oldSuffix  = ".old"  // of one that is being removed
)

// lockPause is how long is waited between two looks at a lock that another program holds.
const lockPause = 50 * time.Millisecond

// errHeld tells that somebody holds the lock in a way that does not go with ours.
var errHeld = errors.New("in use")

// tryLock takes a lock (unix.LOCK_SH or unix.LOCK_EX) if it is free. It ends when the file is closed, or its program.
func tryLock(path string, how int) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, err
		}
		for err = unix.EINTR; errors.Is(err, unix.EINTR); {
			err = unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		}
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errors.Join(errHeld, f.Close())
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		held, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if named, err := os.Lstat(path); err == nil && os.SameFile(held, named) {
			return f, nil
		}
		if err := f.Close(); err != nil { // its image was removed just now, and the lock with it
			return nil, err
		}
	}
}

// lock is tryLock that waits.
func lock(ctx context.Context, path string, how int) (*os.File, error) {
	for {
		f, err := tryLock(path, how)
		if !errors.Is(err, errHeld) {
			return f, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(lockPause):
		}
	}
}

// Sweep removes the images and the caches of builds that nothing uses, and returns their names. With dryRun it only
// names them.
func (s *Store) Sweep(ctx context.Context, dryRun bool) ([]string, error) {
	return s.sweep(ctx, "", dryRun)
}

func (s *Store) sweep(ctx context.Context, prefix string, dryRun bool) ([]string, error) {
	if _, err := os.Lstat(s.folder()); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	dir, err := s.open()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, cacheFault(dir, err)
	}
	var names []string
	var failed []error
	for _, e := range entries {
		key, ok := strings.CutSuffix(e.Name(), lockSuffix)
		if !ok || !strings.HasPrefix(key, prefix) || ctx.Err() != nil {
			continue
		}
		held, err := tryLock(filepath.Join(dir, e.Name()), unix.LOCK_EX)
		if errors.Is(err, errHeld) {
			continue
		}
		if err == nil && !dryRun {
			err = s.remove(dir, key)
		}
		if held != nil {
			err = errors.Join(err, held.Close())
		}
		if err != nil {
			failed = append(failed, cacheFault(dir, err))
			continue
		}
		names = append(names, key)
	}
	return names, errors.Join(append(failed, ctx.Err())...)
}

// remove removes an image whose lock is held alone. The lock's file goes last: what is left where this is cut short is
// found by the next sweep.
func (s *Store) remove(dir, key string) error {
	at := filepath.Join(dir, key)
	if err := os.Rename(at, at+oldSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range []string{at + oldSuffix, at + newSuffix} {
		if err := carry.RemoveAll(name); err != nil {
			return err
		}
	}
	return os.Remove(at + lockSuffix)
}
