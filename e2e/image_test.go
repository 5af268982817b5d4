package e2e

import (
	"archive/tar"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/internal/testengine"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// loadImage makes an image of one layer and returns its name. It is removed with the test.
func loadImage(t testing.TB, tag string, files ...*tarFile) string {
	t.Helper()
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	for _, f := range files {
		f.Size = int64(len(f.content))
		if err := w.WriteHeader(&f.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(f.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	// Two runs of these tests at once must not remove each other's.
	name := "trkr-validate-e2e-" + strings.ToLower(filepath.Base(filepath.Dir(program))) + ":" + tag
	load := exec.Command("docker", "import", "-", name)
	load.Stdin = &layer
	if out, err := load.CombinedOutput(); err != nil {
		testengine.Require(t, "docker", err, string(out))
	}
	t.Cleanup(func() {
		if out, err := exec.Command("docker", "rmi", "-f", name).CombinedOutput(); err != nil {
			t.Errorf("removing %s: %v\n%s", name, err, out)
		}
	})
	return name
}

type tarFile struct {
	tar.Header
	content []byte
}

func executable(name string, content []byte) *tarFile {
	return &tarFile{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755}, content}
}

// where is a program that tells which userland it finds itself in.
const where = `package main

import (
	"fmt"
	"os"
	"os/exec"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: where FILE")
		os.Exit(2)
	}
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	_, err = exec.LookPath("git")
	fmt.Printf("%sgit: %t\n", text, err == nil)
}
`

// imageRepo builds a static program.
func imageRepo(t *testing.T) *repo {
	t.Helper()
	r := newRepo(t, map[string]string{
		".gitignore": "/dist/\n",
		".trkr/config.json": `{"validate": {"build": "go build -o dist/where .", "env": ["CGO_ENABLED=0"], "artifacts": ["dist/*"],
			"limits": {"memory": "256MiB"}}}`,
	})
	r.ticket("7", "VAL-1: `where` exits 2 with a usage message\n"+
		"VAL-2: `where /etc/os-release` prints a line matching `/^PRETTY_NAME=\"Made by a test\"$/`\n"+
		"VAL-3: `where /etc/os-release` prints a line matching `/^git: false$/`\n"+
		"VAL-4: `where /no/such` fails with an error message\n",
		map[string]string{"go.mod": "module example.org/where\n\ngo 1.24\n", "main.go": where})
	return r
}

// A real image is the box's userland: the program finds that, the record names it by its digest.
func TestNamedImage(t *testing.T) {
	needs(t, "docker")
	busybox, err := os.ReadFile("/bin/busybox")
	testengine.Require(t, "docker", err, "install busybox-static")
	image := loadImage(t, "busybox", executable("bin/busybox", busybox),
		&tarFile{Header: tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/sh", Linkname: "busybox", Mode: 0o777}},
		&tarFile{tar.Header{Typeflag: tar.TypeReg, Name: "etc/os-release", Mode: 0o644}, []byte("PRETTY_NAME=\"Made by a test\"\n")})
	id, err := exec.Command("docker", "image", "inspect", "--format", "{{.Id}}", image).Output()
	if err != nil {
		t.Fatal(err)
	}
	r := imageRepo(t)
	tmp := r.isolate()
	code, doc := r.validate("--image", image, "7") // auto: a named image goes to docker
	rec := expect(t, code, doc, verdict.Clear)
	env := rec.Environment
	if env.Engine != "docker" || env.Image != image || env.ImageDigest != strings.TrimSpace(string(id)) || env.Userland != "Made by a test" {
		t.Errorf("the record says %s, image %s, digest %s, userland %q", env.Engine, env.Image, env.ImageDigest, env.Userland)
	}
	if c := statusOf(t, rec, "VAL-2"); !strings.Contains(c.Evidence, "/validate/artifact/dist/where") {
		t.Errorf("VAL-2 was met by something else than the artifact: %s", c.Evidence)
	}
	r.nothingLeft("docker", tmp)
}

func TestImageThatIsNotThere(t *testing.T) {
	needs(t, "docker")
	r := imageRepo(t)
	tmp := r.isolate()
	const image = "localhost:1/no/such:1" // a registry that nobody runs
	code, doc := r.validate("--image", image, "7")
	if code != 6 || len(doc.Results) != 1 || doc.Results[0].Error == nil {
		t.Fatalf("exit code %d, %+v", code, doc)
	}
	if e := doc.Results[0].Error; e.Step != "config" || !strings.Contains(e.Message, image) || len(e.Hints) == 0 {
		t.Errorf("%+v", e)
	}
	if code, _, stderr := r.call("--image", image, "7"); code != 6 || !strings.Contains(stderr, "error: ") || !strings.Contains(stderr, "hint: ") {
		t.Errorf("exit code %d:\n%s", code, stderr)
	}
	r.nothingLeft("docker", tmp)
}
