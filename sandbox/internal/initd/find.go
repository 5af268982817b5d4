//go:build unix

package initd

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
)

// Find looks for a command's program with the effective rights of the calling thread.
func Find(c Command, uid int) (string, *wire.Exit) {
	var st unix.Stat_t
	if err := unix.Stat(c.Dir, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		if err == nil {
			err = unix.ENOTDIR
		}
		return "", &wire.Exit{Code: -1, Cause: string(sandbox.CauseNotExecutable), Detail: fmt.Sprintf("working directory %q: %v", c.Dir, err)}
	}
	name := c.Args[0]
	if strings.Contains(name, "/") {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(c.Dir, path)
		}
		if err := runnable(path, uid); err != nil {
			return "", notFound(name, err)
		}
		return path, nil
	}
	var denied error
	for _, dir := range filepath.SplitList(c.Path) {
		if !filepath.IsAbs(dir) || name == "" {
			continue
		}
		path := filepath.Join(dir, name)
		err := runnable(path, uid)
		if err == nil {
			return path, nil
		}
		if denied == nil && !missing(err) {
			denied = err
		}
	}
	if denied != nil {
		return "", notFound(name, denied)
	}
	return "", &wire.Exit{Code: -1, Cause: string(sandbox.CauseNotFound), Detail: fmt.Sprintf("%q is not in PATH", name)}
}

func notFound(name string, err error) *wire.Exit {
	e := &wire.Exit{Code: -1, Cause: string(sandbox.CauseNotExecutable), Detail: fmt.Sprintf("%q: %v", name, err)}
	if missing(err) {
		e.Cause = string(sandbox.CauseNotFound)
	}
	return e
}

func missing(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) }

// runnable tells whether the system would take the file for a program, as far as its mode says.
func runnable(path string, uid int) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		return unix.EISDIR
	default:
		return unix.EACCES
	}
	bit := uint32(0o001)
	switch {
	case int(st.Uid) == uid:
		bit = 0o100
	case int(st.Gid) == uid:
		bit = 0o010
	}
	if uint32(st.Mode)&bit == 0 {
		return unix.EACCES
	}
	return nil
}
