package ticket

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/verdict"
)

const recordPath = ".trkr/tickets/7/validation.md"

// layouts are the shapes that a repository comes in. Each returns the folder to open and the worktree that has trkr/7
// checked out, empty for none.
var layouts = map[string]func(t *testing.T, dir string) (from, worktree string){
	"plain": func(t *testing.T, dir string) (string, string) {
		fixture(t, dir)
		return filepath.Join(dir, "src"), dir
	},
	"linked": func(t *testing.T, dir string) (string, string) {
		fixture(t, dir)
		git(t, dir, "checkout", "-q", "main")
		git(t, dir, "worktree", "add", "-q", dir+"-w", "trkr/7")
		return dir, dir + "-w"
	},
	"bare and linked": func(t *testing.T, dir string) (string, string) {
		fixture(t, dir)
		git(t, dir, "checkout", "-q", "main")
		git(t, dir, "clone", "-q", "--bare", ".", dir+"-bare.git")
		git(t, dir+"-bare.git", "worktree", "add", "-q", dir+"-w", "trkr/7")
		return dir + "-w", dir + "-w"
	},
	"bare": func(t *testing.T, dir string) (string, string) {
		fixture(t, dir)
		git(t, dir, "checkout", "-q", "main")
		git(t, dir, "clone", "-q", "--bare", ".", dir+"-bare.git")
		return dir + "-bare.git", ""
	},
	"nowhere checked out": func(t *testing.T, dir string) (string, string) {
		fixture(t, dir)
		git(t, dir, "checkout", "-q", "main")
		return dir, ""
	},
	"sha256": func(t *testing.T, dir string) (string, string) {
		return fixture(t, dir, "--object-format=sha256"), dir
	},
	"split index": func(t *testing.T, dir string) (string, string) {
		fixture(t, dir)
		git(t, dir, "update-index", "--split-index")
		return dir, dir
	},
	"split index by configuration": func(t *testing.T, dir string) (string, string) {
		fixture(t, dir)
		git(t, dir, "config", "core.splitIndex", "true")
		git(t, dir, "config", "splitIndex.maxPercentChange", "0")
		return dir, dir
	},
	"sparse, ticket inside": func(t *testing.T, dir string) (string, string) {
		fixture(t, dir)
		git(t, dir, "sparse-checkout", "set", "--cone", "src", ".trkr")
		return dir, dir
	},
	"sparse, ticket outside": func(t *testing.T, dir string) (string, string) {
		fixture(t, dir)
		git(t, dir, "sparse-checkout", "set", "--cone", "src")
		return dir, dir
	},
	"sparse index, ticket outside": func(t *testing.T, dir string) (string, string) {
		fixture(t, dir)
		git(t, dir, "sparse-checkout", "set", "--cone", "--sparse-index", "src")
		return dir, dir
	},
	"untracked cache, index version 4": func(t *testing.T, dir string) (string, string) {
		fixture(t, dir)
		git(t, dir, "update-index", "--untracked-cache")
		git(t, dir, "update-index", "--index-version", "4")
		return dir, dir
	},
	"twice checked out": func(t *testing.T, dir string) (string, string) {
		fixture(t, dir)
		git(t, dir, "worktree", "add", "-q", "--force", dir+"-w", "trkr/7")
		return dir, dir
	},
	"line ends and encodings": func(t *testing.T, dir string) (string, string) {
		fixture(t, dir)
		write(t, filepath.Join(dir, ".gitattributes"), "*.md text eol=crlf working-tree-encoding=UTF-16LE\n")
		git(t, dir, "add", ".gitattributes")
		git(t, dir, "commit", "-qm", "attributes")
		return dir, dir
	},
	"separate git dir": func(t *testing.T, dir string) (string, string) {
		return fixture(t, dir, "--separate-git-dir="+dir+"-git"), dir
	},
	"per-worktree configuration": func(t *testing.T, dir string) (string, string) {
		fixture(t, dir)
		git(t, dir, "config", "extensions.worktreeConfig", "true")
		return dir, dir
	},
}

func TestRecord(t *testing.T) {
	for layout, make := range layouts {
		t.Run(layout, func(t *testing.T) {
			t.Parallel()
			checkRecord(t, filepath.Join(tempDir(t), "a 'b' \"c\" $d caf\xe9 \n\\x"), make)
		})
	}
}

func checkRecord(t *testing.T, dir string, make func(*testing.T, string) (string, string)) {
	from, worktree := make(t, dir)
	ctx := context.Background()
	if worktree != "" {
		// What stands half done in the worktree must stay as it is.
		write(t, filepath.Join(worktree, "src/a.go"), "package staged\n")
		git(t, worktree, "add", "src/a.go")
		write(t, filepath.Join(worktree, "src/b.go"), "package dirty\n")
		write(t, filepath.Join(worktree, "src/new.go"), "package new\n")
		write(t, filepath.Join(worktree, "src/added.go"), "package added\n")
		if sparse, _ := tryGit(worktree, "config", "index.sparse"); sparse != "true" {
			// Git 2.39 itself damages a sparse index that holds such an entry as soon as it expands and collapses it.
			git(t, worktree, "add", "-N", "src/added.go")
		}
	}
	r := open(t, from)
	before := statuses(t, r)
	tk := resolve(t, r, Query{})
	if tk.Branch != "trkr/7" || tk.Commit != git(t, from, "rev-parse", "trkr/7") {
		t.Fatalf("resolved %+v", tk)
	}
	if worktree == "" && !tk.Temporary || worktree != "" && tk.Worktree != worktree {
		t.Errorf("worktree %q (temporary: %v), want %q", tk.Worktree, tk.Temporary, worktree)
	}
	for _, content := range []string{"# First\n\nline\n", "# Second: caf\u00e9\n"} {
		commit, err := r.Record(ctx, tk, []byte(content), "Record the validation of 7\n\nclear\n")
		if err != nil {
			t.Fatal(err)
		}
		if got := git(t, from, "rev-parse", "trkr/7"); got != commit {
			t.Errorf("trkr/7 is at %s, want %s", got, commit)
		}
		if got := git(t, from, "diff-tree", "-r", "--name-only", tk.Commit, commit); got != recordPath {
			t.Errorf("changed paths:\n%s\nwant only %s", got, recordPath)
		}
		if got := git(t, from, "log", "-1", "--format=%P|%an|%ae|%cn|%ce|%B", commit); strings.TrimSpace(got) !=
			tk.Commit+"|trkr-validate|trkr-validate@localhost|trkr-validate|trkr-validate@localhost|Record the validation of 7\n\nclear" {
			t.Errorf("the commit reads %q", got)
		}
		if got := git(t, from, "cat-file", "blob", commit+":"+recordPath); got+"\n" != content {
			t.Errorf("committed %q, want %q", got, content)
		}
		if got := git(t, from, "ls-tree", "--full-tree", commit, recordPath); !strings.HasPrefix(got, "100644 blob ") {
			t.Errorf("tree entry %q", got)
		}
		git(t, from, "fsck", "--strict", "--no-dangling")
		if diff := cmp.Diff(before, statuses(t, r)); diff != "" {
			t.Errorf("git status changed (-before +after):\n%s", diff)
		}
		again := resolve(t, r, Query{})
		if again.Tree != tk.Tree {
			t.Errorf("the tree without the record changed from %s to %s", tk.Tree, again.Tree)
		}
		if err := tk.Close(); err != nil {
			t.Error(err)
		}
		tk = again
	}
	if worktree != "" && exists(filepath.Join(worktree, ".trkr/tickets/7/contract.md")) {
		git(t, worktree, "add", "--renormalize", recordPath)
		if got := git(t, worktree, "diff", "--cached", "--name-only", "--", ".trkr"); got != "" {
			t.Errorf("the file does not read back as the committed one: %s", got)
		}
	} else if worktree != "" && exists(filepath.Join(worktree, ".trkr")) {
		t.Error("a sparse checkout was filled")
	}
	if err := tk.Close(); err != nil {
		t.Error(err)
	}
	nothingLeftIn(t, r)
}

// statuses is what git status says in every worktree, the files' contents included.
func statuses(t *testing.T, r *Repo) map[string]string {
	t.Helper()
	all, err := r.checkouts(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, w := range all {
		if w.bare || strings.Contains(w.path, temporaryPrefix) {
			continue
		}
		got[w.path] = git(t, w.path, "status", "--porcelain=v1", "-z", "--untracked-files=all") +
			git(t, w.path, "diff") + git(t, w.path, "diff", "--cached") +
			git(t, w.path, "ls-files", "-s", "-v", "--", "src", "docs", ".gitignore")
	}
	return got
}

func TestRecordIdentity(t *testing.T) {
	dir := fixture(t, filepath.Join(tempDir(t), "r"))
	git(t, dir, "config", "user.name", "Grace <x>\n")
	git(t, dir, "config", "user.email", "grace@example.org")
	git(t, dir, "config", "i18n.commitEncoding", "latin1")
	r := open(t, dir)
	commit, err := r.Record(context.Background(), resolve(t, r, Query{}), []byte("x\n"), "message")
	if err != nil {
		t.Fatal(err)
	}
	raw := git(t, dir, "cat-file", "commit", commit)
	if strings.Count(raw, "Grace x <grace@example.org>") != 2 || strings.Contains(raw, "encoding") {
		t.Errorf("the commit reads:\n%s", raw)
	}
}

func TestRecordFirstFileOfFolder(t *testing.T) {
	dir := fixture(t, filepath.Join(tempDir(t), "r"))
	r := open(t, dir)
	tk := resolve(t, r, Query{DirTemplate: "a/b/{issue}/c"})
	if want := git(t, dir, "rev-parse", "HEAD^{tree}"); tk.Tree != want {
		t.Errorf("tree %s, want the commit's %s", tk.Tree, want)
	}
	if _, err := r.Record(context.Background(), tk, []byte("x\n"), "m"); err != nil {
		t.Fatal(err)
	}
	if again := resolve(t, r, Query{DirTemplate: "a/b/{issue}/c"}); again.Tree != tk.Tree || again.Commit == tk.Commit {
		t.Errorf("with the record %s, without %s", again.Tree, tk.Tree)
	}
	if got := read(t, filepath.Join(dir, "a/b/7/c/validation.md")); got != "x\n" {
		t.Errorf("the worktree's file holds %q", got)
	}
}

func TestRecordOfRemoteBranch(t *testing.T) {
	base := tempDir(t)
	git(t, fixture(t, filepath.Join(base, "up")), "checkout", "-q", "main")
	git(t, base, "clone", "-q", "-b", "main", "up", "here")
	dir := filepath.Join(base, "here")
	r := open(t, dir)
	tk := resolve(t, r, Query{})
	if !tk.Temporary || tk.Branch != "trkr/7" {
		t.Fatalf("resolved %+v", tk)
	}
	commit, err := r.Record(context.Background(), tk, []byte("x\n"), "m")
	if err != nil {
		t.Fatal(err)
	}
	if got := git(t, dir, "rev-parse", "trkr/7", "trkr/7~", "origin/trkr/7"); got != commit+"\n"+tk.Commit+"\n"+tk.Commit {
		t.Errorf("branch, parent, remote's: %s", got)
	}
	if _, err := r.Record(context.Background(), tk, []byte("y\n"), "m"); fault.Of(err).Code != "branch_moved" {
		t.Errorf("a local branch that came up in between: %v", err)
	}
}

func TestRecordRefusals(t *testing.T) {
	dir := fixture(t, filepath.Join(tempDir(t), "r"))
	r := open(t, dir)
	tk := resolve(t, r, Query{Ref: "HEAD"})
	_, err := r.Record(context.Background(), tk, []byte("x\n"), "m")
	wantReasons(t, err, verdict.DetachedHead)
	_, err = r.Record(context.Background(), &Ticket{Issue: "7", Branch: "main", Commit: tk.Commit, Dir: tk.Dir, base: "main", repo: r}, []byte("x\n"), "m")
	wantReasons(t, err, verdict.DefaultBranch)
	if got := git(t, dir, "rev-parse", "trkr/7"); got != tk.Commit {
		t.Error("something was committed")
	}
}

func TestRecordBranchMoved(t *testing.T) {
	dir := fixture(t, filepath.Join(tempDir(t), "r"))
	r := open(t, dir)
	tk := resolve(t, r, Query{})
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "in between")
	want := git(t, dir, "rev-parse", "trkr/7")
	_, err := r.Record(context.Background(), tk, []byte("x\n"), "m")
	if f := fault.Of(err); f == nil || f.Code != "branch_moved" || f.Usage || len(f.Hints) == 0 {
		t.Fatalf("got %v", err)
	}
	if got := git(t, dir, "rev-parse", "trkr/7"); got != want {
		t.Errorf("trkr/7 is at %s, want %s", got, want)
	}
	if exists(filepath.Join(dir, recordPath)) {
		t.Error("the file was written")
	}
	git(t, dir, "branch", "-q", "-m", "gone")
	if _, err := r.Record(context.Background(), tk, []byte("x\n"), "m"); fault.Of(err).Code != "branch_moved" {
		t.Errorf("a branch that is gone: %v", err)
	}
	nothingLeftIn(t, r)
}

func TestRecordHeldLock(t *testing.T) {
	dir := fixture(t, filepath.Join(tempDir(t), "r"))
	r := open(t, dir)
	tk := resolve(t, r, Query{})
	lock := filepath.Join(dir, ".git/index.lock")
	write(t, lock, "")
	_, err := r.Record(context.Background(), tk, []byte("x\n"), "m")
	if f := fault.Of(err); f == nil || f.Code != "index_locked" || !strings.Contains(err.Error(), lock) {
		t.Fatalf("got %v", err)
	}
	if !exists(lock) {
		t.Error("somebody else's lock was removed")
	}
	if got := git(t, dir, "rev-parse", "trkr/7"); got != tk.Commit {
		t.Error("something was committed")
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Record(context.Background(), tk, []byte("x\n"), "m"); err != nil {
		t.Errorf("once the lock is gone: %v", err)
	}
}

// nothingLeftIn is nothingLeft for tests that run beside others: only the repository is looked at.
func nothingLeftIn(t testing.TB, r *Repo) {
	t.Helper()
	err := filepath.WalkDir(r.common, func(p string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(p, ".lock") || strings.Contains(filepath.Base(p), scratch) {
			t.Errorf("left behind: %s", p)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if list := git(t, r.common, "worktree", "list", "--porcelain"); strings.Contains(list, temporaryPrefix) {
		t.Errorf("still registered:\n%s", list)
	}
}
