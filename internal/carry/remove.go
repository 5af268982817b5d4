package carry

import (
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveAll removes a folder, also where rights were taken away from what is in it. No link is followed.
func RemoveAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() {
			return os.Chmod(name, 0o700) // a folder is asked for its mode before it is read
		}
		return nil
	})
	return os.RemoveAll(dir)
}
