package images

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// file, dir, link and hard are entries of a layer.
func file(name, data string) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(data)), Linkname: data}
}
func dir(name string) tar.Header { return tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755} }
func link(name, to string) tar.Header {
	return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to}
}
func hard(name, to string) tar.Header {
	return tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: to}
}

// tarOf is a layer. A regular file's content is given as its Linkname.
func tarOf(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range entries {
		data := ""
		if h.Typeflag == tar.TypeReg {
			data, h.Linkname = h.Linkname, ""
		}
		must(t, w.WriteHeader(&h))
		if int64(len(data)) == h.Size {
			_, err := io.WriteString(w, data)
			must(t, err)
		}
	}
	_ = w.Close() // refuses where a test announced more than there is
	return out.Bytes()
}

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write(data)
	must(t, err)
	must(t, z.Close())
	return out.Bytes()
}

// imageOf is an image for this platform whose layers are given as tars.
func imageOf(t testing.TB, layers ...[]byte) v1.Image {
	t.Helper()
	return imageFor(t, runtime.GOARCH, layers...)
}

func imageFor(t testing.TB, arch string, layers ...[]byte) v1.Image {
	t.Helper()
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS: "linux", Architecture: arch, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{Env: []string{"PATH=/opt/bin:/bin", "LD_PRELOAD=/evil.so"}, Entrypoint: []string{"/evil"}, User: "1234", WorkingDir: "/nowhere", Volumes: map[string]struct{}{"/data": {}}},
	})
	must(t, err)
	for _, l := range layers {
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(l)), nil })
		must(t, err)
		image, err = mutate.AppendLayers(image, layer)
		must(t, err)
	}
	return image
}

// layoutOf writes images, each with a tag, as an OCI layout.
func layoutOf(t testing.TB, tagged map[string]v1.Image) string {
	t.Helper()
	at := t.TempDir()
	p, err := layout.Write(at, empty.Index)
	must(t, err)
	for tag, image := range tagged {
		must(t, p.AppendImage(image, layout.WithAnnotations(map[string]string{refName: tag})))
	}
	return at
}

// archiveOf writes an image as docker save does.
func archiveOf(t testing.TB, image v1.Image) string {
	t.Helper()
	at := filepath.Join(t.TempDir(), "image.tar")
	ref, err := name.NewTag("example.com/app:1")
	must(t, err)
	must(t, tarball.WriteToFile(at, ref, image))
	return at
}

func digestOfImage(t testing.TB, image interface{ Digest() (v1.Hash, error) }) string {
	t.Helper()
	d, err := image.Digest()
	must(t, err)
	return d.String()
}

func newStore(t testing.TB) *Store {
	t.Helper()
	return NewStore(filepath.Join(t.TempDir(), "cache"), runtime.GOARCH)
}

func open(t testing.TB, s *Store, req Request) *Root {
	t.Helper()
	r, err := s.Open(t.Context(), req)
	must(t, err)
	t.Cleanup(func() { must(t, r.Close()) })
	return r
}

func read(t testing.TB, r *Root, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(r.Dir, name))
	must(t, err)
	return string(data)
}

// wantFault makes sure that an error is named, says what to do, and holds words.
func wantFault(t testing.TB, err error, code string, words ...string) {
	t.Helper()
	f := fault.Of(err)
	if f == nil || f.Code != code || len(f.Hints) == 0 {
		t.Errorf("got %+v, want %s with hints", err, code)
		return
	}
	for _, w := range words {
		if text := f.Error() + "\n" + strings.Join(f.Hints, "\n"); !strings.Contains(text, w) {
			t.Errorf("%q lacks %q", text, w)
		}
	}
}

func mkfifo(at string) error { return syscall.Mkfifo(at, 0o600) }
