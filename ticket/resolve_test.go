package ticket

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/verdict"
)

func TestParseIssue(t *testing.T) {
	for arg, want := range map[string]string{
		"7": "7", "#7": "7", "ABC-12": "ABC-12", "a.b_c": "a.b_c", strings.Repeat("x", 64): strings.Repeat("x", 64),
		"": "", "#": "", "##7": "", "-7": "", ".7": "", "7/8": "", "7 8": "", "7\n": "", "a..b": "", "é": "", "7;ls": "",
		strings.Repeat("x", 65): "", "{issue}": "", "../7": "", "--help": "",
	} {
		got, err := ParseIssue(arg)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("ParseIssue(%q) = %q, %v", arg, got, err)
		}
		if err != nil && (!fault.Of(err).Usage || len(fault.Of(err).Hints) == 0) {
			t.Errorf("ParseIssue(%q): %v is no usage fault with a hint", arg, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	ctx := context.Background()
	dir := tempDir(t)
	file := filepath.Join(dir, "file")
	write(t, file, "x")
	for _, at := range []string{dir, filepath.Join(dir, "absent"), file} {
		_, err := Open(ctx, at)
		wantFault(t, err, "no_repository")
		if !fault.Of(err).Usage {
			t.Errorf("Open(%q): %v is no usage fault", at, err)
		}
	}
	t.Setenv("PATH", dir)
	_, err := Open(ctx, dir)
	wantFault(t, err, "git_missing")
	write(t, filepath.Join(dir, "git"), "#!/bin/sh\necho git version 2.30.9\n")
	if err := os.Chmod(filepath.Join(dir, "git"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = Open(ctx, dir)
	wantFault(t, err, "git_too_old")
}

func TestRoot(t *testing.T) {
	base := tempDir(t)
	dir := fixture(t, filepath.Join(base, "r"))
	git(t, dir, "worktree", "add", "-q", "../w", "main")
	git(t, base, "clone", "-q", "--bare", "r", "bare.git")
	git(t, filepath.Join(base, "bare.git"), "worktree", "add", "-q", "../bw", "main")
	git(t, base, "clone", "-q", "--separate-git-dir=sep.git", "r", "sep")
	git(t, filepath.Join(base, "sep"), "worktree", "add", "-q", "--detach", "../sepw")
	git(t, base, "init", "-q", "super")
	git(t, filepath.Join(base, "super"), "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../r", "sub")
	link(t, "r", filepath.Join(base, "alias"))
	for from, want := range map[string]string{
		"r": "r", "r/src": "r", "r/.git": "r", "w": "r", "w/src": "r", "alias/src": "r",
		"bare.git": "bare.git", "bare.git/refs": "bare.git", "bw": "bw", "bw/src": "bw",
		"sep": "sep", "super/sub": "super/sub", "super/sub/src": "super/sub", "super": "super",
	} {
		if got := open(t, filepath.Join(base, from)).Root(); got != filepath.Join(base, want) {
			t.Errorf("root from %s is %s, want %s", from, got, want)
		}
	}
	// The main worktree is claimed to be somewhere else.
	if err := os.Mkdir(filepath.Join(base, "victim"), 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "config", "core.worktree", filepath.Join(base, "victim"))
	if got := open(t, filepath.Join(base, "w")).Root(); got != filepath.Join(base, "w") {
		t.Errorf("root of a repository that claims another folder is %s", got)
	}
}

func TestResolveBranch(t *testing.T) {
	base := tempDir(t)
	up := fixture(t, filepath.Join(base, "up"))
	git(t, up, "branch", "-q", "trkr/9-on-remote")
	git(t, up, "branch", "-q", "trkr/11-a")
	git(t, up, "branch", "-q", "trkr/11-b")
	git(t, up, "checkout", "-q", "main")
	git(t, base, "clone", "-q", "up", "here")
	dir := filepath.Join(base, "here")
	git(t, dir, "remote", "add", "second", "../up")
	git(t, dir, "fetch", "-q", "second")
	git(t, dir, "branch", "-q", "--no-track", "trkr/8-slug", "origin/trkr/7")
	git(t, dir, "branch", "-q", "trkr/9", "main")
	git(t, dir, "branch", "-q", "trkr/12-a", "main")
	git(t, dir, "branch", "-q", "trkr/12-b", "main")
	git(t, dir, "branch", "-q", "fix/13/late", "main")
	git(t, dir, "branch", "-q", "fix-7", "main")
	git(t, dir, "symbolic-ref", "refs/heads/trkr/14", "refs/heads/main")
	git(t, dir, "symbolic-ref", "refs/heads/trkr/15", "refs/heads/fix-7")
	r := open(t, dir)
	ctx := context.Background()

	for name, c := range map[string]struct {
		q      Query
		branch string
	}{
		"a remote's":                    {Query{Issue: "7"}, "trkr/7"},
		"with a slug":                   {Query{Issue: "8"}, "trkr/8-slug"},
		"exact here before slug there":  {Query{Issue: "9"}, "trkr/9"},
		"by name":                       {Query{Issue: "7", Branch: "fix-7"}, "fix-7"},
		"by full name":                  {Query{Issue: "7", Branch: "refs/heads/fix-7"}, "fix-7"},
		"by name, only there":           {Query{Issue: "1", Branch: "trkr/9-on-remote"}, "trkr/9-on-remote"},
		"another template":              {Query{Issue: "13", BranchTemplate: "fix/{issue}/late"}, "fix/13/late"},
		"main where it is not the base": {Query{Issue: "7", Branch: "main", Base: "fix-7"}, "main"},
		"base written with its remote":  {Query{Issue: "7", Branch: "fix-7", Base: "origin/main"}, "fix-7"},
	} {
		tk := resolve(t, r, c.q)
		if tk.Branch != c.branch || !strings.HasSuffix(tk.Dir, c.q.Issue) || tk.Commit == "" || tk.Worktree == "" {
			t.Errorf("%s: resolved %+v", name, tk)
		}
	}
	for name, c := range map[string]struct {
		q      Query
		reason verdict.Reason
		names  []string
	}{
		"two here":             {Query{Issue: "12"}, verdict.BranchAmbiguous, []string{"trkr/12-a", "trkr/12-b"}},
		"two there":            {Query{Issue: "11"}, verdict.BranchAmbiguous, []string{"origin/trkr/11-a", "origin/trkr/11-b"}},
		"none":                 {Query{Issue: "13"}, verdict.TicketNotFound, []string{`"trkr/13"`, `"trkr/13-*"`, "fix/13/late"}},
		"no such name":         {Query{Issue: "7", Branch: "nope"}, verdict.TicketNotFound, []string{`"nope"`, "fix-7", "trkr/7"}},
		"a pattern":            {Query{Issue: "7", Branch: "trkr/*"}, verdict.TicketNotFound, nil},
		"the default":          {Query{Issue: "7", Branch: "main"}, verdict.DefaultBranch, []string{"main"}},
		"the given default":    {Query{Issue: "7", Branch: "fix-7", Base: "fix-7"}, verdict.DefaultBranch, []string{"fix-7"}},
		"a name for main":      {Query{Issue: "14"}, verdict.DefaultBranch, []string{"trkr/14"}},
		"a name for another":   {Query{Issue: "15"}, verdict.BranchAmbiguous, []string{"trkr/15", "fix-7"}},
		"no such commit":       {Query{Issue: "7", Ref: "nope"}, verdict.TicketNotFound, []string{"nope"}},
		"an option as commit":  {Query{Issue: "7", Ref: "--git-dir"}, verdict.TicketNotFound, []string{"--git-dir"}},
		"a tree, not a commit": {Query{Issue: "7", Ref: "main:src"}, verdict.TicketNotFound, []string{"main:src"}},
	} {
		_, err := r.Resolve(ctx, c.q)
		for _, refusal := range wantReasons(t, err, c.reason) {
			for _, want := range c.names {
				if !strings.Contains(refusal.Detail, want) {
					t.Errorf("%s: %q does not name %s", name, refusal.Detail, want)
				}
			}
			if len(refusal.Hints) == 0 {
				t.Errorf("%s: no hint", name)
			}
		}
	}
	for _, dirTemplate := range []string{"../x", "/abs", ".", "a/../..", ".git/x", "x/.GIT", "x\ny"} {
		if _, err := r.Resolve(ctx, Query{Issue: "7", DirTemplate: dirTemplate}); err == nil || fault.Of(err).Code != "ticket_dir_invalid" {
			t.Errorf("folder %q: %v", dirTemplate, err)
		}
	}
}

func TestDefaultBranch(t *testing.T) {
	local := func(names ...string) (all []ref) {
		for _, n := range names {
			all = append(all, ref{full: heads + n, short: n})
		}
		return all
	}
	head := ref{full: remotes + "origin/HEAD", short: "HEAD", remote: "origin", symbol: remotes + "origin/trunk/x"}
	there := func(remote, short string) ref {
		return ref{full: remotes + remote + "/" + short, short: short, remote: remote, commit: "c"}
	}
	standing := ref{full: heads + "trunk", short: "trunk", head: true}
	for name, c := range map[string]struct {
		refs  []ref
		base  string
		bare  bool
		want  string
		fails bool
	}{
		"given":                                 {refs: local("main"), base: "develop", want: "develop"},
		"given in full":                         {refs: local("main"), base: "refs/heads/develop", want: "develop"},
		"given as a remote's":                   {refs: []ref{there("origin", "main")}, base: "origin/main", want: "main"},
		"given as a remote's, in full":          {refs: []ref{there("origin", "main")}, base: "refs/remotes/origin/main", want: "main"},
		"given, and there is one so called":     {refs: append(local("origin/main"), there("origin", "main")), base: "origin/main", fails: true},
		"origin's":                              {refs: append(local("main", "master"), head), want: "trunk/x"},
		"main and master":                       {refs: local("master", "main"), fails: true},
		"main here, master there":               {refs: append(local("main"), there("origin", "master")), fails: true},
		"both there":                            {refs: []ref{there("origin", "main"), there("origin", "master")}, fails: true},
		"main there, where anybody may push it": {refs: []ref{there("origin", "trunk"), there("origin", "main")}, fails: true},
		"here and there":                        {refs: append(local("main"), there("origin", "main"), there("fork", "main")), want: "main"},
		"master":                                {refs: local("master", "x"), want: "master"},
		"none":                                  {refs: local("x"), want: ""},
		"what a bare one's HEAD names":          {refs: append(local("main"), standing), bare: true, want: "trunk"},
		"what a checkout stands on":             {refs: append(local("main"), standing), want: "main"},
	} {
		if got, err := defaultBranch(c.refs, c.base, c.bare); got != c.want || (err != nil) != c.fails {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
}

func TestResolveWorktree(t *testing.T) {
	base := tempDir(t)
	dir := fixture(t, filepath.Join(base, "r"))
	git(t, dir, "worktree", "add", "-q", "--detach", "../detached")
	git(t, dir, "worktree", "add", "-q", "-b", "other", "../o t'her")
	git(t, dir, "worktree", "add", "-q", "../main", "main")
	fixture(t, filepath.Join(base, "stranger"))
	git(t, base, "init", "-q", "empty")
	r := open(t, dir)
	ctx := context.Background()

	if tk := resolve(t, r, Query{Worktree: filepath.Join(base, "o t'her/src")}); tk.Branch != "other" || tk.Worktree != filepath.Join(base, "o t'her") || tk.Temporary {
		t.Errorf("resolved %+v", tk)
	}
	if tk := resolve(t, r, Query{Worktree: dir, Branch: "trkr/7"}); tk.Worktree != dir {
		t.Errorf("resolved %+v", tk)
	}
	head := git(t, dir, "rev-parse", "HEAD")
	if tk := resolve(t, r, Query{Worktree: filepath.Join(base, "detached"), Ref: "HEAD"}); tk.Branch != "" || tk.Commit != head || tk.Temporary {
		t.Errorf("resolved %+v", tk)
	}
	if tk := resolve(t, r, Query{Ref: head[:10]}); tk.Branch != "" || tk.Worktree != dir || tk.Temporary {
		t.Errorf("resolved %+v", tk)
	}
	tk := resolve(t, r, Query{Ref: "HEAD~"})
	if tk.Branch != "" || !tk.Temporary || git(t, tk.Worktree, "rev-parse", "HEAD") != git(t, dir, "rev-parse", "HEAD~") {
		t.Errorf("resolved %+v", tk)
	}
	if got := git(t, tk.Worktree, "status", "--porcelain"); got != "" || read(t, filepath.Join(tk.Worktree, "src/a.go")) != "package a\n" {
		t.Errorf("the temporary worktree holds %q", got)
	}
	for name, c := range map[string]struct {
		q    Query
		want []verdict.Reason
	}{
		"detached":                    {Query{Worktree: filepath.Join(base, "detached")}, []verdict.Reason{verdict.DetachedHead}},
		"detached and no such branch": {Query{Worktree: filepath.Join(base, "detached"), Branch: "no"}, []verdict.Reason{verdict.DetachedHead, verdict.TicketNotFound}},
		"detached and the default":    {Query{Worktree: filepath.Join(base, "detached"), Branch: "main"}, []verdict.Reason{verdict.DetachedHead, verdict.DefaultBranch}},
		"the default branch's":        {Query{Worktree: filepath.Join(base, "main")}, []verdict.Reason{verdict.DefaultBranch}},
	} {
		c.q.Issue = "7"
		_, err := r.Resolve(ctx, c.q)
		t.Log(name)
		wantReasons(t, err, c.want...)
	}
	for name, c := range map[string]struct {
		q    Query
		code string
	}{
		"another repository":    {Query{Worktree: filepath.Join(base, "stranger")}, "worktree_invalid"},
		"no repository":         {Query{Worktree: base}, "worktree_invalid"},
		"absent":                {Query{Worktree: filepath.Join(base, "absent")}, "worktree_invalid"},
		"the git directory":     {Query{Worktree: filepath.Join(dir, ".git")}, "worktree_invalid"},
		"another branch's":      {Query{Worktree: filepath.Join(base, "o t'her"), Branch: "trkr/7"}, "worktree_mismatch"},
		"another issue's":       {Query{Issue: "8", Worktree: dir}, "worktree_mismatch"},
		"at another commit":     {Query{Worktree: dir, Ref: "HEAD~"}, "worktree_mismatch"},
		"a branch and a commit": {Query{Branch: "trkr/7", Ref: "HEAD"}, "usage"},
	} {
		c.q.Issue = cmp.Or(c.q.Issue, "7")
		_, err := r.Resolve(ctx, c.q)
		t.Log(name)
		wantFault(t, err, c.code)
		if !fault.Of(err).Usage {
			t.Errorf("%v is no usage fault", err)
		}
	}
	_, err := open(t, filepath.Join(base, "empty")).Resolve(ctx, Query{Issue: "7"})
	wantReasons(t, err, verdict.TicketNotFound)
}

// A worktree whose folder is gone is none.
func TestResolveVanishedWorktree(t *testing.T) {
	base := tempDir(t)
	dir := fixture(t, filepath.Join(base, "r"))
	git(t, dir, "checkout", "-q", "main")
	git(t, dir, "worktree", "add", "-q", "../w", "trkr/7")
	if err := os.RemoveAll(filepath.Join(base, "w")); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	tk := resolve(t, r, Query{})
	if !tk.Temporary {
		t.Fatalf("resolved %+v", tk)
	}
	if _, err := r.Record(context.Background(), tk, []byte("x\n"), "m"); err != nil {
		t.Error(err)
	}
	if list := git(t, dir, "worktree", "list"); !strings.Contains(list, filepath.Join(base, "w")) {
		t.Error("somebody else's registration was pruned")
	}
}

func TestFile(t *testing.T) {
	dir := fixture(t, filepath.Join(tempDir(t), "r"))
	link(t, "a.go", filepath.Join(dir, "src/link"))
	write(t, filepath.Join(dir, "src/*?[x]:(top)"), "odd\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "more")
	r := open(t, filepath.Join(dir, "docs"))
	ctx, head := context.Background(), git(t, dir, "rev-parse", "HEAD")
	for name, want := range map[string]string{"src/a.go": "package a\n", "src/*?[x]:(top)": "odd\n"} {
		if got, err := r.File(ctx, head, name); err != nil || string(got) != want {
			t.Errorf("File(%q) = %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"src/no", "a.go", "src/a*", "src/a.go/x", ".git/config"} {
		if _, err := r.File(ctx, head, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("File(%q): %v", name, err)
		}
	}
	for _, name := range []string{"src/link", "src", "../x", "/etc/passwd", "", ".", "src/"} {
		if _, err := r.File(ctx, head, name); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("File(%q): %v", name, err)
		}
	}
}
