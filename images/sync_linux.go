package images

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncFilesystem writes out the file system that an open folder lies in.
func syncFilesystem(dir *os.File) error { return unix.Syncfs(int(dir.Fd())) }
