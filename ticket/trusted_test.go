package ticket

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// Work of the ticket's own is what its branch has and the default branch has not, wherever it is checked out.
func TestHoldsWorkOfTheTicket(t *testing.T) {
	s := newStory(t)
	s.contract(contractText)
	s.code("x")
	s.on("main", "main", func() { s.code("m") })
	s.on("merged", "main", func() { s.merge("trkr/7") })
	s.on("on-top", "trkr/7", func() { s.code("y") })
	s.on("beside", "trkr/7~1", func() { s.code("z") })
	s.on("picked", "main", func() { s.git("cherry-pick", "trkr/7") })
	s.on("other", "main", func() { s.code("o") })
	s.git("checkout", "-q", "--orphan", "stranger")
	s.commit()
	s.git("checkout", "-q", "trkr/7")
	r := open(t, s.dir)
	ctx := context.Background()
	holds := func(q Query, rev string) bool {
		t.Helper()
		tk, err := r.Locate(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Holds(ctx, tk, s.git("rev-parse", rev))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for rev, want := range map[string]bool{
		"trkr/7": true, "trkr/7~1": true, "merged": true, "on-top": true, "beside": true,
		"main": false, "main~1": false, "other": false, "picked": false, "stranger": false,
	} {
		if got := holds(Query{Issue: "7"}, rev); got != want {
			t.Errorf("%s: %v", rev, got)
		}
		if got := holds(Query{Issue: "7", Ref: "trkr/7"}, rev); got != want {
			t.Errorf("%s, by the commit: %v", rev, got)
		}
	}
	// Without a default branch only the ticket's commit itself tells.
	for rev, want := range map[string]bool{"trkr/7": true, "merged": true, "on-top": true, "main": false, "other": false} {
		if got := holds(Query{Issue: "7", Base: "nowhere"}, rev); got != want {
			t.Errorf("%s without a default branch: %v", rev, got)
		}
	}
	// In a history that is cut nothing is known but what is the default branch's.
	write(t, filepath.Join(s.dir, ".git/shallow"), s.git("rev-parse", "trkr/7")+"\n")
	for rev, want := range map[string]bool{"other": true, "main": false} {
		if got := holds(Query{Issue: "7"}, rev); got != want {
			t.Errorf("%s of a shallow clone: %v", rev, got)
		}
	}
}

func TestFork(t *testing.T) {
	s := newStory(t)
	left := s.git("rev-parse", "main")
	s.code("x")
	s.on("main", "main", func() { s.code("m") })
	s.on("develop", "main", func() { s.code("d") })
	s.on("late", "develop", func() { s.code("l") })
	s.git("checkout", "-q", "--orphan", "stranger")
	s.commit()
	r := open(t, s.dir)
	for _, c := range []struct{ at, base, want string }{
		{"trkr/7", "", left},
		{"main", "", s.git("rev-parse", "main")},
		{"main~1", "", left},
		{"late", "", s.git("rev-parse", "main")},
		{"late", "develop", s.git("rev-parse", "develop")},
		{"stranger", "", ""},
		{"trkr/7", "nowhere", ""},
		{"", "develop", s.git("rev-parse", "develop")},
	} {
		commit := ""
		if c.at != "" {
			commit = s.git("rev-parse", c.at)
		}
		if got, err := r.Fork(context.Background(), commit, Query{Base: c.base}); err != nil || got != c.want {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
	// A local default branch that is behind does not make the ticket's history longer.
	s.git("update-ref", "refs/remotes/origin/main", "main")
	s.git("remote", "add", "origin", s.dir)
	s.git("branch", "-qf", "main", left)
	if got, err := open(t, s.dir).Fork(context.Background(), s.git("rev-parse", "late"), Query{}); err != nil || got != s.git("rev-parse", "origin/main") {
		t.Errorf("%q, %v", got, err)
	}
}

func TestCheckout(t *testing.T) {
	s := newStory(t)
	ctx := context.Background()
	base := filepath.Dir(s.dir)
	head := s.git("rev-parse", "HEAD")
	s.git("worktree", "add", "-q", "--detach", "../d t'ree")
	git(t, base, "clone", "-q", "--bare", "r", "bare.git")
	git(t, base, "init", "-q", "-b", "main", "empty")
	for from, want := range map[string]Checkout{
		"r/src":    {Root: s.dir, Commit: head, Branch: "trkr/7"},
		"d t'ree":  {Root: filepath.Join(base, "d t'ree"), Commit: head},
		"bare.git": {},
		"empty":    {Root: filepath.Join(base, "empty"), Branch: "main"},
	} {
		if got, err := open(t, filepath.Join(base, from)).Checkout(ctx); err != nil || got != want {
			t.Errorf("%s: %+v, %v", from, got, err)
		}
	}
	// Led astray, git takes another folder for the worktree. That is not one which nobody's branch stands in.
	s.git("config", "extensions.worktreeConfig", "true")
	git(t, filepath.Join(base, "d t'ree"), "config", "--worktree", "core.worktree", base)
	_, err := open(t, filepath.Join(base, "d t'ree")).Checkout(ctx)
	wantFault(t, err, "worktree_unlisted")
}

func TestInside(t *testing.T) {
	s := newStory(t)
	base := filepath.Dir(s.dir)
	write(t, filepath.Join(base, "out.json"), "{}")
	link(t, "src/a.go", filepath.Join(s.dir, "in.json"))
	link(t, "../out.json", filepath.Join(s.dir, "away.json"))
	link(t, "r", filepath.Join(base, "alias"))
	r := open(t, s.dir)
	for name, want := range map[string]string{
		"r/src/a.go": "src/a.go", "r/src/../nothing": "nothing", "alias/src/nothing": "src/nothing", "r/in.json": "src/a.go",
		"out.json": "", "r/away.json": "", "r/nowhere/x": "", "r/../out.json": "",
	} {
		if got, ok := r.Inside(filepath.Join(base, "r", "..") + string(os.PathSeparator) + name); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
	}
}

func TestCommitByRevision(t *testing.T) {
	s := newStory(t)
	r := open(t, s.dir)
	ctx := context.Background()
	for _, rev := range []string{"HEAD", "trkr/7", s.git("rev-parse", "--short", "HEAD")} {
		if got, err := r.Commit(ctx, rev); err != nil || got != s.git("rev-parse", "HEAD") {
			t.Errorf("%s: %q, %v", rev, got, err)
		}
	}
	for _, rev := range []string{"nowhere", "main:src", "--git-dir", ""} {
		_, err := r.Commit(ctx, rev)
		wantFault(t, err, "no_commit")
		if !fault.Of(err).Usage {
			t.Errorf("%q: %v is no usage fault", rev, err)
		}
	}
}

// What git tracks below a folder of the main worktree, wherever the program was called.
func TestTrackedBelow(t *testing.T) {
	ctx := context.Background()
	base := tempDir(t)
	dir := fixture(t, filepath.Join(base, "r"))
	write(t, filepath.Join(dir, ".trkr/runs/a\nb/record.json"), "{}")
	write(t, filepath.Join(dir, ".trkr/runs/mine/record.json"), "{}")
	git(t, dir, "add", "-f", ".trkr/runs/a\nb")
	git(t, dir, "worktree", "add", "-q", "--detach", filepath.Join(base, "linked"), "main")
	git(t, base, "clone", "-q", "--bare", dir, "bare")
	for at, want := range map[string]string{"r": ".trkr/runs/a\nb/record.json", "linked": ".trkr/runs/a\nb/record.json", "bare": ""} {
		got, err := open(t, filepath.Join(base, at)).TrackedBelow(ctx, ".trkr/runs")
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v", at, got, err)
		}
	}
}
