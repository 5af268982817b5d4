package artifact

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A worktree below this one is somebody else's: its files are neither moved aside nor taken; a submodule's are, and
// those of a folder that is named outright.
func TestOtherWorktreesAreLeftAlone(t *testing.T) {
	root := tree(t, "dist/tool", ".worktrees/other/.git", ".worktrees/other/dist/tool", "sub/.git", "sub/dist/tool")
	o := options(t, root, "**/tool")
	o.Tracked = func(p string) bool { return p == "sub" }
	a, err := SetAside(t.Context(), o)
	must(t, err)
	if want := []string{"dist/tool", "sub/dist/tool"}; !slices.Equal(a.Paths(), want) {
		t.Errorf("moved %q", a.Paths())
	}
	if _, err := os.Lstat(filepath.Join(root, ".worktrees/other/dist/tool")); err != nil {
		t.Error(err)
	}
	must(t, a.Restore())
	for glob, want := range map[string][]string{
		"**/tool":                 {"dist/", "dist/tool", "sub/", "sub/dist/", "sub/dist/tool"},
		".worktrees/other/dist/*": {".worktrees/", ".worktrees/other/", ".worktrees/other/dist/", ".worktrees/other/dist/tool"},
	} {
		t.Run(glob, func(t *testing.T) {
			o.Globs = []string{glob}
			if got := paths(sealed(t, o)); !slices.Equal(got, want) {
				t.Errorf("%q", got)
			}
		})
	}
}
