package stage_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/sandbox/sandboxtest"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// messy leaves half done work of every kind in the worktree and returns what must still be there after a run.
func messy(k *kit) func() string {
	k.commit(map[string]string{"staged": "1", "changed": "1", "gone": "1", "lock": "1"})
	k.write(map[string]string{"staged": "2", "changed": "2", "new": "2", "tool": "#!/bin/sh\necho dirty\n"})
	k.git("add", "staged")
	k.git("rm", "-q", "gone")
	return func() string {
		all := k.git("status", "--porcelain", "--untracked-files=all") + k.git("diff", "--", ":!lock") + k.git("diff", "--cached")
		data, err := os.ReadFile(filepath.Join(k.dir, "new"))
		return all + string(data) + errText(err)
	}
}

func errText(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

func TestDirtyWorktreeIsRefusedWithBothWaysOut(t *testing.T) {
	k := newKit(t, scripted(allMet))
	kept := messy(k)
	before := kept()
	res := k.run(verdict.Refused)
	if got := reasons(res); !slices.Equal(got, []verdict.Reason{verdict.DirtyWorktree}) {
		t.Fatalf("reasons %v", got)
	}
	for _, want := range []string{`"changed", "gone", "new", "staged", "tool"`} {
		if !strings.Contains(res.Refusals[0].Detail, want) {
			t.Errorf("%q does not name %s", res.Refusals[0].Detail, want)
		}
	}
	for _, want := range []string{"--clean", "--allow-dirty"} {
		if !slices.ContainsFunc(res.Refusals[0].Hints, func(h string) bool { return strings.HasPrefix(h, want+" ") }) {
			t.Errorf("no hint names %s: %q", want, res.Refusals[0].Hints)
		}
	}
	if got := kept(); got != before {
		t.Errorf("the worktree changed from\n%s\nto\n%s", before, got)
	}
}

// What is judged is what stands there, the record says so, nothing is committed, and the build's own changes are put
// back without touching what was somebody's work before.
func TestAllowDirtyJudgesTheWorktreeAndKeepsIt(t *testing.T) {
	k := newKit(t, scripted(allMet))
	kept := messy(k)
	before, head := kept(), k.git("rev-parse", "trkr/7")
	k.req.AllowDirty = true
	k.req.Config.Validate.Build += " && echo built >lock && grep -q dirty dist/tool"
	res := k.run(verdict.Clear)
	if !res.Record.Subject.Dirty || res.Recorded != nil || k.git("rev-parse", "trkr/7") != head {
		t.Errorf("dirty %v, recorded %+v", res.Record.Subject.Dirty, res.Recorded)
	}
	if got := kept(); got != before {
		t.Errorf("the worktree changed from\n%s\nto\n%s", before, got)
	}
	if data, err := os.ReadFile(filepath.Join(k.dir, "lock")); err != nil || string(data) != "1" {
		t.Errorf("what the build changed was not put back: %q, %v", data, err)
	}
}

func TestAllowDirtyOfCleanWorktreeIsNotDirtyAndCommitsNothing(t *testing.T) {
	k := newKit(t, scripted(allMet))
	k.req.AllowDirty = true
	if res := k.run(verdict.Clear); res.Record.Subject.Dirty || res.Recorded != nil {
		t.Errorf("dirty %v, recorded %+v", res.Record.Subject.Dirty, res.Recorded)
	}
}

// The commit is built elsewhere; its verdict is recorded on the branch, and the dirty worktree only gets that file.
func TestCleanBuildsTheCommitBesideADirtyWorktree(t *testing.T) {
	k := newKit(t, scripted(allMet))
	kept := messy(k)
	before := kept()
	k.req.Clean = true
	k.req.Config.Validate.Build += " && test ! -e new && test -e gone && ! grep -q dirty dist/tool"
	res := k.run(verdict.Clear)
	if res.Record.Subject.Dirty || res.Recorded == nil || k.git("rev-parse", "trkr/7") != res.Recorded.Commit {
		t.Errorf("dirty %v, recorded %+v", res.Record.Subject.Dirty, res.Recorded)
	}
	if got := kept(); got != before {
		t.Errorf("the worktree changed from\n%s\nto\n%s", before, got)
	}
	if got := k.git("worktree", "list", "--porcelain"); strings.Count(got, "worktree ") != 1 {
		t.Errorf("left registered:\n%s", got)
	}
}

// What runs in the box can neither change the worktree nor git's registration of it: the box is shown nothing but the
// sealed inputs, and no folder that holds the worktree can be mounted.
func TestTheWorktreeIsNeverMounted(t *testing.T) {
	for _, clean := range []bool{false, true} {
		k := newKit(t, scripted(allMet))
		k.req.Clean = clean
		k.run(verdict.Clear)
		specs := k.req.Engine.(*sandboxtest.Fake).Specs()
		if len(specs) != 1 || specs[0].Input != filepath.Join(k.dir, ".trkr/validate/7") || len(specs[0].Mounts) != 0 {
			t.Fatalf("started %+v", specs)
		}
		if !slices.Contains(specs[0].Hidden, k.dir) || clean && len(specs[0].Hidden) < 2 {
			t.Errorf("what must not be mounted: %q", specs[0].Hidden)
		}
	}
}
