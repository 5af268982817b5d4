package artifact

import (
	"os"
	"path"
	"strings"
)

// openPlain opens a directory below root of which no part is a link. One part after the other is opened, and each
// must be what stands under its name in the part before: nobody can lead the way elsewhere by putting a link in it
// meanwhile, also not to another place of the worktree. That is errChanged.
func openPlain(root *os.Root, p string) (*os.Root, error) {
	dir, err := root.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	if p = path.Clean(p); p == "." {
		return dir, nil
	}
	for name := range strings.SplitSeq(p, "/") {
		next, err := openChild(dir, name)
		dir.Close()
		if err != nil {
			return nil, err
		}
		dir = next
	}
	return dir, nil
}

func openChild(dir *os.Root, name string) (*os.Root, error) {
	named, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !named.IsDir() {
		return nil, errChanged
	}
	child, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := child.Stat(".")
	if err == nil && !os.SameFile(opened, named) {
		err = errChanged
	}
	if err != nil {
		child.Close()
		return nil, err
	}
	return child, nil
}
