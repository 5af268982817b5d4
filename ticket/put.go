package ticket

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// asideName is the name under which put writes before it renames. It is always the same, so that what a killed program
// left is found and replaced by the next.
const asideName = "." + RecordName + ".trkr"

// put writes a file below dir, in one step. No link is followed, neither in the folders nor at the file's own place,
// where it is replaced.
func put(dir, file string, content []byte) error {
	folder, err := openFolder(dir, path.Dir(file), true)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := folder.Remove(asideName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := folder.OpenFile(asideName, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err == nil {
		err = folder.Rename(asideName, path.Base(file))
	}
	if err != nil {
		return errors.Join(err, folder.Remove(asideName))
	}
	return nil
}

// canPut tells beforehand whether something stands in the way of put.
func canPut(dir, file string) error {
	folder, err := openFolder(dir, path.Dir(file), false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer folder.Close()
	for _, name := range []string{path.Base(file), asideName} {
		info, err := folder.Lstat(name)
		if err == nil && info.IsDir() {
			return fmt.Errorf("%q is a folder in %q", path.Join(path.Dir(file), name), dir)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// openFolder opens a folder below dir. os.Root keeps a path inside; links that stay inside are refused here: a
// worktree's links are the ticket's work, and one could lead a record into the source.
func openFolder(dir, folder string, create bool) (*os.Root, error) {
	at, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(folder, "/") {
		next, err := openStep(at, name, create)
		if err = errors.Join(err, at.Close()); err != nil {
			return nil, fmt.Errorf("folder %q of %q: %w", folder, dir, err)
		}
		at = next
	}
	return at, nil
}

func openStep(at *os.Root, name string, create bool) (*os.Root, error) {
	if create {
		if err := at.Mkdir(name, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	info, err := at.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%q is no folder (%s)", name, info.Mode().Type())
	}
	next, err := at.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if opened, err := next.Stat("."); err != nil || !os.SameFile(info, opened) {
		return nil, errors.Join(fmt.Errorf("%q was exchanged", name), err, next.Close())
	}
	return next, nil
}
