package docker

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/trkr-dev/trkr-validate/internal/testengine"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

// hostileImage has busybox, and a configuration that would take everything over if anybody minded it.
func hostileImage(t *testing.T, arch string, more ...tar.Header) v1.Image {
	t.Helper()
	program, err := os.ReadFile("/bin/busybox")
	testengine.Require(t, Name, err, "install busybox-static")
	check := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	check(w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "bin/busybox", Mode: 0o755, Size: int64(len(program))}))
	_, err = w.Write(program)
	check(err)
	for _, applet := range strings.Fields("sh cat ls env pwd") {
		check(w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + applet, Linkname: "busybox"}))
	}
	for _, h := range more {
		check(w.WriteHeader(&h))
	}
	check(w.Close())
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: arch, RootFS: v1.RootFS{Type: "layers"}, Config: v1.Config{
		Env: []string{"PATH=/bin", "LD_PRELOAD=/evil.so"}, Entrypoint: []string{"/bin/true"}, User: "1234", WorkingDir: "/evil",
		Volumes: map[string]struct{}{"/validate/x": {}}, Labels: map[string]string{labelBase: "1"},
	}})
	check(err)
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(out.Bytes())), nil })
	check(err)
	image, err = mutate.AppendLayers(image, layer)
	check(err)
	return image
}

// Layouts and archives of this machine are given to the daemon, once; only files and PATH of them count.
func TestImagesOfThisMachine(t *testing.T) {
	e := testEngine(t)
	e.options.ImageDir = t.TempDir()
	if err := os.Chmod(e.options.ImageDir, 0o700); err != nil {
		t.Fatal(err)
	}
	d, err := e.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.program()
	if err != nil {
		t.Fatal(err)
	}
	image := hostileImage(t, p.arch)
	oci := t.TempDir()
	path, err := layout.Write(oci, empty.Index)
	if err == nil {
		err = path.AppendImage(image)
	}
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(t.TempDir(), "image.tar")
	ref, err := name.NewTag("debian:12") // which is not taken over
	if err == nil {
		err = tarball.WriteToFile(archive, ref, image)
	}
	if err != nil {
		t.Fatal(err)
	}
	digest, _ := image.Digest()
	config, _ := image.ConfigName()
	for image, digest := range map[string]v1.Hash{"oci:" + oci: digest, "docker-archive:" + archive: config} {
		forget(t, d, loadedName+":"+digest.Hex[:32])
		box := start(t, e, testSpec(t, image))
		if info := box.Info(); info.ImageDigest != digest.String() || info.Image != image || info.Path != "/bin" {
			t.Errorf("Info() = %+v, want the digest %s", info, digest)
		}
		if out, exit := sh(t, box, "echo $LD_PRELOAD; ls /; cat /validate/contract.md"); exit.Code != 0 || !strings.HasPrefix(out, "\n") || strings.Contains(out, "evil") {
			t.Errorf("it printed %q, %s", out, exit)
		}
		first, err := d.inspect(t.Context(), p, image, loadedName+":"+digest.Hex[:32])
		if err != nil || first.found.Config.Labels[labelBase] != "" || first.found.Config.Labels[labelImage] != digest.String() {
			t.Errorf("%+v, %v", first, err)
		}
		if err := e.Fetch(t.Context(), image, ""); err != nil {
			t.Error(err)
		}
		if again, err := d.inspect(t.Context(), p, image, loadedName+":"+digest.Hex[:32]); err != nil || again.image != first.image {
			t.Errorf("it was loaded twice: %v, %v", again, err)
		}
	}
	if _, err := d.inspect(t.Context(), p, "", "debian:12"); err == nil {
		t.Error("the archive's tag was given to its image")
	}
}

// What is wrong with an image is said by its name, not by what the daemon saw of it.
func TestImagesThatAreNoneOfThisMachine(t *testing.T) {
	e := testEngine(t)
	e.options.ImageDir = t.TempDir()
	if err := os.Chmod(e.options.ImageDir, 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := e.program()
	if err != nil {
		t.Fatal(err)
	}
	write := func(image v1.Image) string {
		at := filepath.Join(t.TempDir(), "image.tar")
		ref, err := name.NewTag("x:1")
		if err == nil {
			err = tarball.WriteToFile(at, ref, image)
		}
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	foreign := write(hostileImage(t, "s390x"))
	outside := write(hostileImage(t, p.arch, tar.Header{Typeflag: tar.TypeDir, Name: "../outside", Mode: 0o755}))
	cut := write(hostileImage(t, p.arch))
	if err := os.Truncate(cut, 100<<10); err != nil {
		t.Fatal(err)
	}
	for image, code := range map[string]string{
		foreign: "image_wrong_platform", outside: "image_unsafe", cut: "image_damaged", "/nowhere": "image_not_found",
	} {
		err := e.Fetch(t.Context(), "docker-archive:"+image, "")
		wantFault(t, err, code)
	}
}

// A product that is an image is a root filesystem, and gone from the daemon when its box is.
func TestProductThatIsAnImage(t *testing.T) {
	e := testEngine(t)
	e.options.ImageDir = filepath.Join(t.TempDir(), "images")
	program, err := os.ReadFile("/bin/busybox")
	testengine.Require(t, Name, err, "install busybox-static")
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	err = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "bin/sh", Mode: 0o755, Size: int64(len(program))})
	if err == nil {
		_, err = w.Write(program)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	spec := testSpec(t, "artifact:app.tar")
	if err := os.WriteFile(filepath.Join(spec.Input, "artifact/app.tar"), out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	box := start(t, e, spec)
	if out, exit := sh(t, box, "echo works"); out != "works\n" || exit.Code != 0 || !box.Info().Product || box.Info().Path != sandbox.DefaultPath {
		t.Errorf("it printed %q, %s: %+v", out, exit, box.Info())
	}
	tag := loadedName + ":" + strings.TrimPrefix(box.Info().ImageDigest, "sha256:")[:32]
	if err := box.Close(); err != nil {
		t.Error(err)
	}
	if _, err := e.daemon.ImageInspect(t.Context(), tag); err == nil {
		t.Error("its image is left")
		forget(t, e.daemon, tag)
	}
}
