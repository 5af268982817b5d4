package docker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trkr-dev/trkr-validate/images"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/testengine"
)

// dockerfile makes a folder with a Dockerfile and busybox beside it, in a checkout.
func dockerfile(t *testing.T, text string) (checkout string) {
	t.Helper()
	program, err := os.ReadFile("/bin/busybox")
	testengine.Require(t, Name, err, "install busybox-static")
	checkout = t.TempDir()
	for name, data := range map[string]string{".git/config": "", "secret": "source", "box/Dockerfile": text, "box/busybox": string(program)} {
		at := filepath.Join(checkout, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(data), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return checkout
}

const tinyDockerfile = `FROM scratch
COPY busybox /bin/sh
RUN ["/bin/sh", "-c", "echo made > /made"]
ENV PATH=/bin LD_PRELOAD=/evil.so
ENTRYPOINT ["/bin/false"]
`

func TestDockerfile(t *testing.T) {
	e := testEngine(t)
	spec := testSpec(t, "dockerfile:box/Dockerfile")
	spec.ImageDir = dockerfile(t, tinyDockerfile)
	box := start(t, e, spec)
	if out, exit := sh(t, box, "read line < /made; echo $line $LD_PRELOAD"); out != "made\n" || exit.Code != 0 {
		t.Errorf("it printed %q, %s", out, exit)
	}
	info := box.Info()
	if err := box.Close(); err != nil { // before its image can be removed
		t.Fatal(err)
	}
	d, err := e.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	forget(t, d, info.ImageDigest)
	if !strings.HasPrefix(info.ImageDigest, "sha256:") || info.Path != "/bin" {
		t.Errorf("Info() = %+v", info)
	}

	// For an engine that has no builder: the same image, as an archive.
	store := images.NewStore(filepath.Join(t.TempDir(), "cache"), "amd64")
	if p, err := e.program(); err != nil || p.arch != "amd64" {
		store = images.NewStore(filepath.Join(t.TempDir(), "cache"), p.arch)
	}
	req := images.Request{Name: spec.Image, Dir: spec.ImageDir, Build: e}
	for range 2 {
		root, err := store.Open(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		made, err := os.ReadFile(filepath.Join(root.Dir, "made"))
		if err != nil || string(made) != "made\n" || root.Digest != info.ImageDigest {
			t.Errorf("%q, %v: %+v", made, err, root)
		}
		if err := root.Close(); err != nil {
			t.Error(err)
		}
		if _, err := store.Sweep(t.Context(), false); err != nil { // so that it has to be built again
			t.Error(err)
		}
	}
}

// A build that fails shows what its last step said; what lies beside a Dockerfile is no repository.
func TestDockerfilesThatFail(t *testing.T) {
	e := testEngine(t)
	broken := dockerfile(t, "FROM scratch\nCOPY busybox /bin/sh\nRUN [\"/bin/sh\", \"-c\", \"echo it is because; exit 3\"]\n")
	for image, c := range map[string]struct{ code, words string }{
		"dockerfile:box/Dockerfile": {"image_build_failed", "it is because"},
		"dockerfile:box/none":       {"image_not_found", "box/none"},
		"dockerfile:box":            {"image_unreadable", "regular"},
		"dockerfile:secret":         {"image_exposes_repository", ".trkr/box"},
	} {
		err := e.Fetch(t.Context(), image, broken)
		wantFault(t, err, c.code)
		if f := fault.Of(err); f != nil && !strings.Contains(f.Error()+strings.Join(f.Hints, ""), c.words) {
			t.Errorf("%s: %q lacks %q", image, err, c.words)
		}
	}
	t.Setenv("DOCKER_HOST", "unix:///nowhere")
	_, err := images.NewStore(filepath.Join(t.TempDir(), "cache"), "amd64").Open(t.Context(), images.Request{Name: "dockerfile:box/Dockerfile", Dir: broken, Build: NewBuilder(Options{})})
	wantFault(t, err, "image_no_builder")
	if f := fault.Of(err); f != nil && strings.Contains(strings.Join(f.Hints, ""), "gvisor") {
		t.Errorf("the engine that asked is advised: %q", f.Hints)
	}
}

// What BuildKit reports is read as far as it can be.
func TestKeepLogs(t *testing.T) {
	var got []string
	log := func(text string) []byte {
		return append([]byte{1<<3 | 2, 1, 'v', 3 << 3, 1, 4<<3 | 2, byte(len(text))}, text...)
	}
	status := func(logs ...[]byte) []byte {
		out := []byte{1<<3 | 2, 2, 'x', 'y'}
		for _, l := range logs {
			out = append(append(out, 3<<3|2, byte(len(l))), l...)
		}
		return out
	}
	keepLogs(append(status(log("one"), log("two")), 0xff), writerFunc(func(p []byte) { got = append(got, string(p)) }))
	keepLogs([]byte{3<<3 | 2, 200, 1}, writerFunc(func([]byte) { t.Error("what is cut was read") }))
	if d := cmp.Diff([]string{"one", "two"}, got); d != "" {
		t.Error(d)
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) { f(p); return len(p), nil }
