package docker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/trkr-dev/trkr-validate/images"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

func frame(kind byte, text string) []byte {
	b := []byte{kind, 0, 0, 0, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(b[4:], uint32(len(text)))
	return append(b, text...)
}

// piece is a connection from which a text is read, byte by byte.
type piece struct {
	net.Conn
	io.Reader
}

func (p piece) Read(b []byte) (int, error) { return p.Reader.Read(b) }

func stdio(frames ...[]byte) *stream {
	return newStream(piece{Reader: iotest.OneByteReader(bytes.NewReader(bytes.Join(frames, nil)))})
}

func TestStreamTakesStdoutApart(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	s := stdio(frame(1, "one "), frame(2, strings.Repeat("y", 10_000)+"words"), frame(1, ""), frame(1, "two "), frame(1, long))
	out, err := io.ReadAll(s)
	if err != nil || string(out) != "one two "+long {
		t.Errorf("read %d bytes, %v", len(out), err)
	}
	if said := s.said(); len(said) > tailSize || !strings.HasSuffix(said, "yywords") {
		t.Errorf("said %d bytes, %q at the end", len(said), said[max(0, len(said)-10):])
	}
}

func TestStreamThatIsCutOrForeign(t *testing.T) {
	for name, c := range map[string]struct {
		frames [][]byte
		want   error
		text   string
	}{
		"in a frame":        {[][]byte{frame(1, "one")[:9]}, io.ErrUnexpectedEOF, ""},
		"in a header":       {[][]byte{frame(1, "one"), {1, 0, 0}}, io.ErrUnexpectedEOF, ""},
		"in stderr":         {[][]byte{frame(2, "one")[:9]}, io.ErrUnexpectedEOF, ""},
		"foreign":           {[][]byte{[]byte("HTTP/1.1 200 OK\r\n")}, nil, "no frame begins with"},
		"the daemon speaks": {[][]byte{frame(3, "out of luck")}, nil, "out of luck"},
	} {
		_, err := io.ReadAll(stdio(c.frames...))
		if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A daemon that cannot keep a limit drops it and warns; that must not read as kept.
func TestLimitsThatAreNotKept(t *testing.T) {
	asked := sandbox.Limits{Memory: 2 << 30, CPUs: 2, Pids: 256, Output: 1 << 20, Tmp: 1 << 20}
	none := limits(asked, container.Resources{}, []string{"no memory limit support"})
	for _, name := range []string{"memory", "cpus", "pids"} {
		if none[name] != "unavailable: no memory limit support" {
			t.Errorf("%s: %q", name, none[name])
		}
	}
	pids := int64(256 + initThreads)
	swap := limits(asked, container.Resources{Memory: 2 << 30, MemorySwap: -1, NanoCPUs: 15e8, PidsLimit: &pids}, nil)
	for name, want := range map[string]string{
		"memory": "2GiB enforced, swap beyond it not limited", "cpus": "1.5 enforced, all that there are of 2", "pids": "320 enforced (256 and the 64 threads of the init)",
	} {
		if swap[name] != want {
			t.Errorf("%s: %q, want %q", name, swap[name], want)
		}
	}
}

func TestTheSamePlanGivesTheSameImage(t *testing.T) {
	plan, err := images.HostRoot(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	one, err := baseLayer(plan)
	if err != nil {
		t.Fatal(err)
	}
	two, err := baseLayer(plan)
	if err != nil || !bytes.Equal(one, two) {
		t.Errorf("two layers of one plan differ, %v", err)
	}
}

func TestWhoseFilesTheBoxShows(t *testing.T) {
	const boot = "3b0c\n"
	ours := []byte("21 1 254:0 / / rw - ext4 /dev/vda rw\n30 21 254:1 /sub /opt/a\\040b rw - ext4 /dev/vdb rw\n")
	binds := []mount.Mount{bind("/usr", "/usr"), bind("/opt/a b/c", "/opt/a b/c")}
	const usr, opt = "41 40 254:0 /usr /usr ro - ext4 /dev/vda rw\n", "42 40 254:1 /sub/c /opt/a\\040b/c ro - ext4 /dev/vdb rw\n"
	for name, c := range map[string]struct {
		inside string
		same   bool
	}{
		"this machine's":      {boot + usr + opt, true},
		"another kernel's":    {"77aa\n" + usr + opt, false},
		"another device":      {boot + strings.ReplaceAll(usr, "254:0", "0:77") + opt, false},
		"another directory":   {boot + usr + strings.ReplaceAll(opt, "/sub/c", "/other/c"), false},
		"not mounted":         {boot + usr, false},
		"something on top":    {boot + usr + opt + "43 41 0:9 / /usr ro - tmpfs t rw\n", false},
		"nothing was printed": {"", false},
	} {
		if err := same([]byte(boot), ours, []byte(c.inside), binds); (err == nil) != c.same {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestProgramThatNeedsALoader(t *testing.T) {
	wantFault(t, program{path: "/x"}.loads("debian:12"), "init_not_static")
	for _, err := range []error{program{path: "/x"}.loads("host"), program{path: "/x", static: true}.loads("debian:12")} {
		if err != nil {
			t.Error(err)
		}
	}
	_, err := Options{Init: "unit_test.go"}.program()
	wantFault(t, err, "init_missing")
	_, err = Options{Init: "/nowhere"}.program()
	wantFault(t, err, "init_missing")
}

func TestFolderWhoseNameDockerCannotBeTold(t *testing.T) {
	_, err := (&engine{}).Start(t.Context(), sandbox.Spec{Input: "/home/caf\xe9/.trkr/validate/7", Image: hostImage})
	wantFault(t, err, "path_not_utf8")
}

// A build can put its own program where this one lies. It must not become the init of the box that judges it.
func TestInitThatChangedIsNotUsed(t *testing.T) {
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(path string) error{
		"replaced": func(path string) error {
			return errors.Join(os.WriteFile(path+"2", self, 0o755), os.Rename(path+"2", path))
		},
		"written to, and its time set back": func(path string) error {
			info, err := os.Stat(path)
			return errors.Join(err, os.WriteFile(path, self, 0o755), os.Chtimes(path, info.ModTime(), info.ModTime()))
		},
		"gone": os.Remove,
	} {
		path := filepath.Join(t.TempDir(), "init")
		if err := os.WriteFile(path, self, 0o755); err != nil {
			t.Fatal(err)
		}
		p, err := Options{Init: path}.program()
		if err != nil || p.unchanged() != nil {
			t.Fatal(err, p.unchanged())
		}
		if err := change(path); err != nil {
			t.Fatal(err)
		}
		if f := fault.Of(p.unchanged()); f == nil || f.Code != "init_changed" || len(f.Hints) == 0 {
			t.Errorf("%s: %v", name, p.unchanged())
		}
	}
}
