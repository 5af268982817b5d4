package images

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

func TestNames(t *testing.T) {
	const sum = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for text, want := range map[string]Name{
		"host":                  {Kind: KindHost},
		"debian":                {Kind: KindRegistry, Ref: "debian"},
		"debian:12":             {Kind: KindRegistry, Ref: "debian:12"},
		"localhost:5000/a/b":    {Kind: KindRegistry, Ref: "localhost:5000/a/b"},
		"a/b@" + sum:            {Kind: KindRegistry, Ref: "a/b@" + sum},
		"oci":                   {Kind: KindRegistry, Ref: "oci"},
		"oci:dir":               {Kind: KindOCI, Path: "dir"},
		"oci:/a/dir:1.2":        {Kind: KindOCI, Path: "/a/dir", Ref: "1.2"},
		"oci:a:b/c":             {Kind: KindOCI, Path: "a:b/c"},
		"oci:dir@" + sum:        {Kind: KindOCI, Path: "dir", Ref: sum},
		"docker-archive:a.tar":  {Kind: KindArchive, Path: "a.tar"},
		"dockerfile:Dockerfile": {Kind: KindDockerfile, Path: "Dockerfile"},
		"artifact:app.tar":      {Kind: KindArtifact, Path: "app.tar"},
		"artifact:dist/app.tar": {Kind: KindArtifact, Path: "dist/app.tar"},
	} {
		if got, err := ParseName(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "UPPER", "a b", "-x", "x@sha256:12", "oci:", "oci:dir:", "oci:dir@sha256:12", "oci::tag", "docker-archive:", "dockerfile:",
		"artifact:", "artifact:/app.tar", "artifact:../app.tar", "artifact:.", "artifact:a/../..",
	} {
		_, err := ParseName(text)
		wantFault(t, err, "image_invalid")
		if f := fault.Of(err); f != nil && !f.Usage {
			t.Errorf("%q is not called a mistake of the call", text)
		}
	}
}

// An image from any place on this machine gives its files, PATH and name, and nothing else of its configuration.
func TestImagesOfThisMachine(t *testing.T) {
	image := imageOf(t,
		tarOf(t, file("etc/os-release", "PRETTY_NAME=\"Tiny 1\"\n"), file("bin/gone", "x"), link("tmp", "/etc"), file("etc/hosts", "10.0.0.1 db\n")),
		tarOf(t, file("bin/.wh.gone", ""), file("bin/tool", "tool")))
	ociArchive := filepath.Join(t.TempDir(), "oci.tar")
	in := layoutOf(t, map[string]v1.Image{"1": image})
	var entries []struct{ name, data string }
	must(t, filepath.Walk(in, func(p string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			data, err := os.ReadFile(p)
			must(t, err)
			entries = append(entries, struct{ name, data string }{strings.TrimPrefix(p, in+"/"), string(data)})
		}
		return err
	}))
	var packed []byte
	for i, e := range entries {
		one := tarOf(t, file(e.name, e.data))
		if i < len(entries)-1 {
			one = one[:len(one)-1024] // without the archive's end
		}
		packed = append(packed, one...)
	}
	must(t, os.WriteFile(ociArchive, packed, 0o600))
	saved := archiveOf(t, image)
	zipped := filepath.Join(t.TempDir(), "image.tar.gz")
	data, err := os.ReadFile(saved)
	must(t, err)
	must(t, os.WriteFile(zipped, gzipped(t, data), 0o600))
	config, err := image.ConfigName()
	must(t, err)
	for name, digest := range map[string]string{
		"oci:" + in: digestOfImage(t, image), "oci:" + in + ":1": digestOfImage(t, image),
		"oci:" + in + "@" + digestOfImage(t, image): digestOfImage(t, image),
		"docker-archive:" + ociArchive:              digestOfImage(t, image),
		"docker-archive:" + saved:                   config.String(),
		"docker-archive:" + zipped:                  config.String(),
	} {
		s := newStore(t)
		r := open(t, s, Request{Name: name})
		if r.Digest != digest || r.Path != "/opt/bin:/bin" || r.Userland != "Tiny 1" {
			t.Errorf("%s: %+v", name, r)
		}
		if read(t, r, "bin/tool") != "tool" || read(t, r, "etc/hosts") != "127.0.0.1 localhost\n::1 localhost\n" {
			t.Errorf("%s: its files are not there", name)
		}
		for _, own := range append([]string{"/data"}, ownDirs...) {
			info, err := os.Lstat(filepath.Join(r.Dir, own))
			if own == "/data" && err == nil {
				t.Errorf("%s: its volume is there", name)
			} else if own != "/data" && (err != nil || !info.IsDir()) {
				t.Errorf("%s: no mount point at %s: %v", name, own, err)
			}
		}
		if _, err := os.Lstat(filepath.Join(r.Dir, "bin/gone")); err == nil {
			t.Errorf("%s: what its second layer removed is there", name)
		}
	}
}

func TestRelativePathsBeginAtTheDirectoryGiven(t *testing.T) {
	in := layoutOf(t, map[string]v1.Image{"1": imageOf(t, tarOf(t, file("a", "1")))})
	r := open(t, newStore(t), Request{Name: "oci:" + filepath.Base(in), Dir: filepath.Dir(in)})
	if read(t, r, "a") != "1" {
		t.Error("another image")
	}
}

// Each way in which an image of this machine is none has its own name.
func TestImagesThatAreNone(t *testing.T) {
	good := imageOf(t, tarOf(t, file("a", "1")))
	two := layoutOf(t, map[string]v1.Image{"one": good, "two": imageOf(t, tarOf(t, file("a", "2")))})
	broken := func(change func(dir string, layer string)) string {
		at := layoutOf(t, map[string]v1.Image{"1": good})
		layers, err := good.Layers()
		must(t, err)
		d, err := layers[0].Digest()
		must(t, err)
		change(at, filepath.Join(at, "blobs/sha256", d.Hex))
		return "oci:" + at
	}
	foreign := layoutOf(t, map[string]v1.Image{"1": imageFor(t, "s390x", tarOf(t, file("a", "1")))})
	index := t.TempDir()
	p, err := layout.Write(index, empty.Index)
	must(t, err)
	must(t, p.AppendIndex(mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: good, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "s390x"}}})))
	text := filepath.Join(t.TempDir(), "text")
	must(t, os.WriteFile(text, []byte("no tar"), 0o600))
	odd := filepath.Join(t.TempDir(), "odd.tar")
	must(t, os.WriteFile(odd, tarOf(t, file("a", "1")), 0o600))
	up := filepath.Join(t.TempDir(), "up.tar")
	must(t, os.WriteFile(up, tarOf(t, file("manifest.json", `[{"Config":"../../etc/passwd","Layers":[]}]`)), 0o600))
	fifo := filepath.Join(t.TempDir(), "fifo")
	must(t, mkfifo(fifo))
	for name, c := range map[string]struct{ image, code, words string }{
		"no folder":          {"oci:/nowhere", "image_not_found", "/nowhere"},
		"a file":             {"oci:" + text, "image_unreadable", ""},
		"an empty folder":    {"oci:" + t.TempDir(), "image_not_image", "index.json"},
		"no such tag":        {"oci:" + two + ":three", "image_not_found", "the tags"},
		"which of two":       {"oci:" + two, "image_ambiguous", "the tags"},
		"another platform":   {"oci:" + foreign, "image_wrong_platform", "linux/s390x"},
		"an index's other":   {"oci:" + index, "image_wrong_platform", "linux/s390x"},
		"a truncated layer":  {broken(func(_, l string) { must(t, os.Truncate(l, 20)) }), "image_truncated", "20 of"},
		"a lost layer":       {broken(func(_, l string) { must(t, os.Remove(l)) }), "image_damaged", "lacks"},
		"a layer's FIFO":     {broken(func(_, l string) { must(t, errors.Join(os.Remove(l), mkfifo(l))) }), "image_unreadable", "regular"},
		"a layer's link out": {broken(func(_, l string) { must(t, errors.Join(os.Remove(l), os.Symlink("/etc/passwd", l))) }), "image_unreadable", "escapes"},
		"a changed layer": {broken(func(_, l string) {
			data, err := os.ReadFile(l)
			must(t, err)
			data[len(data)/2] ^= 1
			must(t, os.WriteFile(l, data, 0o600))
		}), "image_digest", "sha256:"},
		"no archive":          {"docker-archive:/nowhere", "image_not_found", ""},
		"a text":              {"docker-archive:" + text, "image_damaged", ""},
		"an archive of other": {"docker-archive:" + odd, "image_not_image", "manifest.json"},
		"a part outside":      {"docker-archive:" + up, "image_damaged", "lacks"},
		"a FIFO":              {"docker-archive:" + fifo, "image_unreadable", "regular"},
		"the host's":          {"host", "image_invalid", ""},
		"no builder":          {"dockerfile:Dockerfile", "image_no_builder", "docker save"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			_, err := s.Open(t.Context(), Request{Name: c.image})
			wantFault(t, err, c.code, c.words)
			left(t, s)
		})
	}
}

// left makes sure that a failure left nothing in the cache but locks.
func left(t *testing.T, s *Store) {
	t.Helper()
	entries, err := os.ReadDir(s.folder())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), lockSuffix) {
			t.Errorf("%s is left in the cache", e.Name())
		}
	}
}

// Several that want the same image at once unpack it once, and all get it whole.
func TestOpenedAtOnce(t *testing.T) {
	name := "oci:" + layoutOf(t, map[string]v1.Image{"1": imageOf(t, tarOf(t, file("a", strings.Repeat("x", 1<<20))))})
	dir := filepath.Join(t.TempDir(), "cache")
	inodes := make([]os.FileInfo, 8)
	var all sync.WaitGroup
	for i := range inodes {
		all.Go(func() {
			r, err := NewStore(dir, runtime.GOARCH).Open(t.Context(), Request{Name: name})
			if err != nil {
				t.Error(err)
				return
			}
			if inodes[i], err = os.Stat(filepath.Join(r.Dir, "a")); err != nil || inodes[i].Size() != 1<<20 {
				t.Errorf("%v, %v", inodes[i], err)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, info := range inodes {
		if info == nil || !os.SameFile(info, inodes[0]) {
			t.Error("it was unpacked twice")
		}
	}
}

// What a killed program left half unpacked is no image, and is in nobody's way.
func TestHalfAnImage(t *testing.T) {
	image := imageOf(t, tarOf(t, file("a", "1")))
	req := Request{Name: "oci:" + layoutOf(t, map[string]v1.Image{"1": image})}
	s := newStore(t)
	r, err := s.Open(t.Context(), req)
	must(t, err)
	at := filepath.Dir(r.Dir)
	must(t, r.Close())
	must(t, os.Rename(at, at+newSuffix))
	must(t, os.WriteFile(filepath.Join(at+newSuffix, "root/a"), []byte("half"), 0o600))
	if again := open(t, s, req); read(t, again, "a") != "1" {
		t.Error("the half was used")
	}
	if _, err := os.Lstat(at + newSuffix); err == nil {
		t.Error("the half is left")
	}
}

// Sweep removes what nobody uses, whole, and nothing else.
func TestSweepSparesWhatIsUsed(t *testing.T) {
	s := newStore(t)
	used := open(t, s, Request{Name: "oci:" + layoutOf(t, map[string]v1.Image{"1": imageOf(t, tarOf(t, file("a", "1")))})})
	idle, err := s.Open(t.Context(), Request{Name: "oci:" + layoutOf(t, map[string]v1.Image{"1": imageOf(t, tarOf(t, file("d/a", "2")))})})
	must(t, err)
	must(t, os.Chmod(filepath.Join(idle.Dir, "d"), 0o700))
	must(t, idle.Close())
	key := filepath.Base(filepath.Dir(idle.Dir))
	for _, dry := range []bool{true, false} {
		names, err := NewStore(s.dir, "arm").Sweep(t.Context(), dry)
		if err != nil || len(names) != 1 || names[0] != key {
			t.Errorf("dry %v: %v, %v", dry, names, err)
		}
		if _, err := os.Lstat(idle.Dir); (err == nil) != dry {
			t.Errorf("dry %v: %v", dry, err)
		}
	}
	if read(t, used, "a") != "1" {
		t.Error("what is used went")
	}
	entries, err := os.ReadDir(s.dir)
	must(t, err)
	if len(entries) != 2 {
		t.Errorf("left: %v", entries)
	}
}

func TestCancelled(t *testing.T) {
	s := newStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Open(ctx, Request{Name: "oci:" + layoutOf(t, map[string]v1.Image{"1": imageOf(t, tarOf(t, file("a", "1")))})})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	left(t, s)
}

// The cache of another user, or of everybody, is not used.
func TestUnsafeCache(t *testing.T) {
	s := newStore(t)
	must(t, os.Mkdir(s.dir, 0o700))
	must(t, os.Chmod(s.dir, 0o777))
	_, err := s.Open(t.Context(), Request{Name: "oci:" + layoutOf(t, map[string]v1.Image{"1": imageOf(t, tarOf(t, file("a", "1")))})})
	wantFault(t, err, "cache_unsafe", s.dir)
}

func TestWhereTheCacheIs(t *testing.T) {
	s := NewStore("", runtime.GOARCH)
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", "/c")
	if got := s.folder(); got != "/c/trkr-validate/images" {
		t.Error(got)
	}
	t.Setenv("XDG_CACHE_HOME", "")
	if got := s.folder(); !strings.HasPrefix(got, home) {
		t.Error(got)
	}
	t.Setenv("HOME", "/proc/1/nowhere") // not there
	if got := s.folder(); !strings.HasPrefix(got, os.TempDir()) {
		t.Error(got)
	}
}

// What was settled before a build is what a box is made of after it, or the run ends.
func TestReplacedImage(t *testing.T) {
	s, at := newStore(t), filepath.Join(t.TempDir(), "image.tar")
	put := func(data string) {
		image, err := os.ReadFile(archiveOf(t, imageOf(t, tarOf(t, file("a", data)))))
		must(t, err)
		must(t, os.WriteFile(at, image, 0o600))
	}
	put("1")
	req := Request{Name: "docker-archive:" + at}
	open(t, s, req)
	open(t, s, req)
	put("2")
	_, err := s.Open(t.Context(), req)
	wantFault(t, err, "image_changed", at)
}
