//go:build unix

package initd

import (
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

// View is what a helper looks at.
type View struct {
	Root string // the inputs
	Dir  string // where relative paths begin
	Path string // lookpath: the directories
	// Real and Name translate between names in the box and where they are: a unit test's box is a directory.
	// A real box leaves both nil.
	Real, Name func(string) string
	Alone      bool // all sessions of a unit test's box have one uid: whoever answers a talk is the one meant
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
			f := see(path)
			f.Path = []byte(name)
			if f.Type == "file" {
				whole := f.Size <= left
				if whole {
					left -= f.Size
				}
				digestAndRead(path, &f, whole, 0)
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

// Observe looks at each path of p.Names. A relative one is never followed out of v.Dir: what stands elsewhere is not
// what was made there.
func (v View) Observe(p wire.Params, out io.Writer) error {
	dir, gone := workDir(v.Dir)
	for _, name := range p.Names {
		path, err := translate(v.Real, string(name)), error(nil)
		if !filepath.IsAbs(path) {
			if err = gone; err == nil {
				path, err = beneath(dir, path)
			}
		}
		var f wire.File
		var content []byte
		if err != nil {
			f.Type = unseen(err)
		} else {
			f, content = look(path, p.Content)
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
		c := Command{Args: []string{translate(v.Real, string(name))}, Dir: "/", Path: v.Path}
		if strings.Contains(c.Args[0], "/") && !filepath.IsAbs(c.Args[0]) {
			c.Dir = v.Dir // which may be gone: the others do not need it
		}
		if path, exit := Find(c, uid); exit == nil {
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
	if len(p.Dir) > 0 {
		v.Dir = translate(v.Real, string(p.Dir))
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
	case wire.HelperTalk:
		return v.speak(p.Talk, out)
	}
	return errors.New("no such helper: " + strings.ToValidUTF8(name, "?"))
}
