package ticket

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
)

// BenchmarkChanges looks for changes in a clean worktree of 20,000 small files.
func BenchmarkChanges(b *testing.B) {
	dir := fixture(b, filepath.Join(tempDir(b), "r"))
	var in bytes.Buffer
	fmt.Fprintf(&in, "commit refs/heads/trkr/7\ncommitter A <a@b> 0 +0000\ndata 1\nx\nfrom refs/heads/trkr/7^0\n")
	for i := range 20_000 {
		fmt.Fprintf(&in, "M 100644 inline pkg%d/dir%d/file%d.go\ndata 2048\n%02048d\n", i/5000, i/100%50, i, i)
	}
	load := exec.Command("git", "fast-import", "--quiet", "--done")
	load.Dir, load.Stdin = dir, bytes.NewReader(append(in.Bytes(), "done\n"...))
	if out, err := load.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	git(b, dir, "reset", "-q", "--hard")
	r := open(b, dir)
	tk := resolve(b, r, Query{})
	for b.Loop() {
		if changed, err := r.Changes(context.Background(), tk); err != nil || len(changed) > 0 {
			b.Fatal(changed, err)
		}
	}
}
