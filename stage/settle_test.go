package stage_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/stage"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// hinted reports whether a hint holds some words.
func hinted(res stage.Result, words string) bool {
	return slices.ContainsFunc(res.Hints, func(h string) bool { return strings.Contains(h, words) })
}

// Somebody may work in the worktree while the build runs: nobody can tell his changes from the build's, so whatever is
// put back is kept.
func TestWorkDuringTheBuildIsKept(t *testing.T) {
	for name, want := range map[string]verdict.Outcome{"clear": verdict.Clear, "refused": verdict.Refused} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, scripted(allMet))
			k.commit(map[string]string{"docs/notes.txt": "first\n", "old": "1\n"})
			k.req.Config.Validate.Build += " && echo my edit >docs/notes.txt && rm old && ln -s /etc/passwd old"
			if want == verdict.Refused {
				k.req.Config.Validate.Build += " && exit 1"
			}
			res := k.run(want)
			for path, content := range map[string]string{"docs/notes.txt": "my edit\n", "old.link": "/etc/passwd"} {
				if data, err := os.ReadFile(filepath.Join(res.RunDir, "replaced", path)); err != nil || string(data) != content {
					t.Errorf("%s: %q, %v", path, data, err)
				}
			}
			if data, err := os.ReadFile(filepath.Join(k.dir, "docs/notes.txt")); err != nil || string(data) != "first\n" {
				t.Errorf("not put back: %q, %v", data, err)
			}
			if !hinted(res, filepath.Join(res.RunDir, "replaced")) {
				t.Errorf("nothing says where it is kept: %q", res.Hints)
			}
		})
	}
}

// A worktree that stands on another commit after the build is no longer the ticket's: nothing is put back there.
func TestWorktreeThatMovedDuringTheBuildIsLeftAlone(t *testing.T) {
	for name, move := range map[string]string{
		"another branch": "git checkout -q -b elsewhere && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x",
		"a commit":       "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x",
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, scripted(allMet))
			k.commit(map[string]string{"notes": "first\n"})
			k.req.Config.Validate.Build += " && " + move + " && echo my edit >notes"
			res := k.run(verdict.Error)
			if res.Failure.Code != "branch_moved" {
				t.Errorf("%+v", res.Failure)
			}
			if data, err := os.ReadFile(filepath.Join(k.dir, "notes")); err != nil || string(data) != "my edit\n" {
				t.Errorf("%q, %v", data, err)
			}
			if !hinted(res, "was not put back") {
				t.Errorf("%q", res.Hints)
			}
		})
	}
}
