//go:build unix

package initd

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
)

const (
	edge        = 1 << 20  // hashed at each end of a file that is not hashed whole
	observeFull = 64 << 20 // a file that a session made is hashed whole up to this
)

// place is where paths are looked at: a directory that no link leads out of, or outside any.
type place interface {
	Lstat(path string) (fs.FileInfo, error)
	Readlink(path string) (string, error)
	OpenFile(path string, flag int, mode fs.FileMode) (*os.File, error)
}

type outside struct{}

func (outside) Lstat(path string) (fs.FileInfo, error) { return os.Lstat(path) }
func (outside) Readlink(path string) (string, error)   { return os.Readlink(path) }
func (outside) OpenFile(path string, flag int, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(path, flag, mode)
}

// openDir opens the working directory of a session, which owns it and the one that holds it: a link in place of either
// leads elsewhere.
func openDir(dir string) (*os.Root, error) {
	holder := filepath.Dir(dir)
	root, err := os.OpenRoot(filepath.Dir(holder))
	for _, name := range []string{filepath.Base(holder), filepath.Base(dir)} {
		if err != nil {
			return nil, err
		}
		root, err = step(root, name)
	}
	return root, err
}

// step goes from one directory into one that it holds.
func step(from *os.Root, name string) (*os.Root, error) {
	defer from.Close()
	info, err := from.Lstat(name)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		err = &fs.PathError{Op: "open", Path: name, Err: unix.ELOOP}
	}
	if err != nil {
		return nil, err
	}
	return from.OpenRoot(name)
}

// unseen is the type of what could not be looked at.
func unseen(err error) string {
	if missing(err) {
		return ""
	}
	return sandbox.Unseen
}

// look tells what is at path, with up to content bytes of a regular file.
func look(at place, path string, content int64) (wire.File, []byte) {
	f := see(at, path)
	if f.Type != "file" {
		return f, nil
	}
	return f, digestAndRead(at, path, &f, f.Size <= observeFull, content)
}

// see tells what is at path, following no link there.
func see(at place, path string) wire.File {
	info, err := at.Lstat(path)
	if err != nil {
		return wire.File{Type: unseen(err)}
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return wire.File{Type: sandbox.Unseen}
	}
	f := wire.File{Mode: uint32(st.Mode) & 0o7777, Size: info.Size()}
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFREG:
		f.Type = "file"
	case unix.S_IFDIR:
		f.Type, f.Size = "dir", 0
	case unix.S_IFLNK:
		f.Type = "link"
		if t, err := at.Readlink(path); err == nil {
			f.Target = []byte(t)
		}
	default:
		f.Type = "other"
	}
	return f
}

// digestAndRead hashes a regular file and returns up to content bytes of its beginning. A file that cannot be read has
// no digest.
func digestAndRead(at place, path string, f *wire.File, whole bool, content int64) []byte {
	file, err := at.OpenFile(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f.Size = info.Size()
	h := sha256.New()
	buf := make([]byte, 256<<10)
	var parts []io.Reader
	if whole || f.Size <= 2*edge {
		parts = []io.Reader{file}
	} else {
		f.Partial = true
		parts = []io.Reader{io.NewSectionReader(file, 0, edge), io.NewSectionReader(file, f.Size-edge, edge)}
	}
	for _, p := range parts {
		if _, err := io.CopyBuffer(onlyWriter{h}, onlyReader{p}, buf); err != nil {
			return nil
		}
	}
	f.Digest = hex.EncodeToString(h.Sum(nil))
	if content <= 0 {
		return nil
	}
	b, err := io.ReadAll(io.NewSectionReader(file, 0, min(content, f.Size)))
	if err != nil {
		return nil
	}
	return b
}

// These keep io.CopyBuffer to the buffer that it is given.
type (
	onlyReader struct{ io.Reader }
	onlyWriter struct{ io.Writer }
)
