package artifact

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// contractFile is the contract's name beside the artifacts.
const contractFile = "contract.md"

// Materialise makes dir hold exactly contract.md and artifact/: all of it appears at once, in place of whatever was
// there before. No link is followed, neither at dir nor in what it replaces. It may be called once; dir lies on the
// file system of Staging.
func (s *Set) Materialise(dir string, contract []byte) error {
	broken := func(err error) error {
		return fault.Env("materialise_failed", fmt.Errorf("putting the artifacts at %s: %w", dir, err), "see that the disk has room and that the folder above it can be written")
	}
	if !s.sealed {
		return broken(errors.New("the set was materialised or closed before"))
	}
	text := filepath.Join(s.staging, contractFile)
	if err := os.WriteFile(text, contract, 0o444); err != nil {
		return broken(err)
	}
	if err := os.Chmod(text, 0o444); err != nil {
		return broken(err)
	}
	if err := os.Chmod(s.staging, 0o755); err != nil {
		return broken(err)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return broken(err)
	}
	replaced, err := put(s.staging, dir)
	if err != nil {
		return broken(err)
	}
	s.sealed = false
	if err := s.look(dir); err != nil {
		return broken(err)
	}
	if !replaced {
		s.staging = ""
		return nil
	}
	// What was there before lies where the copy was made.
	return s.Close()
}

// put renames from to to, and what was at to, if anything, to from.
func put(from, to string) (replaced bool, err error) {
	if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
		return false, os.Rename(from, to)
	}
	if err := swap(from, to); err != nil {
		err = putAside(from, to)
		return err == nil, err
	}
	return true, nil
}

// putAside is for file systems that cannot swap: for a moment nothing is at to. The name that is used meanwhile still
// tells whose it is.
func putAside(from, to string) error {
	aside := from + "0"
	if err := os.Rename(to, aside); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return errors.Join(err, os.Rename(aside, to))
	}
	return os.Rename(aside, from)
}

// removeTree removes path and all beneath it, also directories that their owner has shut. No link is followed.
func removeTree(path string) error {
	err := os.RemoveAll(path)
	if err == nil {
		return nil
	}
	root, oerr := os.OpenRoot(filepath.Dir(path))
	if oerr != nil {
		return errors.Join(err, oerr)
	}
	defer root.Close()
	openAll(root, filepath.Base(path))
	return os.RemoveAll(path)
}

// openAll gives the owner every right on the directories at and below p. What fails shows when they are removed.
func openAll(root *os.Root, p string) {
	for todo := []string{p}; len(todo) > 0; {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if info, err := root.Lstat(p); err != nil || !info.IsDir() {
			continue
		}
		_ = root.Chmod(p, 0o700)
		f, err := root.Open(p)
		if err != nil {
			continue
		}
		entries, _ := f.ReadDir(-1)
		f.Close()
		for _, e := range entries {
			if e.IsDir() {
				todo = append(todo, filepath.Join(p, e.Name()))
			}
		}
	}
}
