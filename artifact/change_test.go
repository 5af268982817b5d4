package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// Between the moment a file is chosen and the moment it is read, it becomes something else. Tracked is asked in
// between, so that is where the change happens.
func TestChangedAfterItWasChosen(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(secret, []byte("of the host"), 0o600))
	for name, change := range map[string]func(f string) error{
		"grows":       func(f string) error { return os.WriteFile(f, []byte("something much longer than before\n"), 0o644) },
		"same length": func(f string) error { return os.WriteFile(f, []byte("THIS IS d/f\n"), 0o644) },
		"same length and time": func(f string) error {
			info, err := os.Stat(f)
			return errors.Join(err, os.WriteFile(f, []byte("THIS IS d/f\n"), 0o644), os.Chtimes(f, info.ModTime(), info.ModTime()))
		},
		"another file": func(f string) error { return os.Rename(filepath.Dir(f)+"/other", f) },
		"truncated":    func(f string) error { return os.Truncate(f, 0) },
		"removed":      os.Remove,
		"link":         func(f string) error { return errors.Join(os.Remove(f), os.Symlink(secret, f)) },
		"link inside":  func(f string) error { return errors.Join(os.Remove(f), os.Symlink("other", f)) },
		"fifo":         func(f string) error { return errors.Join(os.Remove(f), syscall.Mkfifo(f, 0o644)) },
		"directory":    func(f string) error { return errors.Join(os.Remove(f), os.Mkdir(f, 0o755)) },
		"folder gone":  func(f string) error { return os.RemoveAll(filepath.Dir(f)) },
		"folder a link": func(f string) error {
			d := filepath.Dir(f)
			return errors.Join(os.Rename(d, d+"2"), os.Symlink(filepath.Dir(secret), d))
		},
		"folder a link inside": func(f string) error {
			d := filepath.Dir(f)
			return errors.Join(os.Rename(d, d+"2"), os.Mkdir(d+"3", 0o755), os.WriteFile(d+"3/f", []byte("THIS IS d/f\n"), 0o644), os.WriteFile(d+"3/other", nil, 0o644), os.Symlink("d3", d))
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := tree(t, "d/f", "d/other")
			o := options(t, root, "d/*")
			var once sync.Once
			o.Tracked = func(string) bool {
				once.Do(func() { must(t, change(root+"/d/f")) })
				return false
			}
			rs := refused(t, o, verdict.ArtifactUnsafe)
			if !strings.Contains(rs[0].Detail, changed) && !strings.Contains(rs[0].Detail, unreadable) || !strings.Contains(rs[0].Detail, `"d/f"`) {
				t.Errorf("detail %q", rs[0].Detail)
			}
		})
	}
}

// Somebody rewrites, replaces and removes files all the time. Every collection ends: refused, or with a copy that is
// what its manifest says.
func TestConcurrentMutation(t *testing.T) {
	root := tree(t, "d/")
	name := func(i int) string { return fmt.Sprintf("%s/d/f%d", root, i%8) }
	for i := range 8 {
		must(t, os.WriteFile(name(i), []byte("begin"), 0o644))
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			// Mostly plain files, so that some collections are sealed; what is refused by its type stays only briefly.
			f := name(i)
			switch i % 40 {
			default:
				_ = os.WriteFile(f, []byte(strings.Repeat("x", i%5000)), 0o644)
				time.Sleep(time.Millisecond)
			case 10:
				_ = os.Remove(f)
			case 20:
				_ = os.Symlink("/etc/passwd", f+".l")
				_ = os.Rename(f+".l", f)
				_ = os.Remove(f)
			case 30:
				_ = os.Rename(f, name(i+1))
			case 39:
				_ = os.Remove(f)
				_ = syscall.Mkfifo(f, 0o644)
				_ = os.Remove(f)
			}
		}
	}()
	good := 0
	for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); {
		o := options(t, root, "d")
		s, err := Collect(t.Context(), o)
		if err != nil {
			if _, ok := errors.AsType[*fault.Error](err); ok {
				t.Fatal(err)
			}
			reasonsOf(t, err)
			nothingStaged(t, o)
			continue
		}
		good++
		for _, e := range s.Manifest() {
			if e.Type != "file" {
				continue
			}
			b, err := os.ReadFile(filepath.Join(s.staging, artifacts, e.Path))
			must(t, err)
			if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != e.SHA256 || int64(len(b)) != e.Size {
				t.Errorf("%s: the copy is not what the manifest says", e.Path)
			}
			if strings.Contains(string(b), "root:") {
				t.Errorf("%s was read through a link", e.Path)
			}
		}
		must(t, s.Close())
	}
	close(stop)
	<-stopped
	t.Logf("%d collections were sealed", good)
}
