package artifact

import "golang.org/x/sys/unix"

// swap exchanges two paths in one step.
func swap(a, b string) error { return unix.RenamexNp(a, b, unix.RENAME_SWAP) }
