//go:build unix

package sandboxtest

import (
	"crypto/rand"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/sandbox"
)

// SocketDir begins the name of the temporary directory in which a Unix socket listens for the subject.
const SocketDir = "trkr-sock"

// planted is a repository and what lies around it, with a marker in each place that no box may see. The input of the
// suite's boxes is in it, where that of a run is.
type planted struct {
	input  string
	home   string
	secret string   // in the content of each marker, and in the caller's environment
	files  []string // the markers
	names  []string // of sockets that this machine listens on, as the subject's verb takes them
}

func plant(t *testing.T) *planted {
	t.Helper()
	top := t.TempDir()
	repo := filepath.Join(top, "repository")
	p := &planted{
		input: filepath.Join(repo, ".trkr/validate/7"), home: filepath.Join(top, "home"), secret: "PLANTED" + rand.Text(),
	}
	for _, dir := range []string{top, repo, filepath.Join(repo, ".git"), filepath.Join(repo, ".trkr"), filepath.Join(repo, ".trkr/validate"),
		filepath.Join(top, "sibling"), p.home} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, "trkr-planted-marker")
		if err := os.WriteFile(name, []byte("in "+dir+": "+p.secret), 0o644); err != nil {
			t.Fatal(err)
		}
		p.files = append(p.files, name)
	}
	if err := os.MkdirAll(p.input, 0o755); err != nil {
		t.Fatal(err)
	}
	p.listen(t)
	return p
}

// listen makes Unix sockets of this machine: one with a path, beside the repository, and one that only has a name.
func (p *planted) listen(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", SocketDir) // a short path: a socket's has no room for a test's
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{filepath.Join(dir, "trkr-planted-socket"), "@trkr-planted-" + strings.ToLower(rand.Text())} {
		l, err := net.Listen("unix", name)
		if err != nil && name[0] == '@' { // there are none but on Linux
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		if name[0] != '@' {
			if err := os.Chmod(name, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		p.names = append(p.names, "unix:"+name)
	}
}

// environment plants in the caller's: its secrets, and a HOME with a marker in it.
func (p *planted) environment(t *testing.T) {
	t.Setenv("TRKR_TEST_HOST_SECRET", p.secret)
	t.Setenv("HOME", p.home)
}

// markers hunts for all of it. What the session itself has with the secret is found, so the hunt can.
func (s *suite) markers(t *testing.T, box sandbox.Sandbox) {
	for _, role := range []sandbox.Role{sandbox.RoleSubject, sandbox.RoleInstall, sandbox.RoleAgent} {
		se := open(t, box, sandbox.SessionSpec{Role: role})
		says(t, se, "write", "own", s.planted.secret)
		half := len(s.planted.secret) / 2
		words := append([]string{"hunt", s.planted.secret[:half], s.planted.secret[half:]}, s.planted.files...)
		s.tries(t, se, words, "content of "+se.Dir()+"/own")
		se.Close()
	}
}
