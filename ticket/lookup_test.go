package ticket

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// A git that lies in a worktree of the repository is the ticket's work, or the build's.
func TestGitOfTheRepositoryIsNotRun(t *testing.T) {
	base := tempDir(t)
	dir, linked := fixture(t, filepath.Join(base, "r")), filepath.Join(base, "linked")
	git(t, dir, "worktree", "add", "-q", "--detach", linked, "main")
	ran := filepath.Join(base, "ran")
	for _, bin := range []string{filepath.Join(dir, "node_modules/.bin"), filepath.Join(linked, "bin")} {
		write(t, filepath.Join(bin, "git"), "#!/bin/sh\n: >"+ran+"\n")
		if err := os.Chmod(filepath.Join(bin, "git"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link(t, filepath.Join(dir, "node_modules/.bin"), filepath.Join(base, "short"))
	path := os.Getenv("PATH")
	for _, first := range []string{dir + "/node_modules/.bin", linked + "/bin", base + "/short", "node_modules/.bin", "."} {
		for _, from := range []string{dir, linked, filepath.Join(dir, "src")} {
			t.Setenv("PATH", first+":"+path)
			t.Chdir(from)
			if _, err := Open(context.Background(), from); err != nil {
				t.Errorf("%s first, in %s: %v", first, from, err)
			}
		}
	}
	t.Setenv("PATH", dir+"/node_modules/.bin")
	_, err := Open(context.Background(), dir)
	wantFault(t, err, "git_missing")
	if _, err := os.Lstat(ran); err == nil {
		t.Error("a git of the repository ran")
	}
}
