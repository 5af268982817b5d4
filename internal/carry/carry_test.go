package carry_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/carry"
)

func root(t *testing.T) (string, *os.Root) {
	t.Helper()
	dir := t.TempDir()
	r, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return dir, r
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// What is packed is unpacked as it was: bytes of names, modes, times, links, FIFOs, folders that are shut.
func TestThereAndBack(t *testing.T) {
	from, a := root(t)
	to, b := root(t)
	at := time.Unix(1_000_000_000, 123_456_000)
	must(t,
		os.MkdirAll(filepath.Join(from, "d/e\xff\n"), 0o755), os.WriteFile(filepath.Join(from, "d/e\xff\n/f"), []byte("data"), 0o751),
		os.Symlink("/etc/passwd", filepath.Join(from, "d/link")), a.Mkdir("shut", 0o555), a.Mkdir("left out", 0o755), a.WriteFile("left out/x", nil, 0o644),
		a.Chtimes("d/e\xff\n/f", at, at), a.Chmod("d/e\xff\n/f", 0o751))
	var sent []string
	k := carry.Packing{
		Skip: func(p string, _ []fs.DirEntry) bool { return p == "left out" },
		Want: func(p string, _ *tar.Header) bool { sent = append(sent, p); return true },
	}
	must(t, carry.Through(
		func(w *tar.Writer) error { return k.Pack(t.Context(), a, w) },
		func(r io.Reader) error { return carry.Unpack(t.Context(), tar.NewReader(r), b) }))
	data, err := os.ReadFile(filepath.Join(to, "d/e\xff\n/f"))
	info, ierr := os.Stat(filepath.Join(to, "d/e\xff\n/f"))
	target, lerr := os.Readlink(filepath.Join(to, "d/link"))
	shut, serr := os.Stat(filepath.Join(to, "shut"))
	must(t, err, ierr, lerr, serr)
	if string(data) != "data" || info.Mode().Perm() != 0o751 || !info.ModTime().Equal(at) || target != "/etc/passwd" || shut.Mode().Perm() != 0o555 {
		t.Errorf("%q %v %v %q %v", data, info.Mode(), info.ModTime(), target, shut.Mode())
	}
	if _, err := os.Lstat(filepath.Join(to, "left out")); err == nil || len(sent) != 5 {
		t.Errorf("sent %q", sent)
	}
	must(t, carry.RemoveAll(filepath.Join(to, "shut")))
}

// Entries that lead elsewhere do not.
func TestNoLinkIsFollowed(t *testing.T) {
	dir, r := root(t)
	outside := t.TempDir()
	for name, entries := range map[string][]tar.Header{
		"out":     {{Typeflag: tar.TypeReg, Name: "../x"}},
		"link":    {{Typeflag: tar.TypeSymlink, Name: "l", Linkname: outside}, {Typeflag: tar.TypeReg, Name: "l/x"}},
		"inner":   {{Typeflag: tar.TypeDir, Name: "d/e/"}, {Typeflag: tar.TypeSymlink, Name: "m", Linkname: "d"}, {Typeflag: tar.TypeReg, Name: "m/e/x"}},
		"through": {{Typeflag: tar.TypeSymlink, Name: "n", Linkname: filepath.Join(outside, "x")}, {Typeflag: tar.TypeReg, Name: "n"}},
	} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, h := range entries {
			must(t, w.WriteHeader(&h))
		}
		must(t, w.Close())
		err := carry.Unpack(t.Context(), tar.NewReader(&b), r)
		if (err != nil) != (name == "out") {
			t.Errorf("%s: %v", name, err)
		}
		if left, _ := os.ReadDir(outside); len(left) > 0 {
			t.Errorf("%s: %v", name, left)
		}
		if _, err := os.Lstat(filepath.Join(dir, "d/e/x")); err == nil {
			t.Errorf("%s: a link inside was followed", name)
		}
	}
}

// A hard link becomes a file, also where what it means is left out; devices go.
func TestUnlink(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "tar"))
	must(t, err)
	defer file.Close()
	w := tar.NewWriter(file)
	must(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "other/a", Size: 4, Mode: 0o755}))
	_, err = w.Write([]byte("data"))
	must(t, err,
		w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "src/"}),
		w.WriteHeader(&tar.Header{Typeflag: tar.TypeLink, Name: "src/b", Linkname: "other/a", Mode: 0o755}),
		w.WriteHeader(&tar.Header{Typeflag: tar.TypeLink, Name: "src/c", Linkname: "src/b"}),
		w.WriteHeader(&tar.Header{Typeflag: tar.TypeBlock, Name: "src/disk"}), w.Close())
	_, err = file.Seek(0, io.SeekStart)
	must(t, err)
	var got []string
	must(t, carry.Through(
		func(w *tar.Writer) error { return carry.Unlink(t.Context(), file, w, "src/") },
		func(r io.Reader) error {
			for r := tar.NewReader(r); ; {
				h, err := r.Next()
				if errors.Is(err, io.EOF) {
					return nil
				}
				if err != nil {
					return err
				}
				data, err := io.ReadAll(r)
				if err != nil {
					return err
				}
				got = append(got, h.Name+"="+string(data))
			}
		}))
	if s := strings.Join(got, " "); s != "b=data c=data" {
		t.Errorf("got %q", s)
	}
}

// A writer that fails is told of, a reader that has enough ends it.
func TestThrough(t *testing.T) {
	wrong, enough := errors.New("wrong"), errors.New("enough")
	if err := carry.Through(func(*tar.Writer) error { return wrong }, func(r io.Reader) error { _, err := io.ReadAll(r); return err }); err != wrong {
		t.Errorf("got %v", err)
	}
	endless := func(w *tar.Writer) error {
		for {
			if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "d/"}); err != nil {
				return err
			}
		}
	}
	if err := carry.Through(endless, func(io.Reader) error { return enough }); err != enough {
		t.Errorf("got %v", err)
	}
}

// What is not wanted is not read, and what is read only as long as somebody waits: holes have no end.
func TestHugeFiles(t *testing.T) {
	dir, r := root(t)
	must(t, r.WriteFile("small", []byte("data"), 0o644), r.WriteFile("huge", nil, 0o644), os.Truncate(filepath.Join(dir, "huge"), 1<<32))
	pack := func(ctx context.Context, want func(*tar.Header) bool) (names []string, err error) {
		k := carry.Packing{Want: func(_ string, h *tar.Header) bool { return want(h) }}
		err = carry.Through(func(w *tar.Writer) error { return k.Pack(ctx, r, w) }, func(r io.Reader) error {
			for r := tar.NewReader(r); ; {
				h, err := r.Next()
				if err != nil {
					return err
				}
				names = append(names, h.Name)
			}
		})
		return names, err
	}
	if names, err := pack(t.Context(), func(h *tar.Header) bool { return h.Size < 1<<32 }); err != io.EOF || strings.Join(names, " ") != "small" {
		t.Errorf("%q, %v", names, err)
	}
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := pack(ctx, func(h *tar.Header) bool {
		if h.Name == "huge" {
			cancel(stop)
		}
		return true
	})
	if !errors.Is(err, stop) {
		t.Errorf("inside a file: %v", err)
	}
	if _, err := carry.Reader(ctx, strings.NewReader("x")).Read(make([]byte, 1)); err != stop {
		t.Errorf("a reader: %v", err)
	}
}
