package artifact

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// move moves one file of the worktree to a path where nothing is, and makes the directories above that as those are
// above the file. A directory that its owner has shut is opened for it; between file systems the file is copied.
func (a *Aside) move(from, to string) error {
	if err := a.rename(from, to); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := a.makeParents(from, to); err != nil {
		return err
	}
	return a.rename(from, to)
}

func (a *Aside) rename(from, to string) error {
	err := a.root.Rename(from, to)
	if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EXDEV) {
		return err
	}
	defer a.open(path.Dir(from))()
	defer a.open(path.Dir(to))()
	if err = a.root.Rename(from, to); errors.Is(err, syscall.EXDEV) {
		return a.copyOver(from, to)
	}
	return err
}

// open gives the owner every right on a directory, and returns what takes them away again.
func (a *Aside) open(dir string) (shut func()) {
	info, err := a.root.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o700 == 0o700 {
		return func() {}
	}
	_ = a.root.Chmod(dir, info.Mode().Perm()|0o700) // what cannot be opened shows when it is written to
	return func() { _ = a.root.Chmod(dir, info.Mode().Perm()) }
}

// makeParents makes the directories above to that are not there. As many of them as from has in common with it get
// the modes of those above from.
func (a *Aside) makeParents(from, to string) error {
	var missing []string
	for dir := path.Dir(to); dir != "."; dir = path.Dir(dir) {
		if _, err := a.root.Lstat(dir); err == nil {
			break
		}
		missing = append(missing, dir)
	}
	for i := len(missing) - 1; i >= 0; i-- {
		dir := missing[i]
		if err := a.root.Mkdir(dir, 0o755); err != nil {
			return err
		}
		like, ok := strings.CutSuffix(from, strings.TrimPrefix(to, dir))
		if info, err := a.root.Lstat(like); ok && err == nil && info.IsDir() {
			if err := a.root.Chmod(dir, info.Mode().Perm()|0o700); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyOver moves between file systems: a whole copy first appears at to, then from goes. What is no file or link
// stays where it is: it is no artifact either.
func (a *Aside) copyOver(from, to string) error {
	info, err := a.root.Lstat(from)
	if err != nil {
		return err
	}
	// A part stands on the file system of its end, under one name in each directory: what a killed program left of one
	// is written over when its file is copied anew.
	part := path.Join(a.dir, asidePart)
	if !strings.HasPrefix(to, a.dir+"/") {
		part = path.Join(path.Dir(to), asidePrefix+asidePart)
	}
	if err := a.root.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	switch info.Mode().Type() {
	case 0:
		err = a.copyFile(from, part, info)
	case fs.ModeSymlink:
		var target string
		if target, err = a.root.Readlink(from); err == nil {
			err = a.root.Symlink(target, part)
		}
	default:
		return nil
	}
	if err != nil {
		return errors.Join(fmt.Errorf("copying %s to another file system: %w", quote(from), err), a.root.Remove(part))
	}
	if err := a.root.Rename(part, to); err != nil {
		return err
	}
	return a.root.Remove(from)
}

func (a *Aside) copyFile(from, to string, info fs.FileInfo) error {
	in, err := a.root.OpenFile(from, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := a.root.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Chmod(info.Mode()), out.Close()); err != nil {
		return err
	}
	return a.root.Chtimes(to, info.ModTime(), info.ModTime())
}
