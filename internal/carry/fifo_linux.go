package carry

import (
	"os"

	"golang.org/x/sys/unix"
)

func mkfifo(dir *os.File, name string, mode uint32) error {
	return unix.Mknodat(int(dir.Fd()), name, unix.S_IFIFO|mode, 0)
}
