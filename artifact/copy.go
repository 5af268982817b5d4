package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

const (
	chunk     = 256 << 10 // read at once
	pipelined = 4 << 20   // files from this size on are hashed beside the copying
)

// copier copies files, one after the other. It keeps the directories of the last one open.
type copier struct {
	c        *collection
	from, to *os.Root // the worktree, the copy; to is nil where files are only looked at

	at       string // the directory that src and dst are
	src, dst *os.Root
	bufs     [][]byte
}

func (k *copier) close() {
	if k.src != nil {
		k.src.Close()
	}
	if k.dst != nil {
		k.dst.Close()
	}
	k.src, k.dst = nil, nil
}

// enter opens a directory on both sides. An error of the worktree's side is a sourceError.
func (k *copier) enter(dir string) (err error) {
	if k.src != nil && k.at == dir {
		return nil
	}
	k.close()
	k.at = dir
	if k.src, err = openPlain(k.from, dir); err != nil {
		return &sourceError{err}
	}
	if k.to != nil {
		k.dst, err = k.to.OpenRoot(dir)
	}
	return err
}

// sourceError is about the worktree and so the ticket's to answer for; any other is the environment's.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }
func (e *sourceError) Unwrap() error { return e.err }

// take copies one file and hashes it, or only looks at its beginning where the set is refused already. What is wrong
// with the file goes to the reasons; an error is the environment's.
func (k *copier) take(ctx context.Context, it *item) error {
	err := k.copy(ctx, it)
	var source *sourceError
	switch {
	case errors.As(err, &source):
		if errors.Is(source.err, os.ErrNotExist) || errors.Is(source.err, syscall.ENOTDIR) || errors.Is(source.err, syscall.ELOOP) {
			source.err = errChanged
		}
		k.c.reasons.unreadable(it.path, source.err)
		return nil
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fault.Env("staging_failed", fmt.Errorf("copying %s: %w", quote(it.path), err), "see that the disk that holds .trkr has room")
	}
	return nil
}

func (k *copier) copy(ctx context.Context, it *item) error {
	if err := k.enter(path.Dir(it.path)); err != nil {
		return err
	}
	name := path.Base(it.path)
	// Not blocking: what was a file may be a FIFO by now.
	in, err := k.src.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return &sourceError{err}
	}
	defer in.Close()
	if err := unchanged(it, in); err != nil {
		return err
	}
	if err := k.checkPlatform(it, in); err != nil {
		return err
	}
	if k.to == nil || k.c.reasons.any() {
		return nil
	}
	out, err := k.dst.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := k.transfer(ctx, it, in, out); err != nil {
		return err
	}
	if err := unchanged(it, in); err != nil {
		return err
	}
	if named, err := k.src.Lstat(name); err != nil || identify(named) != it.was {
		return &sourceError{errChanged}
	}
	if err := out.Chmod(os.FileMode(it.mode)); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	mtime := time.Unix(0, it.was.mtime)
	return k.dst.Chtimes(name, mtime, mtime)
}

// unchanged compares an open file with what was chosen.
func unchanged(it *item, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return &sourceError{err}
	}
	if !info.Mode().IsRegular() || identify(info) != it.was {
		return &sourceError{errChanged}
	}
	return nil
}

func (k *copier) checkPlatform(it *item, in *os.File) error {
	if k.c.o.Platform == "" || it.size < 16 {
		return nil
	}
	head := k.buf(0)[:min(it.size, headBytes)]
	if _, err := in.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return &sourceError{err}
	}
	if p := programFor(it.path, it.mode, head); p != "" && p != k.c.o.Platform {
		k.c.reasons.blame(foreign, it.path, p)
	}
	return nil
}

func (k *copier) buf(i int) []byte {
	for len(k.bufs) <= i {
		k.bufs = append(k.bufs, make([]byte, chunk))
	}
	return k.bufs[i]
}

// zeros stands for the holes of a file.
var zeros [chunk]byte

// transfer copies the data of a file, leaves its holes, and hashes both.
func (k *copier) transfer(ctx context.Context, it *item, in, out *os.File) error {
	h := newHasher(it.size)
	feed, finish := h.feed, func() {}
	if it.size >= pipelined {
		feed, finish = h.beside()
	}
	defer finish()
	whole := true // the copy has its full length by what was written
	next := 0
	for at := int64(0); at < it.size; {
		begin, end := segment(in, at, it.size)
		for at < begin && ctx.Err() == nil {
			n := min(chunk, begin-at)
			feed(zeros[:n])
			at += n
		}
		whole = end == it.size && begin < end
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for at < end && ctx.Err() == nil {
			// One buffer is filled while the ones before it are hashed.
			b := k.buf(next % ringSize)[:min(chunk, end-at)]
			next++
			n, err := in.ReadAt(b, at)
			if n < len(b) {
				if errors.Is(err, io.EOF) {
					err = errChanged
				}
				return &sourceError{err}
			}
			feed(b)
			if _, err := out.WriteAt(b, at); err != nil {
				return err
			}
			at += int64(n)
		}
	}
	if !whole {
		if err := out.Truncate(it.size); err != nil {
			return err
		}
	}
	finish()
	it.sum, it.edges = h.sums()
	return nil
}

// segment is the next stretch of data at or after at; begin == end == size where only a hole follows. A file system
// that knows no holes has data everywhere.
func segment(f *os.File, at, size int64) (begin, end int64) {
	begin, err := f.Seek(at, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) {
		return size, size
	}
	if err != nil || begin < at {
		return at, size
	}
	end, err = f.Seek(begin, unix.SEEK_HOLE)
	if err != nil || end <= begin {
		end = size
	}
	return min(begin, size), min(end, size)
}
