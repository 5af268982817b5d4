//go:build !linux

package carry

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

func mkfifo(dir *os.File, name string, mode uint32) error {
	return unix.Mkfifo(filepath.Join(dir.Name(), name), mode)
}
