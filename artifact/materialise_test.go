package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/verdict"
)

var text = []byte("VAL-1: it works\n")

// seen lists a directory the way a box does; whole says whether large files are hashed whole.
func seen(t *testing.T, dir string, whole bool) (files []sandbox.File) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		info, err := d.Info()
		must(t, err)
		f := sandbox.File{Path: strings.TrimPrefix(p, dir+"/"), Mode: uint32(info.Mode().Perm())}
		switch info.Mode().Type() {
		case 0:
			b, err := os.ReadFile(p)
			must(t, err)
			f.Type, f.Size = "file", info.Size()
			if !whole && len(b) > 2<<20 {
				f.Partial = true
				b = append(b[:1<<20:1<<20], b[len(b)-1<<20:]...)
			}
			sum := sha256.Sum256(b)
			f.Digest = hex.EncodeToString(sum[:])
		case fs.ModeDir:
			f.Type = "dir"
		case fs.ModeSymlink:
			f.Type = "link"
			f.Target, err = os.Readlink(p)
			must(t, err)
		}
		files = append(files, f)
		return nil
	}))
	return files
}

func TestMaterialiseReplacesAnything(t *testing.T) {
	outside := tree(t, "precious/x", "shut/x")
	for name, before := range map[string]func(t *testing.T, dir string){
		"nothing": func(*testing.T, string) {},
		"an older set": func(t *testing.T, dir string) {
			grow(t, dir, "contract.md", "artifact/old/x", "artifact/l -> "+outside)
		},
		"a link to a directory": func(t *testing.T, dir string) { must(t, os.Symlink(outside, dir)) },
		"a dangling link":       func(t *testing.T, dir string) { must(t, os.Symlink("nowhere", dir)) },
		"a file":                func(t *testing.T, dir string) { must(t, os.WriteFile(dir, []byte("x"), 0)) },
		"a FIFO":                func(t *testing.T, dir string) { must(t, syscall.Mkfifo(dir, 0)) },
		"an empty directory":    func(t *testing.T, dir string) { must(t, os.Mkdir(dir, 0)) },
		"everything at once": func(t *testing.T, dir string) {
			grow(t, dir, "a/b/c", "l -> "+outside, "a/l -> "+outside+"/precious", "shut/x", "ro/x", "new\nline/\xff")
			must(t, syscall.Mkfifo(dir+"/a/fifo", 0o600))
			must(t, os.Chmod(dir+"/ro", 0o555))
			must(t, os.Chmod(dir+"/shut", 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, tree(t, "dist/app", "dist/sub/"), "dist")
			s := sealed(t, o)
			dir := filepath.Join(o.Staging, "7")
			before(t, dir)
			must(t, s.Materialise(dir, text))
			var got []string
			for _, f := range seen(t, dir, true) {
				got = append(got, f.Path)
			}
			if want := []string{"artifact", "artifact/dist", "artifact/dist/app", "artifact/dist/sub", "contract.md"}; !slices.Equal(got, want) {
				t.Errorf("holds %q", got)
			}
			left, err := os.ReadDir(o.Staging)
			must(t, err)
			if len(left) != 1 {
				t.Errorf("left: %v", left)
			}
			if err := s.Materialise(dir, text); fault.Of(err) == nil {
				t.Error("materialised twice")
			}
			must(t, s.Verify(seen(t, dir, true), text))
			must(t, s.Close())
			if info, err := os.Lstat(dir); err != nil || info.Mode().Perm() != 0o755 {
				t.Errorf("%v, %v", info, err)
			}
		})
	}
	for _, p := range []string{"precious/x", "shut/x"} {
		if _, err := os.Lstat(filepath.Join(outside, p)); err != nil {
			t.Errorf("a link was followed: %v", err)
		}
	}
}

// Where swapping is not possible, two renames do the same, and a failure leaves what was there.
func TestPutAside(t *testing.T) {
	top := tree(t, "new/n", "old/o")
	must(t, putAside(top+"/new", top+"/old"))
	for _, p := range []string{"old/n", "new/o"} {
		if _, err := os.Lstat(filepath.Join(top, p)); err != nil {
			t.Error(err)
		}
	}
	if err := putAside(top+"/absent", top+"/old"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("err = %v", err)
	}
	if _, err := os.Lstat(top + "/old/n"); err != nil {
		t.Error(err)
	}
}

func TestVerify(t *testing.T) {
	o := options(t, tree(t, "d/app", "d/l -> app", "d/large"), "d")
	large := make([]byte, 5<<20+7)
	for i := range large {
		large[i] = byte(i * i >> 7)
	}
	must(t, os.WriteFile(o.Root+"/d/large", large, 0o644))
	s := sealed(t, o)
	dir := filepath.Join(o.Staging, "7")
	must(t, s.Materialise(dir, text))
	for _, whole := range []bool{true, false} {
		must(t, s.Verify(seen(t, dir, whole), text))
	}

	at := func(files []sandbox.File, path string) *sandbox.File {
		return &files[slices.IndexFunc(files, func(f sandbox.File) bool { return f.Path == path })]
	}
	for want, change := range map[string]func(files []sandbox.File) []sandbox.File{
		`"artifact/d/app" is not there`: func(f []sandbox.File) []sandbox.File {
			return slices.DeleteFunc(f, func(f sandbox.File) bool { return f.Path == "artifact/d/app" })
		},
		`"artifact/extra" is not part of it`: func(f []sandbox.File) []sandbox.File {
			return append(f, sandbox.File{Path: "artifact/extra", Type: "file"})
		},
		`"artifact/d/app" is not part of it`:                     func(f []sandbox.File) []sandbox.File { return append(f, *at(f, "artifact/d/app")) },
		`"artifact/d/app" is "dir" there and was a file`:         func(f []sandbox.File) []sandbox.File { at(f, "artifact/d/app").Type = "dir"; return f },
		`"artifact/d/app" has mode 4644 there and 0644 here`:     func(f []sandbox.File) []sandbox.File { at(f, "artifact/d/app").Mode = 0o4644; return f },
		`"artifact/d/app" has 0 bytes there and 14 here`:         func(f []sandbox.File) []sandbox.File { at(f, "artifact/d/app").Size = 0; return f },
		`"artifact/d/app" has other content`:                     func(f []sandbox.File) []sandbox.File { at(f, "artifact/d/app").Digest = ""; return f },
		`"artifact/d/large" has other content`:                   func(f []sandbox.File) []sandbox.File { at(f, "artifact/d/large").Partial = true; return f },
		`"artifact/d/l" links to "/etc" there and to "app" here`: func(f []sandbox.File) []sandbox.File { at(f, "artifact/d/l").Target = "/etc"; return f },
		`"artifact" has mode 0700 there and 0755 here`:           func(f []sandbox.File) []sandbox.File { at(f, "artifact").Mode = 0o700; return f },
		`"contract.md" is not there`: func(f []sandbox.File) []sandbox.File {
			return slices.DeleteFunc(f, func(f sandbox.File) bool { return f.Path == "contract.md" })
		},
		`"x1" is not part of it, "x2" is not part of it and 1 more`: func(f []sandbox.File) []sandbox.File {
			return append(f, sandbox.File{Path: "x1"}, sandbox.File{Path: "x2"}, sandbox.File{Path: "x3"}, sandbox.File{Path: "w1"}, sandbox.File{Path: "w2"}, sandbox.File{Path: "w3"})
		},
	} {
		err := s.Verify(change(seen(t, dir, true)), text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("err = %v, want %s", err, want)
		}
	}
	if err := s.Verify(seen(t, dir, true), []byte("VAL-1: other\n")); err == nil || !strings.Contains(err.Error(), "contract.md") {
		t.Errorf("err = %v", err)
	}
}

// Whatever is done to what was materialised is noticed, also when it was undone.
func TestUnchanged(t *testing.T) {
	for name, change := range map[string]func(dir string) error{
		"nothing, and it was read": func(dir string) error { _, err := os.ReadFile(dir + "/artifact/d/app"); return err },
		"rewritten":                func(dir string) error { return os.WriteFile(dir+"/artifact/d/app", []byte("THIS IS d/app\n"), 0) },
		"changed and changed back": func(dir string) error {
			app := dir + "/artifact/d/app"
			info, err := os.Stat(app)
			old, rerr := os.ReadFile(app)
			return errors.Join(err, rerr, os.WriteFile(app, []byte("x"), 0), os.WriteFile(app, old, 0), os.Chtimes(app, info.ModTime(), info.ModTime()))
		},
		"replaced and put back": func(dir string) error {
			app := dir + "/artifact/d/app"
			return errors.Join(os.Rename(app, app+"2"), os.WriteFile(app, nil, 0o755), os.Rename(app+"2", app))
		},
		"mode":    func(dir string) error { return os.Chmod(dir+"/artifact/d/app", 0o755) },
		"added":   func(dir string) error { return os.WriteFile(dir+"/artifact/d/more", nil, 0o644) },
		"on top":  func(dir string) error { return os.WriteFile(dir+"/artifact/more", nil, 0o644) },
		"beside":  func(dir string) error { return os.WriteFile(dir+"/more", nil, 0o644) },
		"removed": func(dir string) error { return os.RemoveAll(dir + "/artifact/d") },
		"link": func(dir string) error {
			return errors.Join(os.Remove(dir+"/artifact/d/l"), os.Symlink("app", dir+"/artifact/d/l"))
		},
		"contract": func(dir string) error {
			return errors.Join(os.Remove(dir+"/contract.md"), os.WriteFile(dir+"/contract.md", text, 0o444))
		},
		"another set in its place": func(dir string) error {
			return errors.Join(os.Rename(dir, dir+"2"), exec.Command("cp", "-a", dir+"2", dir).Run())
		},
	} {
		o := options(t, tree(t, "d/app", "d/l -> app", "d/empty/"), "d")
		s := sealed(t, o)
		dir := filepath.Join(o.Staging, "7")
		must(t, s.Materialise(dir, text))
		must(t, change(dir))
		if err := s.Unchanged(); (err == nil) != strings.HasPrefix(name, "nothing") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The digest binds every field, and nothing but the fields.
func TestDigest(t *testing.T) {
	o := options(t, tree(t, "d/app", "d/l -> app"), "d")
	s := sealed(t, o)
	o.Staging = t.TempDir()
	if again := sealed(t, o); s.Digest() != again.Digest() || !strings.HasPrefix(s.Digest(), "sha256:") {
		t.Errorf("%s and %s", s.Digest(), again.Digest())
	}
	digests := map[string]int{s.Digest(): -1}
	for i, change := range []func(m []verdict.Entry){
		func(m []verdict.Entry) { m[1].Path = "d/App" },
		func(m []verdict.Entry) { m[1].Type = "link" },
		func(m []verdict.Entry) { m[1].Mode |= 0o111 },
		func(m []verdict.Entry) { m[1].Size++ },
		func(m []verdict.Entry) { m[1].SHA256 = strings.Repeat("0", 64) },
		func(m []verdict.Entry) { m[2].Target = "app2" },
		func(m []verdict.Entry) { m[1], m[2] = m[2], m[1] },
	} {
		m := s.Manifest()
		change(m)
		if other, ok := digests[Digest(m)]; ok {
			t.Errorf("changes %d and %d have the same digest", i, other)
		}
		digests[Digest(m)] = i
	}
}

func TestPrograms(t *testing.T) {
	file := func(path string, mode uint32) verdict.Entry {
		return verdict.Entry{Path: path, Type: "file", Mode: mode}
	}
	link := func(path, target string) verdict.Entry {
		return verdict.Entry{Path: path, Type: "link", Mode: 0o777, Target: target}
	}
	dirs, names := Programs([]verdict.Entry{
		{Path: "dist", Type: "dir", Mode: 0o755},
		file("dist/app", 0o755), file("dist/app.md", 0o644), file("dist/b c/to\\x0aol", 0o755), file("top", 0o755),
		file("lib/x.so", 0o755), file("lib/x.so.1", 0o755), link("links/app", "../dist/app"), link("links/doc", "../dist/app.md"), link("links/dangling", "x"), link("links/circle", "circle"),
		link("links2/so", "../lib/x.so"), link("links3/twice", "../links/app"), file("co:lon/x", 0o755),
	})
	if want := []string{"/validate/artifact", "/validate/artifact/dist", "/validate/artifact/dist/b c", "/validate/artifact/links", "/validate/artifact/links3"}; !slices.Equal(dirs, want) {
		t.Errorf("dirs %q", dirs)
	}
	if want := []string{"app", "to\nol", "top", "twice"}; !slices.Equal(names, want) {
		t.Errorf("names %q", names)
	}
	if dirs, names := Programs(nil); dirs != nil || names != nil {
		t.Errorf("%q, %q", dirs, names)
	}
}
