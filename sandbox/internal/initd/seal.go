//go:build unix

package initd

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Seal lets everybody read what uid made in dir, which is uid's own, and nobody else write it: an archive or an
// installer may have left modes that shut the sessions after it out, or let them change what the next ones run. What
// is another's there is an error.
func Seal(dir string, uid int) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("sealing what was installed: %w", err)
		}
		info, err := d.Info()
		if err != nil {
			return fmt.Errorf("sealing what was installed: %w", err)
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != uid {
			return fmt.Errorf("sealing what was installed: %q is not the installer's", path)
		}
		mode := info.Mode().Perm()
		if d.Type()&fs.ModeSymlink != 0 {
			return nil
		}
		want := mode&^0o022 | 0o444
		if d.IsDir() {
			want |= 0o311
		} else if mode&0o111 != 0 {
			want |= 0o111
		}
		if want == mode {
			return nil
		}
		if err := os.Chmod(path, want); err != nil {
			return fmt.Errorf("sealing what was installed: %w", err)
		}
		return nil
	})
}
