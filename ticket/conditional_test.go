package ticket

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Configuration that is in force only in some place, and attributes that no commit holds: what is asked in one place
// says nothing of another.
func TestNothingRunsThatOnlySomePlacesConfigure(t *testing.T) {
	attributes := "* filter=somewhere diff=somewhere\n"
	for name, plant := range map[string]func(t *testing.T, dir, common, drivers string){
		"in linked worktrees": func(t *testing.T, dir, common, drivers string) {
			git(t, dir, "config", "includeIf.gitdir:**/worktrees/**.path", drivers)
		},
		"on the branch": func(t *testing.T, dir, common, drivers string) {
			git(t, dir, "config", "includeIf.onbranch:trkr/**.path", drivers)
		},
		"on main": func(t *testing.T, dir, common, drivers string) {
			git(t, dir, "config", "includeIf.onbranch:main.path", drivers)
		},
		"with a remote": func(t *testing.T, dir, common, drivers string) {
			git(t, dir, "config", "remote.x.url", "https://example.org/x")
			git(t, dir, "config", "includeIf.hasconfig:remote.*.url:https://example.org/**.path", drivers)
		},
		"in the worktree's own file": func(t *testing.T, dir, common, drivers string) {
			git(t, dir, "config", "extensions.worktreeConfig", "true")
			gitDir := git(t, dir, "rev-parse", "--absolute-git-dir")
			if err := os.Rename(drivers, filepath.Join(gitDir, "config.worktree")); err != nil {
				t.Fatal(err)
			}
		},
		"by a file of attributes": func(t *testing.T, dir, common, drivers string) {
			git(t, dir, "config", "include.path", drivers)
			write(t, filepath.Join(common, "attributes"), attributes)
			git(t, dir, "config", "core.attributesFile", filepath.Join(common, "attributes"))
			if err := os.Remove(filepath.Join(common, "info/attributes")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		for _, where := range []string{"main checkout", "linked worktree", "temporary"} {
			t.Run(name+", "+where, func(t *testing.T) {
				t.Parallel()
				base := tempDir(t)
				dir := fixture(t, filepath.Join(base, "r"))
				at := dir
				if where != "main checkout" {
					git(t, dir, "checkout", "-q", "main")
				}
				if where == "linked worktree" {
					at = filepath.Join(base, "w")
					git(t, dir, "worktree", "add", "-q", at, "trkr/7")
				}
				common := filepath.Join(dir, ".git")
				mark := filepath.Join(base, "ran")
				program := filepath.Join(base, "program")
				write(t, program, "#!/bin/sh\necho \"$0 $*\" >>'"+mark+"'\ncat\n")
				if err := os.Chmod(program, 0o755); err != nil {
					t.Fatal(err)
				}
				drivers := filepath.Join(common, "drivers")
				write(t, drivers, fmt.Sprintf("[filter \"somewhere\"]\n clean = %[1]q\n smudge = %[1]q\n required = true\n[diff \"somewhere\"]\n textconv = %[1]q\n command = %[1]q\n"+
					"[core]\n fsmonitor = %[1]q\n hooksPath = %[2]q\n[commit]\n gpgSign = true\n[gpg]\n program = %[1]q\n", program, filepath.Join(base, "hooks")))
				for _, hook := range []string{"post-checkout", "reference-transaction", "post-index-change"} {
					link(t, program, filepath.Join(mkdir(t, filepath.Join(base, "hooks")), hook))
				}
				write(t, filepath.Join(common, "info/attributes"), attributes)
				plant(t, at, common, drivers)

				ctx := context.Background()
				r := open(t, dir)
				tk := resolve(t, r, Query{})
				if got := read(t, filepath.Join(tk.Worktree, "src/a.go")); got != "package a\n" {
					t.Errorf("checked out %q", got)
				}
				write(t, filepath.Join(tk.Worktree, "src/a.go"), "package changed\n")
				if _, err := r.Changes(ctx, tk); err != nil {
					t.Error(err)
				}
				if _, err := r.Tracked(ctx, tk); err != nil {
					t.Error(err)
				}
				if err := r.Restore(ctx, tk, []string{"src/a.go"}); err != nil {
					t.Error(err)
				}
				if err := r.Unmoved(ctx, tk); err != nil {
					t.Error(err)
				}
				if _, err := r.Record(ctx, tk, []byte("x\n"), "m"); err != nil {
					t.Error(err)
				}
				if err := tk.Close(); err != nil {
					t.Error(err)
				}
				if exists(mark) {
					t.Errorf("ran: %s", read(t, mark))
				}
				nothingLeftIn(t, r)
			})
		}
	}
}

func mkdir(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
