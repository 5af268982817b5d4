package ticket

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/verdict"
)

// A record on a branch that is being rebased would keep the rebase from ever ending.
func TestBranchThatIsBeingRebasedIsRefused(t *testing.T) {
	for _, backend := range []string{"--merge", "--apply"} {
		t.Run(backend, func(t *testing.T) {
			dir := fixture(t, filepath.Join(tempDir(t), "a [repo]"))
			other := filepath.Join(filepath.Dir(dir), "other")
			write(t, filepath.Join(dir, "src/a.go"), "package ticket\n")
			git(t, dir, "commit", "-qam", "ours")
			git(t, dir, "checkout", "-q", "main")
			write(t, filepath.Join(dir, "src/a.go"), "package main\n")
			git(t, dir, "commit", "-qam", "theirs")
			git(t, dir, "worktree", "add", "-q", other, "trkr/7")
			if _, err := tryGit(other, "rebase", "-q", backend, "main"); err == nil {
				t.Fatal("the rebase met no conflict")
			}
			r := open(t, dir)
			_, err := r.Resolve(context.Background(), Query{Issue: "7"})
			if found := wantReasons(t, err, verdict.DirtyWorktree); !strings.Contains(found[0].Detail, other) {
				t.Errorf("%q does not say where", found[0].Detail)
			}
			resolve(t, r, Query{Ref: "trkr/7"})
			git(t, other, "rebase", "--abort")
			resolve(t, r, Query{})
		})
	}
}
