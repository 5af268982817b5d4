package images

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A cache stays until it is swept, and not while a build has it; scratch goes when it is given back, or when its program
// is gone. Rights that a build took away are in nobody's way.
func TestFoldersOfBuilds(t *testing.T) {
	s := NewStore(filepath.Join(t.TempDir(), "images"), "amd64")
	open := func(f *Folder, err error) *Folder {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	sweep := func(f func() ([]string, error), want ...string) {
		t.Helper()
		if got, err := f(); err != nil || !slices.Equal(got, want) {
			t.Errorf("swept %q, %v; want %q", got, err, want)
		}
	}
	all := func() ([]string, error) { return s.Sweep(t.Context(), false) }
	dead := func() ([]string, error) { return s.SweepScratch(t.Context(), false) }

	one, two := open(s.Cache(t.Context(), "x")), open(s.Cache(t.Context(), "x"))
	scratch := open(s.Scratch(t.Context()))
	if one.Dir != two.Dir || scratch.Dir == one.Dir {
		t.Errorf("%q %q %q", one.Dir, two.Dir, scratch.Dir)
	}
	for _, f := range []*Folder{one, scratch} {
		if err := os.MkdirAll(filepath.Join(f.Dir, "shut/in"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(f.Dir, "shut"), 0); err != nil {
			t.Fatal(err)
		}
	}
	sweep(all)
	if err := two.Close(); err != nil {
		t.Fatal(err)
	}
	sweep(all)
	left := filepath.Base(scratch.Dir)
	if err := scratch.lease.Close(); err != nil { // as when its program is killed
		t.Fatal(err)
	}
	sweep(dead, left)
	if _, err := os.Lstat(scratch.Dir); err == nil {
		t.Error("scratch of a dead program is left")
	}
	again := open(s.Scratch(t.Context()))
	sweep(dead)
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(again.Dir); err == nil {
		t.Error("scratch is left")
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	sweep(dead)
	sweep(all, "build-cache-x")
	if entries, err := os.ReadDir(s.folder()); err != nil || len(entries) > 0 {
		t.Errorf("left: %v %v", entries, err)
	}
}
