package ticket

import (
	"context"
	"path/filepath"
	"testing"
)

// clones are ways in which a repository can lack objects of its own. The commit's trees and blobs are there as far as
// the branch is checked out.
var clones = map[string][]string{
	"blobless":          {"--filter=blob:none"},
	"treeless":          {"--filter=tree:0"},
	"shared":            {"--shared"},
	"shallow":           {"--depth=1"},
	"blobless, sparse":  {"--filter=blob:none", "--sparse"},
	"treeless, shallow": {"--filter=tree:0", "--depth=1"},
	"with a reference":  {"--reference", "up"},
}

// cloned makes a clone of a fixture, and then the first repository unreachable, so that nothing can be fetched unseen.
func cloned(t *testing.T, dir, branch string, args ...string) string {
	t.Helper()
	base := filepath.Dir(dir)
	up := fixture(t, filepath.Join(base, "up"))
	git(t, up, "checkout", "-q", "main") // the clone's default branch
	git(t, up, "config", "uploadpack.allowFilter", "true")
	git(t, up, "config", "uploadpack.allowAnySHA1InWant", "true")
	from := "file://" + up
	if args[0] == "--shared" {
		from = up
	}
	git(t, base, append(append([]string{"clone", "-q", "--no-single-branch", "-b", branch}, args...), from, dir)...)
	if args[len(args)-1] == "--sparse" {
		git(t, dir, "sparse-checkout", "set", "src")
	}
	git(t, dir, "remote", "set-url", "origin", "file:///nowhere")
	return dir
}

func TestRecordInClones(t *testing.T) {
	for name, args := range clones {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkRecord(t, filepath.Join(tempDir(t), "here"), func(t *testing.T, dir string) (string, string) {
				cloned(t, dir, "trkr/7", args...)
				return dir, dir
			})
		})
	}
}

// What is not here is not fetched, and not taken for what is not in the commit.
func TestMissingObjectsAreNamed(t *testing.T) {
	for _, name := range []string{"blobless", "treeless"} {
		t.Run(name, func(t *testing.T) {
			dir := cloned(t, filepath.Join(tempDir(t), "here"), "main", clones[name]...)
			r := open(t, dir)
			_, err := r.Resolve(context.Background(), Query{Issue: "7"})
			wantFault(t, err, "objects_missing")
			_, err = r.File(context.Background(), "origin/trkr/7", ".trkr/tickets/7/contract.md")
			wantFault(t, err, "objects_missing")
			nothingLeftIn(t, r)
		})
	}
}
