package ticket

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestDiffIsTheBranchsOwnWorkWithoutItsDocuments(t *testing.T) {
	dir := fixture(t, tempDir(t))
	write(t, filepath.Join(dir, "src/a.go"), "package a // changed\n")
	write(t, filepath.Join(dir, "src/new.go"), "package a\n")
	write(t, filepath.Join(dir, ".trkr/tickets/7/implementation.md"), "x\n")
	write(t, filepath.Join(dir, ".trkr/tickets/7/plan.txt"), "x\n")
	if err := os.Remove(filepath.Join(dir, "docs/x/y.txt")); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "add", "-Af", ".trkr", "src", "docs")
	git(t, dir, "commit", "-qm", "work")
	git(t, dir, "checkout", "-q", "main")
	write(t, filepath.Join(dir, "src/b.go"), "package a // elsewhere\n")
	git(t, dir, "commit", "-qam", "main goes on")
	git(t, dir, "checkout", "-q", "trkr/7")
	r := open(t, dir)
	d, err := r.Diff(t.Context(), resolve(t, r, Query{}))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{".trkr/tickets/7/plan.txt", "docs/x/y.txt", "src/a.go", "src/new.go"}
	if !slices.Equal(d.Changed, want) {
		t.Errorf("changed %q, want %q", d.Changed, want)
	}
	for name, held := range map[string]bool{"src/a.go": true, "src": true, "src/b.go": true, "docs/x/y.txt": false, "docs": false, "nowhere": false} {
		if d.Holds(name) != held {
			t.Errorf("Holds(%q) = %v", name, !held)
		}
	}
}

func TestDiffWithoutTheHistoryIsAFault(t *testing.T) {
	from := fixture(t, tempDir(t))
	dir := filepath.Join(tempDir(t), "clone")
	git(t, filepath.Dir(dir), "clone", "-q", "--depth=1", "--no-single-branch", "--branch", "trkr/7", "file://"+from, dir)
	git(t, dir, "remote", "set-head", "origin", "main")
	r := open(t, dir)
	_, err := r.Diff(t.Context(), resolve(t, r, Query{}))
	wantFault(t, err, codeHistory)
}
