package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"

	"github.com/trkr-dev/trkr-validate/internal/testengine"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

func TestMain(m *testing.M) {
	if do, ok := children[os.Getenv(childVar)]; ok {
		os.Exit(do())
	}
	code := m.Run()
	if builtInit != "" {
		os.RemoveAll(builtInit)
	}
	os.Exit(code)
}

// builtInit is the folder of an init that was built for the tests.
var builtInit string

// childVar makes the test program do one of children instead of testing.
const childVar = "TRKR_TEST_CHILD"

// initProgram is the init of the tests' boxes: the test program itself, or where it needs a loader (as it does with
// the race detector) one that is built for it.
var initProgram = sync.OnceValues(func() (string, error) {
	p, err := Options{}.program()
	if err != nil || p.static {
		return p.path, err
	}
	if builtInit, err = os.MkdirTemp("", "trkr-docker-test-"); err != nil {
		return "", err
	}
	if err := os.Chmod(builtInit, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(builtInit, "init")
	build := exec.Command("go", "build", "-o", path, "github.com/trkr-dev/trkr-validate/cmd/trkr-shim")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building an init: %w: %s", err, out)
	}
	return path, nil
})

// testEngine gives an engine whose daemon answers, or passes the test over.
func testEngine(t testing.TB) *engine {
	t.Helper()
	path, err := initProgram()
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(Options{Init: path})
	_, err = e.Check(t.Context())
	testengine.Require(t, Name, err)
	return e
}

// testSpec gives a box's spec, with inputs.
func testSpec(t testing.TB, image string) sandbox.Spec {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "artifact"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"contract.md": "VAL-1: it works\n", "artifact/data": "hello"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return sandbox.Spec{
		RunID: "run-" + t.Name(), Input: dir, Image: image,
		Limits: sandbox.Limits{Memory: 256 << 20, CPUs: 1, Pids: 64, Output: 1 << 20, Tmp: 16 << 20},
	}
}

// start boots a box that the test closes.
func start(t testing.TB, e sandbox.Engine, spec sandbox.Spec) sandbox.Sandbox {
	t.Helper()
	box, err := e.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	return box
}

// sh runs a shell command in a session of its own and gives what it printed.
func sh(t testing.TB, box sandbox.Sandbox, script string) (string, sandbox.Exit) {
	t.Helper()
	s, err := box.Open(t.Context(), sandbox.SessionSpec{Role: sandbox.RoleSubject})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var out bytes.Buffer
	exit, err := s.Run(t.Context(), sandbox.Command{Args: []string{"sh", "-c", script}, Stdout: &out, Stderr: &out})
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), exit
}

// busybox makes an image that holds nothing but busybox-static, with changes as a Dockerfile would make them.
func busybox(t testing.TB, e *engine, tag string, changes ...string) string {
	t.Helper()
	program, err := os.ReadFile("/bin/busybox")
	testengine.Require(t, Name, err, "install busybox-static")
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	put := func(h tar.Header, data []byte) {
		h.Size = int64(len(data))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	put(tar.Header{Typeflag: tar.TypeReg, Name: "bin/busybox", Mode: 0o755}, program)
	for _, name := range strings.Fields("sh cat ls mount env touch id sleep true mkdir echo test") {
		put(tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + name, Linkname: "busybox", Mode: 0o777}, nil)
	}
	put(tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o700}, nil) // as nobody should make it
	put(tar.Header{Typeflag: tar.TypeDir, Name: "opt/validate/", Mode: 0o700}, nil)
	put(tar.Header{Typeflag: tar.TypeDir, Name: "data/", Mode: 0o777}, nil)
	put(tar.Header{Typeflag: tar.TypeReg, Name: "etc/os-release", Mode: 0o644}, []byte("ID=x\nPRETTY_NAME=\"Busy Box 1\"\n"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	d, err := e.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	body, err := d.ImageImport(t.Context(), image.ImportSource{Source: &layer, SourceName: "-"}, "trkr-validate-test", image.ImportOptions{Tag: tag, Changes: changes})
	if err == nil {
		err = progress(body, func() {})
	}
	if err != nil {
		t.Fatal(err)
	}
	ref := "trkr-validate-test:" + tag
	t.Cleanup(func() {
		if _, err := d.ImageRemove(context.Background(), ref, image.RemoveOptions{Force: true}); err != nil {
			t.Error(err)
		}
	})
	return ref
}

// boxes are the names of this test program's containers.
func boxes(t testing.TB, e *engine, run string) []string {
	t.Helper()
	d, err := e.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := d.ContainerList(context.Background(), container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", labelRun+"="+run))})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range found {
		names = append(names, strings.TrimPrefix(c.Names[0], "/"))
	}
	return names
}
