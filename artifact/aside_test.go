package artifact

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/owner"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// everything lists a worktree with the contents of its files.
func everything(t *testing.T, root string) (all []string) {
	t.Helper()
	must(t, filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == root {
			return err
		}
		s := strings.TrimPrefix(p, root+"/")
		switch {
		case d.IsDir():
			s += "/"
		case d.Type() == fs.ModeSymlink:
			to, err := os.Readlink(p)
			must(t, err)
			s += " -> " + to
		case d.Type() == 0:
			b, err := os.ReadFile(p)
			must(t, err)
			s += ": " + string(b)
		}
		all = append(all, s)
		return nil
	}))
	return all
}

func asideOptions(t *testing.T, root string) Options {
	o := options(t, root, "dist", "*.tgz")
	o.Tracked = func(p string) bool { return strings.HasPrefix(p, "dist/tracked") }
	return o
}

// A binary of an earlier build must not pass as new when the build makes nothing.
func TestStaleArtifactIsNotTaken(t *testing.T) {
	root := tree(t, "dist/app", "dist/sub/x", "dist/l -> app", "old.tgz", "src/a.go")
	must(t, syscall.Mkfifo(root+"/dist/fifo", 0o600))
	before := everything(t, root)
	o := asideOptions(t, root)
	a, err := SetAside(t.Context(), o)
	must(t, err)
	if want := []string{"dist/app", "dist/fifo", "dist/l", "dist/sub/x", "old.tgz"}; !slices.Equal(a.Paths(), want) {
		t.Errorf("moved %q", a.Paths())
	}
	for _, p := range a.Paths() {
		if _, err := os.Lstat(filepath.Join(root, p)); err == nil {
			t.Errorf("%s is still there", p)
		}
	}
	o.Stale = a.Paths()
	rs := refused(t, o, verdict.ArtifactMissing, verdict.ArtifactMissing)
	if !strings.Contains(rs[0].Detail, `"dist/app"`) || !strings.Contains(rs[0].Detail, `"dist/sub/x"`) || strings.Contains(rs[0].Detail, "old.tgz") || !strings.Contains(rs[0].Hints[0], "cache") {
		t.Errorf("%+v", rs[0])
	}
	must(t, a.Restore())
	must(t, a.Restore())
	if after := everything(t, root); !slices.Equal(after, before) {
		t.Errorf("after  %q\nbefore %q", after, before)
	}
}

// What the build makes again stays as it made it; what it does not comes back; what git tracks never moves.
func TestMadeAgain(t *testing.T) {
	root := tree(t, "dist/app", "dist/tracked", "dist/old", "pkg-1.tgz")
	o := asideOptions(t, root)
	a, err := SetAside(t.Context(), o)
	must(t, err)
	must(t, os.WriteFile(root+"/dist/app", []byte("new\n"), 0o644))
	must(t, os.WriteFile(root+"/pkg-2.tgz", []byte("new\n"), 0o644))
	must(t, a.Built())
	o.Stale, o.AllowTracked = a.Paths(), []string{"dist/tracked"}
	if got, want := paths(sealed(t, o)), []string{"dist/", "dist/app", "dist/tracked", "pkg-2.tgz"}; !slices.Equal(got, want) {
		t.Errorf("sealed %q", got)
	}
	must(t, a.Restore())
	want := []string{"dist/", "dist/app: new\n", "dist/old: this is dist/old\n", "dist/tracked: this is dist/tracked\n", "pkg-1.tgz: this is pkg-1.tgz\n", "pkg-2.tgz: new\n"}
	if got := everything(t, root); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// The build removed the folder that something goes back to, and failed.
func TestRestoreMakesFolders(t *testing.T) {
	root := tree(t, "dist/sub/x")
	must(t, os.Chmod(root+"/dist/sub", 0o710))
	before := everything(t, root)
	a, err := SetAside(t.Context(), asideOptions(t, root))
	must(t, err)
	must(t, os.RemoveAll(root+"/dist"))
	must(t, a.Restore())
	if after := everything(t, root); !slices.Equal(after, before) {
		t.Errorf("after %q", after)
	}
	if info, err := os.Stat(root + "/dist/sub"); err != nil || info.Mode().Perm() != 0o710 {
		t.Errorf("%v, %v", info, err)
	}
}

// A build that failed half way takes nothing away; what it put in place of a whole folder stays.
func TestFailedBuildGivesWay(t *testing.T) {
	root := tree(t, "dist/app", "dist/dir", "dist/shut/x", "dist/sub/x", "old.tgz")
	a, err := SetAside(t.Context(), asideOptions(t, root))
	must(t, err)
	must(t, os.RemoveAll(root+"/dist/sub"))
	grow(t, root, "dist/sub", "dist/dir/", "dist/shut/x")
	must(t, os.WriteFile(root+"/dist/app", []byte("half"), 0o644))
	must(t, os.Symlink("/nowhere", root+"/old.tgz"))
	must(t, os.Chmod(root+"/dist/shut", 0))
	must(t, a.Restore())
	want := []string{"dist/", "dist/app: this is dist/app\n", "dist/dir/", "dist/shut/", "dist/shut/x: this is dist/shut/x\n", "dist/sub: this is dist/sub\n", "old.tgz: this is old.tgz\n"}
	must(t, os.Chmod(root+"/dist/shut", 0o755))
	if got := everything(t, root); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// What a glob matches at the top of the worktree has any name, also those that the folder uses itself.
func TestAsideOwnNames(t *testing.T) {
	root := tree(t, ".gitignore", "built", "files/x", "part")
	before := everything(t, root)
	a, err := SetAside(t.Context(), options(t, root, "**"))
	must(t, err)
	if len(a.Paths()) != 4 {
		t.Errorf("moved %q", a.Paths())
	}
	must(t, a.Restore())
	if after := everything(t, root); !slices.Equal(after, before) {
		t.Errorf("after %q", after)
	}
}

// Which of too many files the build makes could not be told afterwards: it could remove some and leave the others.
func TestTooManyToSetAside(t *testing.T) {
	root := tree(t, "dist/a", "dist/b", "dist/c")
	o := asideOptions(t, root)
	o.MaxFiles = 2
	_, err := SetAside(t.Context(), o)
	if r, ok := errors.AsType[*verdict.Refusal](err); !ok || r.Reason != verdict.ArtifactTooLarge || len(r.Hints) == 0 {
		t.Errorf("err = %v", err)
	}
}

// A program that was killed put nothing back; the next run does, and then moves it again.
func TestRecoversAfterAKill(t *testing.T) {
	root := tree(t, "dist/app", "dist/made-later")
	before := everything(t, root)
	a, err := SetAside(t.Context(), asideOptions(t, root))
	must(t, err)
	dead := owner.Self()
	dead.Boot = "0"
	must(t, os.Rename(filepath.Join(root, a.dir), filepath.Join(root, asideDir, asidePrefix+dead.String())))
	if b, err := os.ReadFile(filepath.Join(root, asideDir, asidePrefix+dead.String(), ".gitignore")); err != nil || string(b) != "*\n" {
		t.Errorf("git sees the folder: %q, %v", b, err)
	}
	b, err := SetAside(t.Context(), asideOptions(t, root))
	must(t, err)
	if want := []string{"dist/app", "dist/made-later"}; !slices.Equal(b.Paths(), want) {
		t.Errorf("moved %q", b.Paths())
	}
	must(t, b.Restore())
	if after := everything(t, root); !slices.Equal(after, before) {
		t.Errorf("after %q", after)
	}
}

// What stands where a killed run's files come back may be somebody's work since: it is kept and named, and what came back
// is what is moved aside next.
func TestWhatStandsInTheWayAfterAKillIsKept(t *testing.T) {
	root := tree(t, "dist/app", "dist/l -> app", "old.tgz")
	a, err := SetAside(t.Context(), asideOptions(t, root))
	must(t, err)
	dead := owner.Self()
	dead.Boot = "0"
	must(t, os.Rename(filepath.Join(root, a.dir), filepath.Join(root, asideDir, asidePrefix+dead.String())))
	must(t, os.WriteFile(root+"/dist/app", []byte("by hand"), 0o755))
	must(t, os.Symlink("/elsewhere", root+"/dist/l"))
	b, err := SetAside(t.Context(), asideOptions(t, root))
	must(t, err)
	by := path.Join(asideDir, keptPrefix+dead.String(), asideFiles)
	if want := []string{by + "/dist/app", by + "/dist/l"}; !slices.Equal(slices.Sorted(slices.Values(b.Kept())), want) {
		t.Errorf("kept %q", b.Kept())
	}
	must(t, b.Restore())
	want := []string{
		path.Join(asideDir, keptPrefix+dead.String(), ".gitignore") + ": *\n", by + "/", by + "/dist/", by + "/dist/app: by hand", by + "/dist/l -> /elsewhere",
		"dist/", "dist/app: this is dist/app\n", "dist/l -> app", "old.tgz: this is old.tgz\n",
	}
	if got := everything(t, root); !slices.Equal(got[3:], want) {
		t.Errorf("got %q", got)
	}
}

func TestNothingToSetAside(t *testing.T) {
	root := tree(t, "src/a.go", "dist/tracked")
	before := everything(t, root)
	a, err := SetAside(t.Context(), asideOptions(t, root))
	must(t, err)
	if a.Paths() != nil || !slices.Equal(everything(t, root), before) {
		t.Errorf("moved %q", a.Paths())
	}
	must(t, a.Restore())
}

// The branch plants a link where things are moved to, or the build turns the folder into one: nothing outside is
// written, moved or removed.
func TestAsideFollowsNoLink(t *testing.T) {
	outside := tree(t, "victim/x", "validate/y")
	for _, planted := range []string{".trkr -> " + outside, ".trkr/validate -> " + outside, ".trkr -> src", ".trkr/validate -> ../src"} {
		root := tree(t, "dist/app", "src/a.go", planted)
		before := everything(t, root)
		_, err := SetAside(t.Context(), asideOptions(t, root))
		if f := fault.Of(err); f == nil || f.Code != "aside_failed" {
			t.Errorf("%s: err = %v", planted, err)
		}
		if after := everything(t, root); !slices.Equal(after, before) {
			t.Errorf("%s: after %q", planted, after)
		}
	}
	for name, attack := range map[string]func(root, dir string) error{
		"folder": func(root, dir string) error { must(t, os.RemoveAll(dir)); return os.Symlink(outside, dir) },
		"inside": func(root, dir string) error {
			must(t, os.RemoveAll(dir+"/files/dist"))
			return os.Symlink(outside, dir+"/files/dist")
		},
		"target": func(root, dir string) error {
			must(t, os.RemoveAll(root+"/dist"))
			return os.Symlink(outside, root+"/dist")
		},
		"shut": func(root, dir string) error { return os.Chmod(dir+"/files/dist", 0) },
		"gone": func(root, dir string) error { return os.RemoveAll(root + "/.trkr") },
	} {
		root := tree(t, "dist/app", "src/a.go")
		a, err := SetAside(t.Context(), asideOptions(t, root))
		must(t, err)
		must(t, attack(root, filepath.Join(root, a.dir)))
		_ = a.Restore()
		if after := everything(t, outside); !slices.Equal(after, []string{"validate/", "validate/y: this is validate/y\n", "victim/", "victim/x: this is victim/x\n"}) {
			t.Errorf("%s: outside %q", name, after)
		}
	}
}
