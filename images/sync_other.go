//go:build unix && !linux

package images

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncFilesystem writes out the file system that an open folder lies in.
func syncFilesystem(*os.File) error { unix.Sync(); return nil }
