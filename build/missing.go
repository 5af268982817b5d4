package build

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/trkr-dev/trkr-validate/verdict"
)

// kinds are the files by which a project is known, the one that decides first.
var kinds = []string{"go.mod", "package.json", "pyproject.toml", "Cargo.toml", "GNUmakefile", "makefile", "Makefile"}

// Kind is the file in dir that tells how its project is built, such as go.mod; empty where none does. It is looked at
// and never opened: the file may be anything.
func Kind(dir string) string {
	i := slices.IndexFunc(kinds, func(file string) bool {
		info, err := os.Lstat(filepath.Join(dir, file))
		return err == nil && info.Mode().IsRegular()
	})
	if i < 0 {
		return ""
	}
	return kinds[i]
}

// Missing refuses a build without a command and tells how to get one for what it sees in the worktree.
func Missing(dir string) error {
	r := &verdict.Refusal{Reason: verdict.BuildMissing, Detail: "validate.build is empty: nothing says how the artifact is made"}
	if kind := Kind(dir); kind != "" {
		r.Hints = []string{"there is a " + kind + ": trkr-validate init writes a configuration for it, or shows what to add to the one that is there"}
	} else {
		r.Hints = []string{`write "build": "the command that makes it", "artifacts": ["what it makes"] under "validate" in .trkr/config.json`}
	}
	return r
}
