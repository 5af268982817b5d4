package carry

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Name is the path of a tar's entry, clean and relative: "." for the top. An entry that leaves it is an error.
func Name(h *tar.Header) (string, error) {
	p := path.Clean(strings.TrimLeft(h.Name, "/"))
	if !filepath.IsLocal(p) {
		return "", fmt.Errorf("the entry %q lies outside", h.Name)
	}
	return p, nil
}

// Unpack lays a tar down in root, which belongs to nobody else.
func Unpack(ctx context.Context, r *tar.Reader, root *os.Root) error {
	var dirs []*tar.Header // their times, and rights that would keep us out, come last
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		p, err := Name(h)
		if err != nil {
			return err
		}
		if h.Typeflag == tar.TypeDir {
			dirs = append(dirs, h)
		}
		if err := Put(root, p, h, Reader(ctx, r)); err != nil {
			return fmt.Errorf("unpacking %q: %w", p, err)
		}
	}
	for i := len(dirs) - 1; i >= 0; i-- {
		p, err := Name(dirs[i])
		if err == nil && p != "." {
			err = errors.Join(root.Chmod(p, perm(dirs[i])), root.Chtimes(p, dirs[i].ModTime, dirs[i].ModTime))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func perm(h *tar.Header) fs.FileMode { return fs.FileMode(h.Mode) & fs.ModePerm }

// Put makes one entry at p, in place of what stands there and of what is no folder on the way. A folder stays, and is
// made so that the caller can write to it.
func Put(root *os.Root, p string, h *tar.Header, data io.Reader) error {
	if p == "." {
		return nil
	}
	if err := folder(root, path.Dir(p)); err != nil {
		return err
	}
	if h.Typeflag == tar.TypeDir {
		return folder(root, p)
	}
	if err := root.RemoveAll(p); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeReg:
		return file(root, p, h, data)
	case tar.TypeSymlink:
		return root.Symlink(h.Linkname, p)
	case tar.TypeFifo:
		return fifo(root, p)
	case tar.TypeLink:
		return fmt.Errorf("a hard link to %q", h.Linkname)
	}
	return fmt.Errorf("an entry of the type %q", h.Typeflag)
}

// folder makes a folder and those above it. Each is looked at from the top on: no link may lead elsewhere.
func folder(root *os.Root, p string) error {
	if p == "." {
		return nil
	}
	if err := folder(root, path.Dir(p)); err != nil {
		return err
	}
	info, err := root.Lstat(p)
	if err == nil && info.IsDir() {
		return nil
	}
	if err := root.RemoveAll(p); err != nil {
		return err
	}
	return root.Mkdir(p, 0o755)
}

func file(root *os.Root, p string, h *tar.Header, data io.Reader) (err error) {
	f, err := root.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := io.Copy(f, data); err != nil {
		return err
	}
	if err := f.Chmod(perm(h)); err != nil {
		return err
	}
	return root.Chtimes(p, h.ModTime, h.ModTime)
}

// fifo makes a FIFO below the folder of p, which is opened first: a path would be followed anew.
func fifo(root *os.Root, p string) error {
	dir, err := root.Open(path.Dir(p))
	if err != nil {
		return err
	}
	defer dir.Close()
	return mkfifo(dir, path.Base(p), unix.S_IRUSR|unix.S_IWUSR)
}
