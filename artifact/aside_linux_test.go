package artifact

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// A folder of artifacts may be a disk of its own: a volume of a container, for one.
func TestAsideAcrossFileSystems(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount a file system of its own")
	}
	root := tree(t, "dist/", "pkg.tgz")
	other, err := os.MkdirTemp("/dev/shm", "trkr-aside-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(other) })
	grow(t, other, "app", "sub/x", "l -> app", "new\nline")
	must(t, os.Chmod(other+"/app", 0o750))
	must(t, unix.Mount(other, root+"/dist", "", unix.MS_BIND, ""))
	t.Cleanup(func() { must(t, unix.Unmount(root+"/dist", unix.MNT_DETACH)) })
	before := everything(t, root)
	was, err := os.Stat(root + "/dist/app")
	must(t, err)
	a, err := SetAside(t.Context(), asideOptions(t, root))
	must(t, err)
	for _, p := range a.Paths() {
		if _, err := os.Lstat(filepath.Join(root, p)); err == nil {
			t.Errorf("%s is still there", p)
		}
	}
	must(t, os.RemoveAll(root+"/dist/sub"))
	grow(t, root, "dist/.aside.part") // as of a program that was killed while it put something back
	must(t, a.Restore())
	if after := everything(t, root); !slices.Equal(after, before) {
		t.Errorf("after  %q\nbefore %q", after, before)
	}
	if is, err := os.Stat(root + "/dist/app"); err != nil || is.Mode() != was.Mode() || !is.ModTime().Equal(was.ModTime()) {
		t.Errorf("%v, %v", is, err)
	}
}
