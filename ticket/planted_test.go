package ticket

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// What a repository says instead of its objects: whoever wrote it there wants another commit, contract or history to be
// seen than the branch holds.
func TestPlantedHistoryIsNotBelieved(t *testing.T) {
	for name, plant := range map[string]func(t *testing.T, dir, head string){
		"grafts": func(t *testing.T, dir, head string) {
			write(t, filepath.Join(dir, ".git/info/grafts"), head+"\n") // no parents
		},
		"a replaced commit": func(t *testing.T, dir, head string) {
			git(t, dir, "replace", head, git(t, dir, "commit-tree", "-m", "other", "main^{tree}"))
		},
		"a replaced tree": func(t *testing.T, dir, head string) {
			git(t, dir, "replace", head+"^{tree}", "main^{tree}")
		},
		"a replaced contract": func(t *testing.T, dir, head string) {
			write(t, filepath.Join(dir, "soft"), "VAL-1: `true` succeeds\n")
			git(t, dir, "replace", head+":.trkr/tickets/7/contract.md", git(t, dir, "hash-object", "-w", "soft"))
			if err := os.Remove(filepath.Join(dir, "soft")); err != nil {
				t.Fatal(err)
			}
		},
		"replacements under another name": func(t *testing.T, dir, head string) {
			other := git(t, dir, "commit-tree", "-m", "other", "main^{tree}")
			git(t, dir, "update-ref", "refs/odd/"+head, other)
			git(t, dir, "config", "core.useReplaceRefs", "true")
		},
		"a spoilt commit graph": func(t *testing.T, dir, head string) {
			git(t, dir, "config", "core.commitGraph", "true")
			write(t, filepath.Join(dir, ".git/objects/info/commit-graph"), "CGPH\x01\x01\x00\x00nonsense")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := fixture(t, filepath.Join(tempDir(t), "r"))
			head := git(t, dir, "rev-parse", "trkr/7")
			tree := git(t, dir, "rev-parse", "trkr/7^{tree}")
			plant(t, dir, head)
			ctx := context.Background()
			r := open(t, dir)
			tk := resolve(t, r, Query{})
			if tk.Commit != head || tk.Tree != tree {
				t.Errorf("resolved commit %s and tree %s, want %s and %s", tk.Commit, tk.Tree, head, tree)
			}
			text, err := r.Contract(ctx, tk, nil)
			if err != nil || string(text.Contract.Format()) != contractText {
				t.Errorf("the contract reads %q, %v", text.Contract.Format(), err)
			}
			if changed, err := r.Changes(ctx, tk); err != nil || len(changed) > 0 {
				t.Errorf("changes %q, %v", changed, err)
			}
			commit, err := r.Record(ctx, tk, []byte("x\n"), "m")
			if err != nil {
				t.Fatal(err)
			}
			for _, lie := range []string{".git/info/grafts", ".git/objects/info/commit-graph"} {
				_ = os.Remove(filepath.Join(dir, lie))
			}
			if got := git(t, dir, "--no-replace-objects", "rev-parse", commit+"^@"); got != head {
				t.Errorf("the record's parent is %q, want %s", got, head)
			}
			if got := git(t, dir, "--no-replace-objects", "diff-tree", "-r", "--name-only", head, commit); got != recordPath {
				t.Errorf("changed paths %q", got)
			}
		})
	}
}

func TestSigningThatIsBrokenDoesNotBlockTheRecord(t *testing.T) {
	for name, settings := range map[string][][2]string{
		"no such program": {{"gpg.program", "/nowhere/gpg"}},
		"no key":          {{"gpg.program", "false"}, {"user.signingKey", "none"}},
		"ssh":             {{"gpg.format", "ssh"}, {"gpg.ssh.program", "/nowhere"}, {"user.signingKey", "/nowhere.pub"}},
	} {
		dir := fixture(t, filepath.Join(tempDir(t), "r"))
		for _, s := range append(settings, [2]string{"commit.gpgSign", "true"}) {
			git(t, dir, "config", s[0], s[1])
		}
		if _, err := tryGit(dir, "commit", "-q", "--allow-empty", "-m", "x"); err == nil {
			t.Errorf("%s: signing is not broken", name)
		}
		r := open(t, dir)
		if _, err := r.Record(context.Background(), resolve(t, r, Query{}), []byte("x\n"), "m"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What stands at validation.md and is no link is the last verdict or a lie about it: it makes way, whatever it is.
func TestPlantedFilesMakeWay(t *testing.T) {
	for name, plant := range map[string]func(t *testing.T, file string){
		"committed": func(t *testing.T, file string) {
			write(t, file, "# clear\n")
			git(t, filepath.Dir(file), "add", "-f", file)
			git(t, filepath.Dir(file), "commit", "-qm", "a verdict of my own")
		},
		"staged": func(t *testing.T, file string) {
			write(t, file, "# clear\n")
			git(t, filepath.Dir(file), "add", "-f", file)
		},
		"ignored": func(t *testing.T, file string) { write(t, file, "# clear\n") },
		"without rights": func(t *testing.T, file string) {
			write(t, file, "# clear\n")
			if err := os.Chmod(file, 0); err != nil {
				t.Fatal(err)
			}
		},
		"a hard link to the source": func(t *testing.T, file string) {
			if err := os.Link(filepath.Join(filepath.Dir(file), "../../../src/a.go"), file); err != nil {
				t.Fatal(err)
			}
		},
		"meant to be added later": func(t *testing.T, file string) {
			write(t, file, "# clear\n")
			git(t, filepath.Dir(file), "add", "-fN", file)
		},
		"assumed to be unchanged": func(t *testing.T, file string) {
			write(t, file, "# clear\n")
			git(t, filepath.Dir(file), "add", "-f", file)
			git(t, filepath.Dir(file), "commit", "-qm", "x")
			git(t, filepath.Dir(file), "update-index", "--assume-unchanged", file)
		},
		"skipped": func(t *testing.T, file string) {
			write(t, file, "# clear\n")
			git(t, filepath.Dir(file), "add", "-f", file)
			git(t, filepath.Dir(file), "commit", "-qm", "x")
			git(t, filepath.Dir(file), "update-index", "--skip-worktree", file)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := fixture(t, filepath.Join(tempDir(t), "r"))
			file := filepath.Join(dir, recordPath)
			plant(t, file)
			r := open(t, dir)
			tk := resolve(t, r, Query{})
			commit, err := r.Record(context.Background(), tk, []byte("# blocking\n"), "m")
			if err != nil {
				t.Fatal(err)
			}
			if got := git(t, dir, "cat-file", "blob", commit+":"+recordPath); got != "# blocking" || read(t, file) != "# blocking\n" {
				t.Errorf("committed %q, there stands %q", got, read(t, file))
			}
			if got := git(t, dir, "status", "--porcelain", "--ignored"); got != "" {
				t.Errorf("status %q", got)
			}
			if got := read(t, filepath.Join(dir, "src/a.go")); got != "package a\n" {
				t.Errorf("the source holds %q", got)
			}
			if got := git(t, dir, "diff-tree", "-r", "--name-only", tk.Commit, commit); got != recordPath {
				t.Errorf("changed paths %q", got)
			}
			nothingLeftIn(t, r)
		})
	}
}
