//go:build linux && (amd64 || arm64)

package gvisor

import (
	"archive/tar"
	"bytes"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/testengine"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/sandboxtest"
)

// busyboxImage has no programs but busybox, and a configuration that would take everything over if anybody minded it.
func busyboxImage(t testing.TB) v1.Image {
	t.Helper()
	program, err := os.ReadFile("/bin/busybox")
	testengine.Require(t, Name, err, "install busybox-static")
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	add := func(h tar.Header, data string) {
		h.Size = int64(len(data))
		must(t, w.WriteHeader(&h))
		_, err := io.WriteString(w, data)
		must(t, err)
	}
	add(tar.Header{Typeflag: tar.TypeReg, Name: "bin/busybox", Mode: 0o4755}, string(program))
	for _, applet := range []string{"sh", "ls", "cat", "id", "env", "stat", "pgrep", "sleep", "touch", "find", "sort", "cut", "grep"} {
		add(tar.Header{Typeflag: tar.TypeLink, Name: "bin/" + applet, Linkname: "bin/busybox"}, "")
	}
	add(tar.Header{Typeflag: tar.TypeReg, Name: "etc/os-release", Mode: 0o644}, "PRETTY_NAME=\"Tested 1\"\n")
	add(tar.Header{Typeflag: tar.TypeSymlink, Name: "tmp", Linkname: "/etc"}, "")
	add(tar.Header{Typeflag: tar.TypeReg, Name: "validate/planted", Mode: 0o644}, "by the image")
	add(tar.Header{Typeflag: tar.TypeReg, Name: "secret", Mode: 0o600}, "of the image's root")
	must(t, w.Close())
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: runtime.GOARCH, RootFS: v1.RootFS{Type: "layers"}, Config: v1.Config{
		Env:        []string{"PATH=/bin", "LD_PRELOAD=/evil.so", "HOME=/evil"},
		Entrypoint: []string{"/bin/true"}, Cmd: []string{"evil"}, User: "1234", WorkingDir: "/evil",
		Volumes:     map[string]struct{}{"/data": {}},
		Healthcheck: &v1.HealthConfig{Test: []string{"CMD", "/bin/touch", "/tmp/healthy"}},
	}})
	must(t, err)
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(out.Bytes())), nil })
	must(t, err)
	image, err = mutate.AppendLayers(image, layer)
	must(t, err)
	return image
}

// busyboxLayout is busyboxImage as an OCI layout that everybody can read.
func busyboxLayout(t testing.TB) string {
	t.Helper()
	dir := shortDir(t)
	must(t, os.Chmod(dir, 0o755))
	p, err := layout.Write(dir, empty.Index)
	must(t, err)
	must(t, p.AppendImage(busyboxImage(t)))
	return dir
}

// A box has the image's files and PATH; nothing else of the image changes what runs.
func TestImageBox(t *testing.T) {
	e, spec := newEngine(t), newSpec(t)
	dir := busyboxLayout(t)
	spec.Image, spec.ImageDir = "oci:"+filepath.Base(dir), filepath.Dir(dir)
	box := start(t, e, spec)
	if info := box.Info(); info.Path != "/bin" || info.Userland != "Tested 1" || !strings.HasPrefix(info.ImageDigest, "sha256:") || info.Image != spec.Image {
		t.Errorf("info: %+v", info)
	}
	for _, c := range []struct{ command, want string }{
		{"/validate/artifact/hello", "hello\n"},
		{"cd /validate && find . | sort", ".\n./artifact\n./artifact/hello\n./contract.md\n"},
		{"echo $LD_PRELOAD; pwd | cut -c 1-6", "\n/work/\n"},
		{"echo $HOME | cut -c 1-6", "/work/\n"},
		{"ls -A /tmp /data 2>/dev/null; true", "/tmp:\n"},
		{"cat /secret 2>/dev/null || echo shut", "shut\n"},
		{"stat -c %a /bin/busybox", "755\n"},
		{"for d in / /bin /etc /validate /run/trkr; do touch $d/x 2>/dev/null && echo $d; done; true", ""},
		{"cat /etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"},
		{"ls /proc | grep -c '^[0-9]'", "4\n"}, // the init, the shell, ls and grep
	} {
		if out, exit := sh(t, box, c.command); exit.Code != 0 || out != c.want {
			t.Errorf("%s: got %q (%s), want %q", c.command, out, exit, c.want)
		}
	}
	if swept, err := e.images.Sweep(t.Context(), false); err != nil || len(swept) != 0 {
		t.Errorf("the image of a live box was swept: %v, %v", swept, err)
	}
	must(t, box.Close())
	if swept, err := e.images.Sweep(t.Context(), false); err != nil || len(swept) != 1 {
		t.Errorf("swept %v, %v", swept, err)
	}
}

func TestRegistryBox(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	image := busyboxImage(t)
	ref, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://") + "/team/tool:1")
	must(t, err)
	must(t, remote.Write(ref, image))
	digest, err := image.Digest()
	must(t, err)
	e, spec := newEngine(t), newSpec(t)
	spec.Image = ref.String()
	box := start(t, e, spec)
	if info := box.Info(); info.ImageDigest != digest.String() {
		t.Errorf("digest %s, want %s", info.ImageDigest, digest)
	}
	if out, _ := sh(t, box, "/validate/artifact/hello"); out != "hello\n" {
		t.Errorf("it printed %q", out)
	}
	spec.Image = ref.Context().Tag("2").String()
	_, err = e.Start(t.Context(), spec)
	wantFault(t, err, "image_not_found")
}

// A product that is an image is a root filesystem, and gone when its box is.
func TestProductThatIsAnImage(t *testing.T) {
	e, spec := newEngine(t), newSpec(t)
	layers, err := busyboxImage(t).Layers()
	must(t, err)
	r, err := layers[0].Uncompressed()
	must(t, err)
	data, err := io.ReadAll(r)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(spec.Input, "artifact/app.tar"), data, 0o644))
	spec.Image = "artifact:app.tar"
	box := start(t, e, spec)
	if out, exit := sh(t, box, "/validate/artifact/hello"); out != "hello\n" || exit.Code != 0 || !box.Info().Product {
		t.Errorf("it printed %q, %s: %+v", out, exit, box.Info())
	}
	must(t, box.Close())
	if entries, err := os.ReadDir(e.options.ImageDir); err != nil || len(entries) != 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

// The names that are none, and folders of this machine beside an image, are told before anything starts.
func TestRefusedImages(t *testing.T) {
	e := newEngine(t)
	for _, c := range []struct {
		image, code string
		mounts      []string
	}{{"UPPER", "image_invalid", nil}, {"", "image_invalid", nil}, {"oci:/nowhere", "image_not_found", nil}, {"debian:12", "mount_invalid", []string{"/srv"}}} {
		spec := newSpec(t)
		spec.Image, spec.Mounts = c.image, c.mounts
		_, err := e.Start(t.Context(), spec)
		if f := fault.Of(err); f == nil || f.Code != c.code || len(f.Hints) == 0 {
			t.Errorf("image %q: got %v", c.image, err)
		}
	}
	nothingLeft(t, e)
}

// The engine keeps what package sandbox promises also in an image.
func TestConformanceOnImage(t *testing.T) {
	dir := busyboxLayout(t)
	sandboxtest.Run(t, func(t *testing.T) sandbox.Engine { return newEngine(t) }, sandboxtest.Traits{
		Isolates: true, Filters: true, Image: "oci:" + dir, Memory: true, Pids: true,
	})
}
