// Package ownfolder makes the folders in a repository that hold what this program keeps there and git does not.
package ownfolder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// Hint is what to do about a folder that cannot be written.
const Hint = "see that the disk has room and that .trkr in the repository's main worktree can be written"

// Make makes dir below root with a .gitignore that hides it. A ticket may have planted links there: a part that
// is no folder is an error, nothing is written through it.
func Make(root *os.Root, dir string) error {
	for at := dir; at != "."; at = path.Dir(at) {
		info, err := root.Lstat(at)
		if err == nil && !info.IsDir() {
			return fault.Envf("unsafe_folder", []string{"remove it; the program keeps its own files there"}, "%s is not a folder", filepath.Join(root.Name(), at))
		}
	}
	if err := root.MkdirAll(dir, 0o755); err != nil {
		return fault.Env("folder", fmt.Errorf("making %s: %w", dir, err), Hint)
	}
	name := path.Join(dir, ".gitignore")
	if info, err := root.Lstat(name); err == nil && info.Mode().IsRegular() {
		return nil
	}
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Env("folder", err, Hint)
	}
	if err := root.WriteFile(name, []byte("*\n"), 0o644); err != nil {
		return fault.Env("folder", fmt.Errorf("writing %s: %w", name, err), Hint)
	}
	return nil
}
