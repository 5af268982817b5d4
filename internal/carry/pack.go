// Package carry takes folders as tars, names and links as they are. What it reads may change meanwhile and what it
// unpacks may be hostile: everything happens below an os.Root, no link is followed, and nothing that could block is
// opened.
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
	"time"

	"golang.org/x/sys/unix"
)

// Packing says how a folder is packed.
type Packing struct {
	Prefix string // of each name
	// Skip leaves out a path (relative, slashes, raw bytes), of a folder with all that is in it; entries are those of the
	// folder that it stands in. Nil: nothing.
	Skip func(p string, entries []fs.DirEntry) bool
	// Want is asked of each path that is not skipped, with its entry, before any content is read. No leaves the entry out,
	// of a folder not what is in it. Nil: everything.
	Want func(p string, h *tar.Header) bool
	Ours bool // rights that keep us out may be changed
}

// Pack writes what stands in root to w. A socket becomes a FIFO, because a tar has no sockets; devices are left out.
func (k Packing) Pack(ctx context.Context, root *os.Root, w *tar.Writer) error {
	dir, err := root.OpenRoot(".")
	if err != nil {
		return err
	}
	return packer{k, ctx, w}.folder(dir, ".")
}

type packer struct {
	Packing
	ctx context.Context
	w   *tar.Writer
}

// folder packs what is in an open folder, and closes it.
func (k packer) folder(dir *os.Root, at string) (err error) {
	defer func() { err = errors.Join(err, dir.Close()) }()
	f, err := dir.Open(".")
	if errors.Is(err, fs.ErrPermission) && k.Ours && dir.Chmod(".", 0o700) == nil {
		f, err = dir.Open(".")
	}
	if err != nil {
		return err
	}
	entries, err := f.ReadDir(-1)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	for _, e := range entries {
		p := path.Join(at, e.Name())
		if k.ctx.Err() != nil {
			return context.Cause(k.ctx)
		}
		if k.Skip != nil && k.Skip(p, entries) {
			continue
		}
		if err := k.entry(dir, e.Name(), p); err != nil {
			return fmt.Errorf("packing %q: %w", p, err)
		}
	}
	return nil
}

func (k packer) entry(dir *os.Root, name, p string) error {
	info, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // gone by now
	}
	if err != nil {
		return err
	}
	h := &tar.Header{Name: k.Prefix + p, Mode: int64(info.Mode().Perm()), ModTime: info.ModTime().Truncate(time.Microsecond), Format: tar.FormatPAX}
	switch info.Mode().Type() {
	case 0:
		return k.file(dir, name, p, h)
	case fs.ModeDir:
		h.Typeflag, h.Name = tar.TypeDir, h.Name+"/"
		if err := k.head(p, h); err != nil {
			return err
		}
		if k.Ours && info.Mode()&0o500 != 0o500 {
			_ = dir.Chmod(name, 0o700) // where it matters, the next says so
		}
		child, err := dir.OpenRoot(name)
		if err != nil {
			return err
		}
		if opened, err := child.Stat("."); err != nil || !os.SameFile(opened, info) {
			return errors.Join(errors.New("it changed while it was read"), err, child.Close())
		}
		return k.folder(child, p)
	case fs.ModeSymlink:
		h.Typeflag = tar.TypeSymlink
		if h.Linkname, err = dir.Readlink(name); err != nil {
			return err
		}
		return k.head(p, h)
	case fs.ModeNamedPipe, fs.ModeSocket:
		h.Typeflag = tar.TypeFifo
		return k.head(p, h)
	}
	return nil
}

func (k packer) wants(p string, h *tar.Header) bool { return k.Want == nil || k.Want(p, h) }

func (k packer) head(p string, h *tar.Header) error {
	if !k.wants(p, h) {
		return nil
	}
	return k.w.WriteHeader(h)
}

func (k packer) file(dir *os.Root, name, p string, h *tar.Header) (err error) {
	const flags = os.O_RDONLY | unix.O_NONBLOCK | unix.O_NOFOLLOW // by now it may be a FIFO or a link
	in, err := dir.OpenFile(name, flags, 0)
	if errors.Is(err, fs.ErrPermission) && k.Ours && dir.Chmod(name, 0o600) == nil {
		in, err = dir.OpenFile(name, flags, 0)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	info, err := in.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return errors.Join(errors.New("it changed while it was read"), err)
	}
	h.Typeflag, h.Size = tar.TypeReg, info.Size()
	if !k.wants(p, h) {
		return nil
	}
	if err := k.w.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.CopyN(k.w, Reader(k.ctx, in), h.Size)
	if errors.Is(err, io.EOF) {
		err = errors.New("it changed while it was read")
	}
	return err
}
