package images

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// laid lays layers down in a new folder, beside which a file is planted that no layer may reach.
func laid(t testing.TB, layers ...[]byte) (root string, err error) {
	t.Helper()
	parent := t.TempDir()
	root = filepath.Join(parent, "root")
	must(t, os.Mkdir(root, 0o755))
	must(t, os.WriteFile(filepath.Join(parent, "planted"), []byte("secret"), 0o600))
	tr, err := newTree(root, newBudget(t.Context()))
	must(t, err)
	for _, l := range layers {
		if err == nil {
			err = tr.apply(bytes.NewReader(l))
		}
	}
	must(t, tr.close())
	if data, rerr := os.ReadFile(filepath.Join(parent, "planted")); rerr != nil || string(data) != "secret" {
		t.Errorf("what lies beside the root was touched: %q, %v", data, rerr)
	}
	entries, rerr := os.ReadDir(parent)
	must(t, rerr)
	if len(entries) != 2 {
		t.Errorf("something was made beside the root: %v", entries)
	}
	return root, err
}

// tree lists what is in a root: folders end in a slash, links say where they lead, files what they hold.
func listed(t testing.TB, root string) []string {
	t.Helper()
	var all []string
	must(t, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(strings.TrimPrefix(name, root), "/")
		switch {
		case err != nil:
			return err
		case rel == "":
		case d.IsDir():
			all = append(all, rel+"/")
		case d.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(name)
			must(t, err)
			all = append(all, rel+" -> "+to)
		default:
			data, err := os.ReadFile(name)
			must(t, err)
			all = append(all, rel+"="+string(data))
		}
		return nil
	}))
	return all
}

// Layers on top of each other give what a container would see.
func TestLayers(t *testing.T) {
	char := tar.Header{Typeflag: tar.TypeChar, Name: "dev/null", Mode: 0o666, Devmajor: 1, Devminor: 3}
	fifo := tar.Header{Typeflag: tar.TypeFifo, Name: "pipe", Mode: 0o666}
	for name, c := range map[string]struct {
		layers [][]byte
		want   []string
	}{
		"a file over a file":    {[][]byte{tarOf(t, file("a", "1")), tarOf(t, file("a", "2"))}, []string{"a=2"}},
		"a file over a folder":  {[][]byte{tarOf(t, file("a/b", "1")), tarOf(t, file("a", "2"))}, []string{"a=2"}},
		"a folder over a file":  {[][]byte{tarOf(t, file("a", "1")), tarOf(t, dir("a/"), file("a/b", "2"))}, []string{"a/", "a/b=2"}},
		"a folder over a link":  {[][]byte{tarOf(t, dir("x"), link("a", "x")), tarOf(t, dir("a"), file("a/b", "2"))}, []string{"a/", "a/b=2", "x/"}},
		"a folder twice":        {[][]byte{tarOf(t, file("a/b", "1")), tarOf(t, dir("./a/"), file("a/c", "2"))}, []string{"a/", "a/b=1", "a/c=2"}},
		"through a link":        {[][]byte{tarOf(t, dir("usr/bin"), link("bin", "usr/bin")), tarOf(t, file("bin/sh", "s"))}, []string{"bin -> usr/bin", "usr/", "usr/bin/", "usr/bin/sh=s"}},
		"through a root's link": {[][]byte{tarOf(t, dir("usr/bin"), link("bin", "/usr/bin"), file("bin/sh", "s"))}, []string{"bin -> /usr/bin", "usr/", "usr/bin/", "usr/bin/sh=s"}},
		"a link replaced between": {[][]byte{tarOf(t, dir("x"), dir("y"), link("m", "x"), link("a", "m"), file("a/1", "1")), tarOf(t, link("m", "y"), file("a/2", "2"))},
			[]string{"a -> m", "m -> y", "x/", "x/1=1", "y/", "y/2=2"}},
		"removed":                {[][]byte{tarOf(t, file("a/b", "1"), file("a/c", "1")), tarOf(t, file("a/.wh.b", ""))}, []string{"a/", "a/c=1"}},
		"a folder removed":       {[][]byte{tarOf(t, file("a/b", "1"), file("c", "")), tarOf(t, file(".wh.a", ""))}, []string{"c="}},
		"removed what is not":    {[][]byte{tarOf(t, file("a", "1")), tarOf(t, file(".wh.b", ""), file("x/.wh.y", ""))}, []string{"a=1"}},
		"removed and made again": {[][]byte{tarOf(t, file("a/b", "1")), tarOf(t, file("a/b", "2"), file("a/.wh.b", ""))}, []string{"a/", "a/b=2"}},
		"opaque": {[][]byte{tarOf(t, file("a/b/c", "1"), file("a/b/d", "1"), file("a/e", "1")), tarOf(t, file("a/b/new", "2"), file("a/.wh..wh..opq", ""))},
			[]string{"a/", "a/b/", "a/b/new=2"}},
		"the union's own":             {[][]byte{tarOf(t, file(".wh..wh.plnk", ""), file("a", "1"))}, []string{"a=1"}},
		"a hard link":                 {[][]byte{tarOf(t, file("a", "1"), hard("b", "a")), tarOf(t, file("a", "2"))}, []string{"a=2", "b=1"}},
		"a hard link from the root":   {[][]byte{tarOf(t, file("a/x", "1"), hard("b/y", "/a/x"))}, []string{"a/", "a/x=1", "b/", "b/y=1"}},
		"a hard link to itself":       {[][]byte{tarOf(t, file("a", "1"), hard("a", "a"))}, []string{"a=1"}},
		"no devices":                  {[][]byte{tarOf(t, char, fifo, file("a", "1"))}, []string{"a=1"}},
		"a link that leads out stays": {[][]byte{tarOf(t, link("etc", "../../.."), link("abs", "/etc/shadow"))}, []string{"abs -> /etc/shadow", "etc -> ../../.."}},
		"up and down again":           {[][]byte{tarOf(t, file("a/../b", "1"), file("/c", "1"))}, []string{"b=1", "c=1"}},
		"names":                       {[][]byte{tarOf(t, file("sp ace/new\nline", "1"), file("\xff\xfe", "2"), file("ü", "3"))}, []string{"sp ace/", "sp ace/new\nline=1", "ü=3", "\xff\xfe=2"}},
		"nothing":                     {[][]byte{tarOf(t), {}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			root, err := laid(t, c.layers...)
			must(t, err)
			if d := cmp.Diff(c.want, listed(t, root)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// What would reach out of the root, or cannot be, is an error with a name; what lies beside the root stays as it was.
func TestHostileLayers(t *testing.T) {
	long := file(strings.Repeat("x", 300), "1")
	for name, c := range map[string]struct {
		layer []byte
		code  string
	}{
		"up":                      {tarOf(t, file("../planted", "x")), "image_unsafe"},
		"up from below":           {tarOf(t, file("a/../../planted", "x")), "image_unsafe"},
		"up from the root":        {tarOf(t, file("/../planted", "x")), "image_unsafe"},
		"a hard link up":          {tarOf(t, hard("a", "../planted")), "image_unsafe"},
		"a hard link's way out":   {tarOf(t, link("up", ".."), hard("a", "up/planted")), "image_damaged"},
		"a hard link to a folder": {tarOf(t, dir("d"), hard("a", "d")), "image_damaged"},
		"a hard link to the root": {tarOf(t, hard("a", ".")), "image_unsafe"},
		"removes up":              {tarOf(t, file(".wh...", "")), "image_unsafe"},
		"removes itself":          {tarOf(t, dir("a"), file("a/.wh..", "")), "image_unsafe"},
		"removes nothing":         {tarOf(t, file("x", ""), file(".wh.", "")), "image_unsafe"},
		"a circle":                {tarOf(t, link("a", "b"), link("b", "a"), file("a/x", "1")), "image_unsafe"},
		"below a file":            {tarOf(t, file("a", "1"), file("a/b", "1")), "image_damaged"},
		"a link to nothing":       {tarOf(t, link("a", "")), "image_damaged"},
		"a bomb":                  {tarOf(t, tar.Header{Typeflag: tar.TypeReg, Name: "big", Mode: 0o644, Size: 1 << 50}), "image_too_large"},
		"a name too long":         {tarOf(t, long), "image_damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := laid(t, c.layer)
			wantFault(t, cacheFault("cache", err), c.code)
		})
	}
	// Through links that lead out, what is written stays inside: as in the box, the root's parent is the root.
	for name, layer := range map[string][]byte{
		"written":  tarOf(t, link("up", "../.."), file("up/planted", "x")),
		"absolute": tarOf(t, link("up", "/.."), file("up/planted", "x")),
		"removed":  tarOf(t, link("up", ".."), file("up/.wh.planted", "")),
		"cleared":  tarOf(t, link("up", ".."), file("up/.wh..wh..opq", "")),
		"replaced": tarOf(t, link("planted", "../planted"), file("planted", "x")),
	} {
		t.Run("inside/"+name, func(t *testing.T) {
			_, err := laid(t, layer)
			must(t, err)
		})
	}
}

// No right comes out of a layer: nothing is setuid, and the owner can always read, and remove.
func TestModes(t *testing.T) {
	mode := func(h tar.Header, m int64) tar.Header { h.Mode = m; return h }
	root, err := laid(t, tarOf(t, mode(file("su", "1"), 0o6755), mode(file("shut", "1"), 0), mode(dir("d"), 0), file("d/x", "1"), mode(dir("tmp"), 0o3777), mode(file("run", "1"), 0o751)))
	must(t, err)
	for name, want := range map[string]fs.FileMode{
		"su": 0o755, "shut": 0o400, "d": fs.ModeDir | 0o700, "d/x": 0o644, "tmp": fs.ModeDir | fs.ModeSticky | 0o777, "run": 0o751,
	} {
		info, err := os.Lstat(filepath.Join(root, name))
		must(t, err)
		if info.Mode() != want {
			t.Errorf("%s has the mode %v, want %v", name, info.Mode(), want)
		}
	}
}

// Whatever a layer holds, nothing is made outside of the root.
func TestNothingOutside(t *testing.T) {
	names := []string{"a", "b", "a/b", "../planted", "up/planted", "up/.wh.planted", "up/.wh..wh..opq", "a/up/x", "a/../b", "/a", "up", "."}
	rapid.Check(t, func(rt *rapid.T) {
		var entries []tar.Header
		for range rapid.IntRange(1, 12).Draw(rt, "entries") {
			name := rapid.SampledFrom(names).Draw(rt, "name")
			to := rapid.SampledFrom([]string{"..", "../..", "/", "/..", "a", "up", "b", "../planted"}).Draw(rt, "to")
			switch rapid.IntRange(0, 3).Draw(rt, "type") {
			case 0:
				entries = append(entries, file(name, "x"))
			case 1:
				entries = append(entries, dir(name))
			case 2:
				entries = append(entries, link(name, to))
			case 3:
				entries = append(entries, hard(name, to))
			}
		}
		_, _ = laid(t, tarOf(t, entries...)) // looks by itself
	})
}

func TestTooManyEntries(t *testing.T) {
	b := newBudget(t.Context())
	b.entries = 3
	tr, err := newTree(t.TempDir(), b)
	must(t, err)
	wantFault(t, tr.apply(bytes.NewReader(tarOf(t, file("a/b/c/d/e", "1")))), "image_too_large") // the folders count
	must(t, tr.close())
}

// Whatever bytes are taken for a layer, it ends, and nothing is made outside of the root.
func FuzzLayer(f *testing.F) {
	f.Add(tarOf(f, dir("a"), file("a/b", "1"), link("c", "/a"), file("c/d", "2"), hard("e", "c/d"), file("a/.wh.b", ""), file(".wh..wh..opq", "")))
	f.Add(gzipped(f, tarOf(f, file("a", "1"))))
	f.Fuzz(func(t *testing.T, data []byte) {
		parent := t.TempDir()
		root := filepath.Join(parent, "root")
		must(t, os.Mkdir(root, 0o755))
		b := newBudget(t.Context())
		b.stream, b.files, b.entries = 1<<20, 1<<20, 1000
		tr, err := newTree(root, b)
		must(t, err)
		l := layer{open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}
		_ = l.unpack(t.Context(), b, tr.apply)
		must(t, tr.close())
		entries, err := os.ReadDir(parent)
		if err != nil || len(entries) != 1 {
			t.Errorf("beside the root: %v, %v", entries, err)
		}
		must(t, os.RemoveAll(root)) // as its owner can, whatever the modes
	})
}
