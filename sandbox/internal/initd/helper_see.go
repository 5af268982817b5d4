//go:build unix

package initd

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
)

const (
	edge        = 1 << 20  // hashed at each end of a file that is not hashed whole
	observeFull = 64 << 20 // a file that a session made is hashed whole up to this
)

// workDir is a session's directory without links. The session owns it and the one that holds it: a link in place of
// either leads elsewhere.
func workDir(dir string) (string, error) {
	holder := filepath.Dir(dir)
	real, err := filepath.EvalSymlinks(filepath.Dir(holder))
	for _, name := range []string{filepath.Base(holder), filepath.Base(dir)} {
		if err != nil {
			return "", err
		}
		real = filepath.Join(real, name)
		var info fs.FileInfo
		if info, err = os.Lstat(real); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			err = errOutside
		}
	}
	return real, err
}

var errOutside = errors.New("it leads out of the working directory")

// beneath is where a path of a working directory leads, links followed up to its last element. Nothing of the session
// runs meanwhile that could change them. An os.Root would do the same, but gVisor follows a link that is to be opened
// as a directory and not to be followed.
func beneath(dir, path string) (string, error) {
	if !filepath.IsLocal(path) {
		return "", errOutside
	}
	in, err := filepath.EvalSymlinks(filepath.Join(dir, filepath.Dir(path)))
	if err == nil && in != dir && !strings.HasPrefix(in, dir+"/") {
		err = errOutside
	}
	return filepath.Join(in, filepath.Base(path)), err
}

// unseen is the type of what could not be looked at.
func unseen(err error) string {
	if missing(err) {
		return ""
	}
	return sandbox.Unseen
}

// look tells what is at path, with up to content bytes of a regular file.
func look(path string, content int64) (wire.File, []byte) {
	f := see(path)
	if f.Type != "file" {
		return f, nil
	}
	return f, digestAndRead(path, &f, f.Size <= observeFull, content)
}

// see tells what is at path, following no link there.
func see(path string) wire.File {
	info, err := os.Lstat(path)
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
		if t, err := os.Readlink(path); err == nil {
			f.Target = []byte(t)
		}
	default:
		f.Type = "other"
	}
	return f
}

// digestAndRead hashes a regular file and returns up to content bytes of its beginning. A file that cannot be read has
// no digest.
func digestAndRead(path string, f *wire.File, whole bool, content int64) []byte {
	file, err := os.OpenFile(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
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
