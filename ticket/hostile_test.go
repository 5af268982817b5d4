package ticket

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// arm makes everything that a repository can name as a program leave a mark, and returns the marks' folder.
func arm(t *testing.T, dir string) string {
	t.Helper()
	marks := filepath.Join(tempDir(t), "marks")
	if err := os.Mkdir(marks, 0o777); err != nil {
		t.Fatal(err)
	}
	program := func(name string) string {
		file := filepath.Join(filepath.Dir(marks), "programs", name)
		write(t, file, "#!/bin/sh\ntouch '"+filepath.Join(marks, name)+"'\ncat 2>/dev/null\n")
		if err := os.Chmod(file, 0o755); err != nil {
			t.Fatal(err)
		}
		return file
	}
	common := git(t, dir, "rev-parse", "--path-format=absolute", "--git-common-dir")
	for _, hook := range []string{"post-checkout", "post-index-change", "reference-transaction", "pre-commit", "post-commit",
		"commit-msg", "prepare-commit-msg", "pre-auto-gc", "post-rewrite", "pre-push", "update", "fsmonitor-watchman"} {
		file := program("hook-" + hook)
		if err := os.MkdirAll(filepath.Join(common, "hooks"), 0o755); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(filepath.Join(common, "hooks", hook))
		if err := os.Symlink(file, filepath.Join(common, "hooks", hook)); err != nil {
			t.Fatal(err)
		}
	}
	var config strings.Builder
	for _, name := range []string{"evil", "e=v.i l", "proc"} {
		fmt.Fprintf(&config, "[filter %q]\n required = true\n", name)
		if name == "proc" {
			fmt.Fprintf(&config, " process = %q\n", program("process"))
			continue
		}
		fmt.Fprintf(&config, " clean = %q\n smudge = %q\n", program("clean"), program("smudge"))
	}
	fmt.Fprintf(&config, "[diff \"evil\"]\n command = %q\n textconv = %[1]q\n[merge \"evil\"]\n driver = %[1]q\n", program("diff"))
	fmt.Fprintf(&config, "[hook \"evil\"]\n command = %q\n event = reference-transaction\n event = post-checkout\n event = post-index-change\n", program("configured-hook"))
	fmt.Fprintf(&config, "[core]\n fsmonitor = %q\n editor = %q\n pager = %[2]q\n sshCommand = %[2]q\n askPass = %[2]q\n alternateRefsCommand = %[2]q\n", program("fsmonitor"), program("other"))
	fmt.Fprintf(&config, "[commit]\n gpgSign = true\n[tag]\n gpgSign = true\n[gpg]\n program = %q\n[credential]\n helper = %[1]q\n[diff]\n external = %[1]q\n[interactive]\n diffFilter = %[1]q\n", program("gpg"))
	fmt.Fprintf(&config, "[pager]\n status = %q\n ls-tree = %[1]q\n[alias]\n status = !%[1]s\n ls-tree = !%[1]s\n", program("alias"))
	fmt.Fprintf(&config, "[user]\n signingKey = x\n[submodule]\n recurse = true\n[trace2]\n eventTarget = %q\n", filepath.Join(marks, "trace"))
	// Through an include, as somebody would who doesn't want it to be seen.
	write(t, filepath.Join(common, "more"), config.String())
	f, err := os.OpenFile(filepath.Join(common, "config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(f, "[include]\n path = more\n")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return marks
}

func marked(t *testing.T, marks string) string {
	t.Helper()
	found, err := os.ReadDir(marks)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range found {
		names = append(names, f.Name())
	}
	return strings.Join(names, " ")
}

// hostileFixture has attributes that send every file through a filter. touched files have to be read by a git that
// wants to know whether they changed.
func hostileFixture(t *testing.T, dir string) {
	fixture(t, dir)
	write(t, filepath.Join(dir, ".gitattributes"), "* filter=evil diff=evil merge=evil\n*.md filter=e=v.i\n*.go filter=proc\n")
	git(t, dir, "add", ".gitattributes")
	git(t, dir, "commit", "-qm", "attributes")
}

func touchAll(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"src/a.go", "src/b.go", "docs/x/y.txt", ".gitignore", ".trkr/tickets/7/contract.md"} {
		if err := os.Chtimes(filepath.Join(dir, name), time.Now(), time.Now().Add(time.Hour)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}

func TestNothingOfTheRepositoryRuns(t *testing.T) {
	for _, where := range []string{"in the branch's worktree", "in a temporary one"} {
		t.Run(where, func(t *testing.T) {
			dir := filepath.Join(tempDir(t), "r")
			hostileFixture(t, dir)
			if where == "in a temporary one" {
				git(t, dir, "checkout", "-q", "main")
			}
			marks := arm(t, dir)
			ctx := context.Background()
			r := open(t, dir)
			tk := resolve(t, r, Query{})
			if !tk.Temporary {
				touchAll(t, dir)
			}
			if changed, err := r.Changes(ctx, tk); err != nil || len(changed) > 0 {
				t.Errorf("changes %q, %v", changed, err)
			}
			if tracked, err := r.Tracked(ctx, tk); err != nil || !tracked("src/a.go") {
				t.Errorf("tracked: %v", err)
			}
			if _, err := r.Contract(ctx, tk, nil); err != nil {
				t.Error(err)
			}
			write(t, filepath.Join(tk.Worktree, "src/a.go"), "changed by the build\n")
			if changed, err := r.Changes(ctx, tk); err != nil || !slices.Equal(changed, []string{"src/a.go"}) {
				t.Errorf("changes of the build %q, %v", changed, err)
			}
			if err := r.Restore(ctx, tk, []string{"src/a.go", "not-in-the-commit"}); err != nil {
				t.Error(err)
			}
			if err := r.Unmoved(ctx, tk); err != nil {
				t.Error(err)
			}
			if _, err := r.Record(ctx, tk, []byte("x\n"), "m"); err != nil {
				t.Error(err)
			}
			now := tk
			if !tk.Temporary {
				now = resolve(t, r, Query{}) // the worktree went on with the branch
			}
			if changed, err := r.Changes(ctx, now); err != nil || len(changed) > 0 {
				t.Errorf("changes after the record %q, %v", changed, err)
			}
			if err := tk.Close(); err != nil {
				t.Error(err)
			}
			if _, err := r.Sweep(ctx); err != nil {
				t.Error(err)
			}
			if ran := marked(t, marks); ran != "" {
				t.Errorf("ran: %s", ran)
			}
			nothingLeftIn(t, r)
			// The trap is one: plain git walks into it.
			write(t, filepath.Join(dir, ".gitattributes"), "* filter=evil\n*.go filter=proc\n")
			for _, args := range [][]string{
				{"status"}, {"update-ref", "refs/heads/x", "HEAD"}, {"commit-tree", "-S", "-m", "x", "HEAD^{tree}"},
				{"hash-object", "src/a.go"}, {"hash-object", "docs/x/y.txt"}, {"cat-file", "--filters", "HEAD:docs/x/y.txt"},
			} {
				_, _ = tryGit(dir, args...)
			}
			ran := marked(t, marks)
			for _, want := range []string{"fsmonitor", "hook-reference-transaction", "clean", "smudge", "process", "gpg"} {
				if !strings.Contains(ran, want) {
					t.Errorf("the trap does not snap: only %q ran, not %s", ran, want)
				}
			}
		})
	}
}

func TestHostileSubmodule(t *testing.T) {
	base := tempDir(t)
	dir := fixture(t, filepath.Join(base, "r"))
	sub := fixture(t, filepath.Join(dir, "sub"))
	write(t, filepath.Join(sub, ".gitattributes"), "* filter=evil\n")
	git(t, sub, "add", "-A")
	git(t, sub, "commit", "-qm", "attributes")
	git(t, dir, "add", "sub")
	git(t, dir, "commit", "-qm", "submodule")
	marks := arm(t, sub)
	touchAll(t, sub)
	ctx := context.Background()
	r := open(t, dir)
	tk := resolve(t, r, Query{})
	if changed, err := r.Changes(ctx, tk); err != nil || len(changed) > 0 {
		t.Errorf("changes %q, %v", changed, err)
	}
	write(t, filepath.Join(sub, "src/a.go"), "package changed\n")
	write(t, filepath.Join(sub, "new.go"), "package x\n")
	if changed, err := r.Changes(ctx, tk); err != nil || strings.Join(changed, " ") != "sub/new.go sub/src/a.go" {
		t.Errorf("changes %q, %v", changed, err)
	}
	tracked, err := r.Tracked(ctx, tk)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"sub": true, "sub/src/a.go": true, "sub/new.go": false, "src/a.go": true, "src": false, "./src//b.go": true} {
		if tracked(name) != want {
			t.Errorf("tracked(%q) is %v", name, !want)
		}
	}
	if ran := marked(t, marks); ran != "" {
		t.Errorf("ran: %s", ran)
	}
	// One that cannot be looked at is a change, and the outer repository is not taken for it.
	write(t, filepath.Join(sub, ".git/HEAD"), "nonsense\n")
	if changed, err := r.Changes(ctx, tk); err != nil || !slices.Contains(changed, "sub") {
		t.Errorf("changes with a broken submodule %q, %v", changed, err)
	}
}

func TestPlantedLinks(t *testing.T) {
	ctx := context.Background()
	outside := filepath.Join(tempDir(t), "outside")
	for name, plant := range map[string]func(t *testing.T, dir string) (blocked bool){
		"the file leads outside": func(t *testing.T, dir string) bool {
			link(t, filepath.Join(outside, "victim"), filepath.Join(dir, recordPath))
			return false
		},
		"the file leads into the source": func(t *testing.T, dir string) bool {
			link(t, "../../../src/a.go", filepath.Join(dir, recordPath))
			return false
		},
		"the name written first leads outside": func(t *testing.T, dir string) bool {
			link(t, filepath.Join(outside, "victim"), filepath.Join(dir, filepath.Dir(recordPath), asideName))
			return false
		},
		".trkr leads outside": func(t *testing.T, dir string) bool {
			move(t, filepath.Join(dir, ".trkr"), filepath.Join(dir, "build"))
			link(t, outside, filepath.Join(dir, ".trkr"))
			return true
		},
		".trkr leads to another folder": func(t *testing.T, dir string) bool {
			move(t, filepath.Join(dir, ".trkr"), filepath.Join(dir, "build"))
			link(t, "build", filepath.Join(dir, ".trkr"))
			return true
		},
		"the ticket's folder leads to the source": func(t *testing.T, dir string) bool {
			move(t, filepath.Join(dir, ".trkr/tickets/7"), filepath.Join(dir, "build"))
			link(t, "../../src", filepath.Join(dir, ".trkr/tickets/7"))
			return true
		},
		"a folder in the file's place": func(t *testing.T, dir string) bool {
			write(t, filepath.Join(dir, recordPath, "x"), "x")
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := fixture(t, filepath.Join(tempDir(t), "r"))
			write(t, filepath.Join(outside, "victim"), "untouched\n")
			write(t, filepath.Join(outside, "tickets/7/validation.md"), "untouched\n")
			r := open(t, dir)
			tk := resolve(t, r, Query{})
			blocked := plant(t, dir)
			commit, err := r.Record(ctx, tk, []byte("x\n"), "m")
			if blocked {
				wantFault(t, err, "worktree_blocked")
				if got := git(t, dir, "rev-parse", "trkr/7"); got != tk.Commit {
					t.Error("something was committed")
				}
			} else if err != nil {
				t.Error(err)
			} else if got := read(t, filepath.Join(dir, recordPath)); got != "x\n" || !strings.HasPrefix(git(t, dir, "ls-tree", commit, recordPath), modeFile) {
				t.Errorf("the file holds %q", got)
			}
			for _, file := range []string{filepath.Join(outside, "victim"), filepath.Join(outside, "tickets/7/validation.md")} {
				if got := read(t, file); got != "untouched\n" {
					t.Errorf("%s holds %q", file, got)
				}
			}
			if got := read(t, filepath.Join(dir, "src/a.go")); got != "package a\n" || exists(filepath.Join(dir, "src/validation.md")) {
				t.Errorf("the source was written to: %q", got)
			}
			nothingLeftIn(t, r)
		})
	}
}

// Links that are committed: the contract is not read through one, and the record does not replace one that stands for
// the ticket's folder.
func TestCommittedLinks(t *testing.T) {
	ctx := context.Background()
	dir := fixture(t, filepath.Join(tempDir(t), "r"))
	write(t, filepath.Join(dir, "notes.txt"), contractText)
	if err := os.Remove(filepath.Join(dir, ".trkr/tickets/7/contract.md")); err != nil {
		t.Fatal(err)
	}
	link(t, "../../../notes.txt", filepath.Join(dir, ".trkr/tickets/7/contract.md"))
	link(t, "/etc/passwd", filepath.Join(dir, recordPath))
	link(t, "src", filepath.Join(dir, "linked"))
	git(t, dir, "add", "-fA", ".")
	git(t, dir, "commit", "-qm", "links")
	r := open(t, dir)
	tk := resolve(t, r, Query{})
	_, err := r.Contract(ctx, tk, nil)
	wantReasons(t, err, "contract_invalid")
	commit, err := r.Record(ctx, tk, []byte("x\n"), "m")
	if err != nil || !strings.HasPrefix(git(t, dir, "ls-tree", commit, recordPath), modeFile) {
		t.Errorf("recording over a committed link: %v", err)
	}
	tk = resolve(t, r, Query{DirTemplate: "linked/{issue}"})
	_, err = r.Record(ctx, tk, []byte("x\n"), "m")
	wantFault(t, err, "worktree_blocked")
	if got := git(t, dir, "rev-parse", "trkr/7"); got != commit {
		t.Error("something was committed")
	}
}

// Flags and times that hide a change from git status.
func TestHiddenChanges(t *testing.T) {
	dir := fixture(t, filepath.Join(tempDir(t), "r"))
	git(t, dir, "update-index", "--split-index")
	git(t, dir, "update-index", "--assume-unchanged", "src/a.go")
	git(t, dir, "update-index", "--skip-worktree", "src/b.go")
	git(t, dir, "config", "core.trustctime", "false")
	git(t, dir, "config", "core.checkStat", "minimal")
	index := read(t, filepath.Join(dir, ".git/index"))
	ctx := context.Background()
	r := open(t, dir)
	tk := resolve(t, r, Query{})
	if changed, err := r.Changes(ctx, tk); err != nil || len(changed) > 0 {
		t.Errorf("unchanged: %q, %v", changed, err)
	}
	info, err := os.Stat(filepath.Join(dir, "docs/x/y.txt"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "src/a.go"), "package evil\n")
	write(t, filepath.Join(dir, "src/b.go"), "package evil\n")
	write(t, filepath.Join(dir, "docs/x/y.txt"), "evil\n")
	if err := os.Chtimes(filepath.Join(dir, "docs/x/y.txt"), info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if changed, err := r.Changes(ctx, tk); err != nil || strings.Join(changed, " ") != "docs/x/y.txt src/a.go src/b.go" {
		t.Errorf("changes %q, %v", changed, err)
	}
	if read(t, filepath.Join(dir, ".git/index")) != index {
		t.Error("looking wrote the index")
	}
	nothingLeftIn(t, r)
}

// An environment that means another repository, as inside a hook of one.
func TestInheritedEnvironment(t *testing.T) {
	base := tempDir(t)
	dir, other := fixture(t, filepath.Join(base, "r")), fixture(t, filepath.Join(base, "other"))
	before := git(t, other, "rev-parse", "trkr/7")
	want := git(t, dir, "rev-parse", "trkr/7")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "replacement")
	replacement := git(t, dir, "rev-parse", "HEAD")
	git(t, dir, "reset", "-q", "--hard", want)
	git(t, dir, "replace", want, replacement)
	for name, value := range map[string]string{
		"GIT_DIR": filepath.Join(other, ".git"), "GIT_WORK_TREE": other, "GIT_INDEX_FILE": filepath.Join(other, ".git/index"),
		"GIT_COMMON_DIR": filepath.Join(other, ".git"), "GIT_OBJECT_DIRECTORY": filepath.Join(other, ".git/objects"), "GIT_NAMESPACE": "x",
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.bare", "GIT_CONFIG_VALUE_0": "true", "GIT_CONFIG_PARAMETERS": "'core.bare'='true'",
		"GIT_CEILING_DIRECTORIES": dir, "GIT_TRACE": filepath.Join(base, "trace"), "GIT_EXEC_PATH": base, "GIT_EXTERNAL_DIFF": "false",
		"GIT_AUTHOR_NAME": "Mallory", "GIT_AUTHOR_DATE": "2001-01-01T00:00:00Z", "GIT_PREFIX": "src/", "GIT_DEFAULT_HASH": "sha256",
	} {
		t.Setenv(name, value)
	}
	r, err := Open(context.Background(), filepath.Join(dir, "src"))
	if err != nil {
		t.Fatal(err)
	}
	if r.Root() != dir {
		t.Errorf("root %q, want %q", r.Root(), dir)
	}
	tk, err := r.Resolve(context.Background(), Query{Issue: "7"})
	if err != nil {
		t.Fatal(err)
	}
	commit, err := r.Record(context.Background(), tk, []byte("x\n"), "m")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "GIT_") {
			os.Unsetenv(name) // t.Setenv puts back what was
		}
	}
	if got := git(t, other, "rev-parse", "trkr/7"); got != before {
		t.Error("the other repository was changed")
	}
	if got := git(t, dir, "--no-replace-objects", "log", "-1", "--format=%P %an", "trkr/7"); got != want+" trkr-validate" {
		t.Errorf("recorded %s", got)
	}
	if got := git(t, dir, "--no-replace-objects", "diff-tree", "-r", "--name-only", want, commit); got != recordPath {
		t.Errorf("changed %q", got)
	}
	if exists(filepath.Join(base, "trace")) {
		t.Error("a trace was written")
	}
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// A worktree whose .git file was made to lead elsewhere: to another repository, or to another worktree's index.
func TestRedirectedWorktree(t *testing.T) {
	base := tempDir(t)
	dir := fixture(t, filepath.Join(base, "r"))
	git(t, dir, "checkout", "-q", "main")
	git(t, dir, "worktree", "add", "-q", "../w", "trkr/7")
	git(t, dir, "worktree", "add", "-q", "-b", "other", "../o", "trkr/7")
	fixture(t, filepath.Join(base, "stranger"))
	r := open(t, dir)
	tk := resolve(t, r, Query{})
	for _, target := range []string{filepath.Join(base, "stranger/.git"), filepath.Join(dir, ".git/worktrees/o"), filepath.Join(dir, ".git")} {
		write(t, filepath.Join(base, "w/.git"), "gitdir: "+target+"\n")
		_, err := r.Record(context.Background(), tk, []byte("x\n"), "m")
		wantFault(t, err, "worktree_invalid")
		_, err = r.Changes(context.Background(), tk)
		wantFault(t, err, "worktree_invalid")
	}
	if got := git(t, dir, "rev-parse", "trkr/7"); got != tk.Commit {
		t.Error("something was committed")
	}
	if got := git(t, filepath.Join(base, "o"), "status", "--porcelain"); got != "" {
		t.Errorf("the other worktree's status %q", got)
	}
	nothingLeftIn(t, r)
}
