package images

import (
	"fmt"
	"os"
	"path/filepath"
)

// Write lays the made part of the plan down in dir, an empty directory: directories of mode 0755, links, files, and an
// empty file where a file is to be bound. It does not look at the binds' contents. Modes do not depend on the umask.
func (h Host) Write(dir string) error {
	at := func(path string) string { return filepath.Join(dir, path) }
	for _, d := range h.Dirs {
		if err := os.Mkdir(at(d), 0o755); err != nil {
			return fmt.Errorf("writing the root filesystem: %w", err)
		}
		if err := os.Chmod(at(d), 0o755); err != nil {
			return fmt.Errorf("writing the root filesystem: %w", err)
		}
	}
	for _, l := range h.Links {
		if err := os.Symlink(l.Target, at(l.Path)); err != nil {
			return fmt.Errorf("writing the root filesystem: %w", err)
		}
	}
	files := h.Files
	for _, b := range h.Binds {
		if !b.Dir {
			files = append(files[:len(files):len(files)], File{Path: b.Target})
		}
	}
	for _, f := range files {
		if err := os.WriteFile(at(f.Path), f.Data, 0o644); err != nil {
			return fmt.Errorf("writing the root filesystem: %w", err)
		}
		if err := os.Chmod(at(f.Path), 0o644); err != nil {
			return fmt.Errorf("writing the root filesystem: %w", err)
		}
	}
	return nil
}
