package artifact

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trkr-dev/trkr-validate/verdict"
)

// A large file is changed in each way while it is copied: its copy has begun to be there, and takes a while.
func TestChangedWhileItIsRead(t *testing.T) {
	const length = 1 << 30 // a hole, which takes no disk
	for name, change := range map[string]func(f string) error{
		"grows":       func(f string) error { return os.Truncate(f, length+1) },
		"shrinks":     func(f string) error { return os.Truncate(f, length/2) },
		"is replaced": func(f string) error { return os.Rename(filepath.Dir(f)+"/other", f) },
		"is removed":  os.Remove,
		"is written to, and its time set back": func(f string) error {
			info, err := os.Stat(f)
			if err != nil {
				return err
			}
			w, err := os.OpenFile(f, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = w.WriteAt([]byte("x"), length-1)
			return errors.Join(err, w.Close(), os.Chtimes(f, info.ModTime(), info.ModTime()))
		},
		"becomes a link to the same": func(f string) error {
			return errors.Join(os.Rename(f, f+"2"), os.Symlink(filepath.Base(f)+"2", f))
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := tree(t, "d/large", "d/other")
			must(t, os.Truncate(root+"/d/large", length))
			o := options(t, root, "d/large")
			o.MaxBytes = 2 * length
			done := make(chan error, 1)
			go func() {
				for {
					if found, _ := filepath.Glob(o.Staging + "/*/artifact/d/large"); found != nil {
						done <- change(root + "/d/large")
						return
					}
					time.Sleep(time.Millisecond)
				}
			}()
			rs := refused(t, o, verdict.ArtifactUnsafe)
			must(t, <-done)
			if !strings.Contains(rs[0].Detail, changed+`: "d/large"`) {
				t.Errorf("detail %q", rs[0].Detail)
			}
		})
	}
}

// Somebody puts a link in place of a directory on the way, and back, all the time. It leads to another place of the
// worktree, which holds a file of the same name; none of it is ever taken.
func TestDirectorySwappedForALink(t *testing.T) {
	root := tree(t, "d/e/f/app", "secret/f/app", "swap/x")
	must(t, os.WriteFile(root+"/secret/f/app", []byte("not for the box"), 0o644))
	must(t, os.WriteFile(root+"/secret/f/more", []byte("not for the box"), 0o644))
	must(t, os.Symlink("../secret", root+"/link"))
	must(t, os.Rename(root+"/link", root+"/d/link"))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, root+"/d/e", unix.AT_FDCWD, root+"/d/link", unix.RENAME_EXCHANGE)
			}
		}
	}()
	good := 0
	for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); {
		o := options(t, root, "d/e/f/*", "d/e/**")
		s, err := Collect(t.Context(), o)
		if err != nil {
			reasonsOf(t, err)
			continue
		}
		good++
		for _, e := range s.Manifest() {
			b, err := os.ReadFile(filepath.Join(s.staging, artifacts, e.Path))
			if e.Type == "file" && (err != nil || !bytes.Equal(b, []byte("this is d/e/f/app\n"))) {
				t.Errorf("%s: %q, %v", e.Path, b, err)
			}
		}
		must(t, s.Close())
	}
	close(stop)
	<-stopped
	t.Logf("%d collections were sealed", good)
}

// What belongs to a file besides its bytes and its mode does not arrive, and two names of one file are two files.
func TestOwnersAttributesAndHardLinks(t *testing.T) {
	root := tree(t, "d/app", "d/mine", "d/App")
	must(t, os.Link(root+"/d/app", root+"/d/again"))
	must(t, unix.Setxattr(root+"/d/app", "user.trkr", []byte("x"), 0))
	if os.Getuid() == 0 {
		must(t, os.Chown(root+"/d/mine", 65534, 65534))
		// user::rw-, user:65534:rwx, group::r--, mask::rwx, other::---
		acl := []byte{2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 2, 0, 7, 0, 254, 255, 0, 0, 4, 0, 4, 0, 255, 255, 255, 255, 16, 0, 7, 0, 255, 255, 255, 255, 32, 0, 0, 0, 255, 255, 255, 255}
		must(t, unix.Setxattr(root+"/d/app", "system.posix_acl_access", acl, 0))
		must(t, unix.Setxattr(root+"/d/app", "security.capability", []byte{1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0))
	}
	must(t, os.Chmod(root+"/d/mine", 0o600))
	o := options(t, root, "d")
	s := sealed(t, o)
	dir := filepath.Join(o.Staging, "7")
	must(t, s.Materialise(dir, text))
	must(t, s.Verify(seen(t, dir, true), text))
	for _, name := range []string{"app", "again", "mine", "App"} {
		p := dir + "/artifact/d/" + name
		var st unix.Stat_t
		must(t, unix.Lstat(p, &st))
		if n, err := unix.Listxattr(p, nil); n != 0 || err != nil || st.Nlink != 1 || int(st.Uid) != os.Getuid() || st.Mode&0o444 != 0o444 {
			t.Errorf("%s: %d bytes of attributes, %v, %+v", name, n, err, st)
		}
	}
	// Writing through the name that the build kept changes nothing.
	must(t, os.WriteFile(root+"/d/again", []byte("later"), 0o644))
	must(t, s.Unchanged())
	must(t, s.Verify(seen(t, dir, true), text))
}

func TestDeepPaths(t *testing.T) {
	root := tree(t)
	must(t, os.Chdir(root))
	t.Cleanup(func() { must(t, os.Chdir("/")); must(t, removeTree(root+"/d")) })
	deep := func(levels int) {
		must(t, os.Chdir(root))
		for range levels {
			must(t, os.Mkdir("d", 0o755))
			must(t, os.Chdir("d"))
		}
		must(t, os.WriteFile("app", []byte("deep"), 0o755))
	}
	deep(levelLimit - 1)
	o := options(t, root, "d")
	o.MaxFiles = 1e4
	s := sealed(t, o)
	dir := filepath.Join(o.Staging, "7")
	must(t, s.Materialise(dir, text))
	must(t, s.Verify(seen(t, dir, true), text))
	must(t, removeTree(dir))
	must(t, removeTree(root+"/d"))

	deep(3000) // no path of the system reaches the end
	r := refused(t, o, verdict.ArtifactUnsafe)[0]
	if !strings.Contains(r.Detail, overlong) {
		t.Errorf("detail %q", r.Detail)
	}
}

// Ten thousand small files arrive, one after the other as they were.
func TestTenThousandFiles(t *testing.T) {
	root := tree(t)
	for i := range 10_000 {
		dir := fmt.Sprintf("%s/d/%02d/%d", root, i%50, i%7)
		must(t, os.MkdirAll(dir, 0o755))
		must(t, os.WriteFile(fmt.Sprintf("%s/%d", dir, i), []byte(strings.Repeat(fmt.Sprint(i), i%40)), 0o644))
	}
	o := options(t, root, "d/**")
	o.MaxFiles = 20_000
	begin := time.Now()
	s := sealed(t, o)
	dir := filepath.Join(o.Staging, "7")
	must(t, s.Materialise(dir, text))
	t.Logf("sealed in %v", time.Since(begin))
	must(t, s.Verify(seen(t, dir, true), text))
	files := 0
	for _, e := range s.Manifest() {
		if e.Type == "file" {
			files++
		}
	}
	if files != 10_000 {
		t.Errorf("%d files", files)
	}
	begin = time.Now()
	must(t, s.Unchanged())
	t.Logf("looked at again in %v", time.Since(begin))
}

// A sparse file of exactly the limit is sealed without taking room; a byte more is refused before it is read.
func TestSparseFileOfTheLimit(t *testing.T) {
	const limit = 512 << 20
	root := tree(t, "d/app")
	must(t, os.Truncate(root+"/d/app", limit))
	o := options(t, root, "d")
	o.MaxBytes = limit
	s := sealed(t, o)
	h := sha256.New()
	zeros := make([]byte, 1<<20)
	copy(zeros, "this is d/app\n")
	for range limit >> 20 {
		h.Write(zeros)
		clear(zeros)
	}
	if e := s.Manifest()[1]; e.Size != limit || e.SHA256 != hex.EncodeToString(h.Sum(nil)) {
		t.Errorf("%+v", e)
	}
	var st unix.Stat_t
	must(t, unix.Stat(filepath.Join(s.staging, artifacts, "d/app"), &st))
	if st.Blocks*512 > 1<<20 {
		t.Errorf("it takes %d bytes", st.Blocks*512)
	}
	must(t, os.Truncate(root+"/d/app", limit+1))
	o.Staging = t.TempDir()
	refused(t, o, verdict.ArtifactTooLarge)
}
