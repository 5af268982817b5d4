package images

import (
	"os"
	"path/filepath"
	"testing"
)

// input is the folder of a box's inputs, with one artifact.
func input(t *testing.T, data []byte) string {
	t.Helper()
	at := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(at, "artifact/dist"), 0o755))
	must(t, os.WriteFile(filepath.Join(at, "artifact/dist/app.tar"), data, 0o600))
	return at
}

// A product that is an image comes as a root filesystem or as what docker save wrote, and is gone with its last box.
func TestProductThatIsAnImage(t *testing.T) {
	rootfs := tarOf(t, file("bin/app", "app"))
	saved, err := os.ReadFile(archiveOf(t, imageOf(t, rootfs)))
	must(t, err)
	for name, data := range map[string][]byte{
		"a root filesystem": rootfs, "a compressed one": gzipped(t, rootfs), "an image": saved, "a compressed image": gzipped(t, saved),
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			req := Request{Name: "artifact:dist/app.tar", Input: input(t, data)}
			r, err := s.Open(t.Context(), req)
			must(t, err)
			again, err := s.Open(t.Context(), req)
			must(t, err)
			if read(t, r, "bin/app") != "app" || !r.Product || r.Digest == "" || again.Dir != r.Dir {
				t.Errorf("%+v", r)
			}
			must(t, again.Close())
			if read(t, r, "bin/app") != "app" {
				t.Error("it went with another box")
			}
			must(t, r.Close())
			entries, err := os.ReadDir(s.folder())
			if err != nil || len(entries) != 0 {
				t.Errorf("left: %v, %v", entries, err)
			}
		})
	}
}

// What is wrong with a product that is an image is named, and leaves nothing.
func TestProductsThatAreNone(t *testing.T) {
	huge := file("manifest.json", "")
	huge.Size = maxJSON + 1
	circle := tarOf(t, link("manifest.json", "b"), link("b", "manifest.json"))
	for name, c := range map[string]struct {
		data []byte
		code string
	}{
		"a text":               {[]byte("no tar"), "image_damaged"},
		"an entry outside":     {tarOf(t, file("../x", "1")), "image_unsafe"},
		"a link outside":       {tarOf(t, hard("x", "../../contract.md")), "image_unsafe"},
		"a circle":             {tarOf(t, link("a", "b"), link("b", "a"), file("a/x", "1")), "image_unsafe"},
		"an archive's circle":  {circle, "image_not_found"},
		"a huge manifest":      {append(tarOf(t, huge)[:512], make([]byte, maxJSON+1024)...), "image_too_large"},
		"a bomb in its layers": {gzipped(t, gzipped(t, make([]byte, 1<<20))), "image_damaged"},
		"a link at our place":  {tarOf(t, dir("x"), link("opt", "x")), "image_unusable"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			_, err := s.Open(t.Context(), Request{Name: "artifact:dist/app.tar", Input: input(t, c.data)})
			wantFault(t, err, c.code)
			left(t, s)
		})
	}
	s := newStore(t)
	at := input(t, nil)
	must(t, os.Symlink("/etc/passwd", filepath.Join(at, "artifact/link")))
	for name, code := range map[string]string{"artifact:none": "image_not_found", "artifact:link": "image_unreadable", "artifact:dist": "image_unreadable"} {
		_, err := s.Open(t.Context(), Request{Name: name, Input: at})
		wantFault(t, err, code)
	}
}
