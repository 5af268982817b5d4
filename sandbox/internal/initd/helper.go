//go:build unix

package initd

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
)

const (
	edge        = 1 << 20  // hashed at each end of a file that is not hashed whole
	observeFull = 64 << 20 // a file that a session made is hashed whole up to this
)

// View is what a helper looks at.
type View struct {
	Root string // the inputs
	Dir  string // observe: where relative paths begin
	Path string // lookpath: the directories
	// Real and Name translate between names in the box and where they are: a unit test's box is a directory.
	// A real box leaves both nil.
	Real, Name func(string) string
}

func translate(f func(string) string, s string) string {
	if f == nil {
		return s
	}
	return f(s)
}

// Inputs lists everything under v.Root, each directory before what it holds, names in order.
func (v View) Inputs(p wire.Params, out io.Writer) error {
	left := p.Full
	var list func(dir, rel string) error
	list = func(dir, rel string) error {
		entries, err := os.ReadDir(dir)
		if err != nil && rel == "" {
			return err
		}
		for _, e := range entries {
			path, name := filepath.Join(dir, e.Name()), filepath.Join(rel, e.Name())
			f := see(path, name)
			if f.Type == "file" {
				whole := f.Size <= left
				if whole {
					left -= f.Size
				}
				digest(path, &f, whole)
			}
			if err := wire.WriteJSON(out, wire.KindMessage, f, wire.MaxAnswer); err != nil {
				return err
			}
			if f.Type == "dir" {
				if err := list(path, name); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return list(v.Root, "")
}

// Observe looks at each path of p.Names.
func (v View) Observe(p wire.Params, out io.Writer) error {
	for _, name := range p.Names {
		path := translate(v.Real, string(name))
		if !filepath.IsAbs(path) {
			path = filepath.Join(v.Dir, path)
		}
		f := see(path, "")
		var content []byte
		if f.Type == "file" {
			content = digestAndRead(path, &f, f.Size <= observeFull, p.Content)
		}
		f.Bytes = int64(len(content))
		if err := wire.WriteJSON(out, wire.KindMessage, f, wire.MaxAnswer); err != nil {
			return err
		}
		for len(content) > 0 {
			n := min(len(content), wire.MaxData)
			if err := wire.Write(out, wire.KindStdout, content[:n]); err != nil {
				return err
			}
			content = content[n:]
		}
	}
	return nil
}

// LookPath resolves each program of p.Names.
func (v View) LookPath(p wire.Params, uid int, out io.Writer) error {
	for _, name := range p.Names {
		f := wire.File{}
		if path, exit := Find(Command{Args: []string{translate(v.Real, string(name))}, Dir: v.Dir, Path: v.Path}, uid); exit == nil {
			if real, err := filepath.EvalSymlinks(path); err == nil {
				f.Path = []byte(translate(v.Name, real))
			}
		}
		if err := wire.WriteJSON(out, wire.KindMessage, f, wire.MaxAnswer); err != nil {
			return err
		}
	}
	return nil
}

// see tells what is at path, following no link there.
func see(path, name string) wire.File {
	f := wire.File{Path: []byte(name)}
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return f
	}
	f.Mode, f.Size = uint32(st.Mode)&0o7777, st.Size
	switch st.Mode & unix.S_IFMT {
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

func digest(path string, f *wire.File, whole bool) { digestAndRead(path, f, whole, 0) }

// digestAndRead hashes a regular file and returns up to content bytes of its beginning. A file that cannot be read has
// no digest.
func digestAndRead(path string, f *wire.File, whole bool, content int64) []byte {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	file := os.NewFile(uintptr(fd), path)
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

// Remove removes top, and what uid owns in shared directories: it may lie in somebody else's directory.
func Remove(uid int, top string, shared ...string) error {
	err := removeAll(top)
	for _, dir := range shared {
		err = errors.Join(err, removeOwned(dir, uid))
	}
	return err
}

func removeOwned(dir string, uid int) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		var st unix.Stat_t
		if unix.Lstat(path, &st) != nil {
			continue
		}
		if int(st.Uid) == uid {
			err = errors.Join(err, removeAll(path))
		} else if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			err = errors.Join(err, removeOwned(path, uid))
		}
	}
	return err
}

// removeAll also opens directories that their owner has shut.
func removeAll(path string) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error { //nolint:errcheck // what stays is told below
		if d != nil && d.IsDir() && err == nil {
			os.Chmod(p, 0o700) //nolint:errcheck // likewise
		}
		return nil
	})
	return os.RemoveAll(path)
}

func readParams(in io.Reader) (wire.Params, error) {
	var p wire.Params
	b, err := io.ReadAll(io.LimitReader(in, wire.MaxRequest))
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal(b, &p)
}

// Help does what a helper of that name does, whose parameters come from in.
func (v View) Help(name string, uid int, in io.Reader, out io.Writer) error {
	p, err := readParams(in)
	if err != nil {
		return err
	}
	switch name {
	case wire.HelperInputs:
		return v.Inputs(p, out)
	case wire.HelperObserve:
		return v.Observe(p, out)
	case wire.HelperLookPath:
		return v.LookPath(p, uid, out)
	case wire.HelperIsolation:
		return isolation(out)
	}
	return errors.New("no such helper: " + strings.ToValidUTF8(name, "?"))
}
