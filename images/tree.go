package images

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// tree is a root filesystem that comes into being layer by layer. What layers hold is hostile: nothing is made or
// followed outside of the folder, no device, socket or FIFO is made, no right beyond those of the calling user, who owns
// everything, is given. A command of a box has a uid that no file has: what it may read is what all may.
type tree struct {
	root   *os.Root
	budget *budget
	made   map[string]bool // by the layer being laid down, with the folders above: whiteouts do not touch it

	// The folder of the entry before, which most often is that of the next one, too.
	lastName, lastPath string
	last               *os.Root
}

func newTree(dir string, b *budget) (*tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &tree{root: root, budget: b}, nil
}

func (t *tree) close() error {
	t.forget()
	return t.root.Close()
}

// apply lays the layer down that r holds as a tar, and reads r to its end.
func (t *tree) apply(r io.Reader) error {
	t.made = map[string]bool{}
	in := tar.NewReader(r)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := t.entry(h, in); err != nil {
			return err
		}
	}
	_, err := io.Copy(io.Discard, r) // what is behind the tar's end counts for the digest
	return err
}

func (t *tree) entry(h *tar.Header, data io.Reader) error {
	name := path.Clean(strings.TrimLeft(h.Name, "/"))
	if !local(name) {
		return unsafe("the image's layers hold an entry outside of the root: %q", h.Name)
	}
	if err := t.budget.entry(h.Size); err != nil {
		return err
	}
	if h.Typeflag == tar.TypeXGlobalHeader || name == "." {
		return nil
	}
	base := path.Base(name)
	if strings.HasPrefix(base, whiteout) {
		return t.whiteout(path.Dir(name), strings.TrimPrefix(base, whiteout))
	}
	switch h.Typeflag {
	case tar.TypeDir, tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse, tar.TypeSymlink, tar.TypeLink:
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		return nil // a box has devices of its own and no use for others
	default:
		return damaged("the image's layers hold an entry of the unknown type %q: %q", h.Typeflag, h.Name)
	}
	dir, at, err := t.dir(path.Dir(name), true)
	if err != nil {
		return err
	}
	full := path.Join(at, base)
	t.mark(full)
	old, err := dir.Lstat(base)
	exists := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if h.Typeflag == tar.TypeLink {
		return t.link(h, full, exists)
	}
	if exists && !(old.IsDir() && h.Typeflag == tar.TypeDir) {
		if err := t.remove(full); err != nil {
			return err
		}
		if dir, _, err = t.dir(at, false); err != nil {
			return err
		}
	}
	perm := h.FileInfo().Mode() & (fs.ModePerm | fs.ModeSticky)
	switch h.Typeflag {
	case tar.TypeDir:
		if !exists || !old.IsDir() {
			if err := dir.Mkdir(base, 0o700); err != nil {
				return err
			}
		}
		return dir.Chmod(base, perm|0o700) // ours to write to and to remove, whatever the image says
	case tar.TypeSymlink:
		if h.Linkname == "" {
			return damaged("the image's layers hold a link to nothing: %q", h.Name)
		}
		return dir.Symlink(h.Linkname, base)
	}
	return writeFile(dir, base, perm&fs.ModePerm|0o400, h, data)
}

func writeFile(dir *os.Root, base string, perm fs.FileMode, h *tar.Header, data io.Reader) (err error) {
	f, err := dir.OpenFile(base, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := io.Copy(f, data); err != nil {
		return err
	}
	if err := f.Chmod(perm); err != nil {
		return err
	}
	_ = dir.Chtimes(base, h.ModTime, h.ModTime) // compiled Python asks for it; a time that no file can have is none
	return nil
}

// link makes a hard link to a file that the layers made before.
func (t *tree) link(h *tar.Header, full string, exists bool) error {
	target := path.Clean(strings.TrimLeft(h.Linkname, "/"))
	if !local(target) || target == "." {
		return unsafe("the image's layers hold a link to what is outside of the root: %q to %q", h.Name, h.Linkname)
	}
	dir, at, err := t.dir(path.Dir(target), false)
	if err != nil {
		return err
	}
	var info fs.FileInfo
	if dir != nil {
		info, err = dir.Lstat(path.Base(target))
	}
	if dir == nil || err != nil || info.IsDir() {
		return damaged("the image's layers hold a link to a file that is not there: %q to %q", h.Name, h.Linkname)
	}
	from := path.Join(at, path.Base(target))
	if from == full {
		return nil
	}
	if exists {
		if err := t.remove(full); err != nil {
			return err
		}
	}
	return t.root.Link(from, full)
}

// remove takes away what is at a path without links. It may have been on the way to the folder that is kept open, which
// is closed.
func (t *tree) remove(full string) error {
	t.forget()
	return t.root.RemoveAll(full)
}

// mark keeps a path and the folders above from the whiteouts of the same layer.
func (t *tree) mark(name string) {
	for ; name != "." && !t.made[name]; name = path.Dir(name) {
		t.made[name] = true
	}
}

// local reports whether a clean relative path stays below where it begins.
func local(name string) bool { return name != ".." && !strings.HasPrefix(name, "../") }

// maxLinks is how many links a path may lead through, as with the kernel.
const maxLinks = 40

// dir opens the folder of a clean relative name, its links followed as they would be in the box: none leads out of the
// root. It also gives the folder's path without links. What is missing is made, or else nil is given.
func (t *tree) dir(name string, make bool) (*os.Root, string, error) {
	if name == "." {
		return t.root, ".", nil
	}
	if t.last != nil && t.lastName == name {
		return t.last, t.lastPath, nil
	}
	at, links, rest := ".", 0, strings.Split(name, "/")
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, part)
		info, err := t.root.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !make:
			return nil, "", nil
		case errors.Is(err, fs.ErrNotExist):
			if err := t.makeDir(next); err != nil {
				return nil, "", err
			}
			at = next
		case err != nil:
			return nil, "", err
		case info.IsDir():
			at = next
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := t.root.Readlink(next)
			if err != nil {
				return nil, "", err
			}
			if links++; links > maxLinks {
				return nil, "", unsafe("the image's layers hold links that lead in a circle: %q", name)
			}
			if path.IsAbs(target) {
				at = "."
			}
			rest = append(strings.Split(target, "/"), rest...)
		default:
			return nil, "", damaged("the image's layers hold something below the file %q: %q", next, name)
		}
	}
	if at == "." {
		return t.root, at, nil
	}
	opened, err := t.root.OpenRoot(at)
	if err != nil {
		return nil, "", err
	}
	t.forget()
	t.last, t.lastName, t.lastPath = opened, name, at
	return opened, at, nil
}

func (t *tree) makeDir(name string) error {
	if err := t.budget.entry(0); err != nil {
		return err
	}
	if err := t.root.Mkdir(name, 0o755); err != nil {
		return err
	}
	if err := t.root.Chmod(name, 0o755); err != nil { // whatever the umask
		return err
	}
	t.mark(name)
	return nil
}

func (t *tree) forget() {
	if t.last != nil {
		_ = t.last.Close() // a folder's descriptor: nothing was written to it
	}
	t.last, t.lastName, t.lastPath = nil, "", ""
}

// whiteout is how the name of an entry begins that takes something of the layers below away. What follows it is the
// name, or opaque for everything in the folder, or a name of the union file system's own, which means nothing here.
const (
	whiteout = ".wh."
	opaque   = ".wh..opq"
)

func (t *tree) whiteout(name, what string) error {
	dir, at, err := t.dir(name, false)
	if err != nil || dir == nil {
		return err
	}
	full := path.Join(at, what)
	switch {
	case what == opaque:
		return t.clear(at)
	case strings.HasPrefix(what, whiteout):
		return nil
	case what == "" || what == "." || what == "..":
		return unsafe("the image's layers remove what has no name: %q", path.Join(name, whiteout+what))
	case t.made[full]:
		return nil
	}
	return t.remove(full)
}

// clear removes from a folder what this layer did not make.
func (t *tree) clear(at string) error {
	t.forget()
	folder, err := t.root.Open(at)
	if err != nil {
		return err
	}
	list, err := folder.ReadDir(-1)
	if err = errors.Join(err, folder.Close()); err != nil {
		return err
	}
	for _, e := range list {
		name := path.Join(at, e.Name())
		switch {
		case !t.made[name]:
			err = t.root.RemoveAll(name)
		case e.IsDir():
			err = t.clear(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
