//go:build linux && (amd64 || arm64)

package gvisor

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/owner"
)

const (
	// maxStateDir keeps the path of gVisor's control socket under what a socket address holds. gVisor would otherwise
	// put the socket into a common directory, where a sweep does not look.
	maxStateDir = 64

	ownerFile = "owner" // which program a box belongs to
	specFile  = "spec"  // the run's id, for the names that Sweep returns
	lockFile  = "lock"  // held while a box's folder comes into being and while Sweep looks
)

// stateDir is the folder of this user's boxes: where Sweep looks for all that Start made.
func (e *engine) stateDir() string {
	name := "trkr-validate-" + strconv.Itoa(os.Getuid())
	for _, parent := range []string{e.options.StateDir, runtimeDir(), os.TempDir()} {
		if dir := filepath.Join(parent, name); parent != "" && filepath.IsAbs(dir) && len(dir) <= maxStateDir {
			return dir
		}
	}
	return filepath.Join("/tmp", name)
}

// runtimeDir is XDG_RUNTIME_DIR where it belongs to this user: a root shell often inherits another's.
func runtimeDir() string {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() || !ownedByUs(info) {
		return ""
	}
	return dir
}

func ownedByUs(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}

// openState makes the state folder if need be and refuses one that another user could have put there.
func (e *engine) openState() (string, error) {
	dir := e.stateDir()
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return "", stateError(err)
	}
	var info fs.FileInfo
	for info == nil {
		err := os.Mkdir(dir, 0o700)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return "", stateError(err)
		}
		info, err = os.Lstat(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // else tidied away just now
			return "", stateError(err)
		}
	}
	if !info.IsDir() || !ownedByUs(info) || info.Mode().Perm()&0o022 != 0 {
		return "", fault.Envf("state_dir_unsafe", []string{"remove " + dir + ", or set TMPDIR to a directory of your own"},
			"%s is not a folder that only this user can write", dir)
	}
	return dir, nil
}

// stateError names a failure to write the state folder.
func stateError(err error) error {
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return fault.Envf("no_space", []string{"free some space, or set TMPDIR to a directory on another disk"}, "writing the box's files: %w", err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EROFS):
		return fault.Envf("state_dir_unwritable", []string{"set TMPDIR to a directory that you may write"}, "writing the box's files: %w", err)
	}
	return fault.Envf("state_dir_unusable", []string{"set TMPDIR to another directory"}, "writing the box's files: %w", err)
}

// newBoxDir makes an empty folder that names this program as its owner. The caller removes it.
func (e *engine) newBoxDir(runID string) (dir string, err error) {
	state, unlock, err := e.lockState()
	if err != nil {
		return "", err
	}
	defer unlock()
	var random [6]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", fmt.Errorf("naming the box: %w", err)
	}
	dir = filepath.Join(state, hex.EncodeToString(random[:]))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", stateError(err)
	}
	for name, data := range map[string]string{ownerFile: owner.Self().String(), specFile: runID} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			return "", stateError(errors.Join(err, os.RemoveAll(dir)))
		}
	}
	return dir, nil
}

// lockState opens the state folder, made if need be, and keeps other programs of this user from making or sweeping
// boxes, for the moment that takes.
func (e *engine) lockState() (state string, unlock func(), err error) {
	for {
		if state, err = e.openState(); err != nil {
			return "", nil, err
		}
		path := filepath.Join(state, lockFile)
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
		if errors.Is(err, fs.ErrNotExist) {
			continue // tidied away just now
		}
		if err != nil {
			return "", nil, stateError(err)
		}
		for err = unix.EINTR; errors.Is(err, unix.EINTR); {
			err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		}
		if err != nil {
			return "", nil, stateError(errors.Join(err, f.Close()))
		}
		if stillThere(f, path) {
			return state, func() { _ = f.Close() }, nil
		}
		_ = f.Close()
	}
}

// stillThere reports whether an open file is the one that path names now.
func stillThere(f *os.File, path string) bool {
	held, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(path)
	return err == nil && os.SameFile(held, named)
}

// tidy removes the state folder where nothing is left in it, so that a run leaves nothing behind.
func (e *engine) tidy() {
	if _, err := os.Lstat(e.stateDir()); err != nil {
		return
	}
	state, unlock, err := e.lockState()
	if err != nil {
		return
	}
	defer unlock()
	if entries, err := os.ReadDir(state); err == nil && len(entries) == 1 && entries[0].Name() == lockFile {
		_ = os.Remove(filepath.Join(state, lockFile))
		_ = os.Remove(state)
	}
}
