package ticket

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Another git may be registering a worktree while ours looks at all of them.
func TestWorktreeThatIsBeingRegisteredIsWaitedFor(t *testing.T) {
	dir := fixture(t, filepath.Join(tempDir(t), "repo"))
	other := filepath.Join(filepath.Dir(dir), "other")
	git(t, dir, "worktree", "add", "-q", "--detach", other)
	file := filepath.Join(dir, ".git/worktrees/other/commondir")
	content := read(t, file)
	if err := os.Truncate(file, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := tryGit(dir, "worktree", "add", "-q", "--detach", other+"-2"); err == nil {
		t.Fatal("git does not mind: the test shows nothing")
	}
	r := open(t, dir)
	go func() {
		time.Sleep(50 * time.Millisecond)
		_ = os.WriteFile(file, []byte(content), 0o644)
	}()
	if tk := resolve(t, r, Query{Clean: true}); !tk.Temporary {
		t.Errorf("%+v", tk)
	}
}
