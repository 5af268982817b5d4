package ticket

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// Git waits at a pipe that stands where it reads a file of its own, until its time is up, and reads a device without an
// end. A build may put one there.

// readByGit are the files of a git directory that any command may read.
var readByGit = []string{
	"HEAD", "commondir", "config", "config.worktree", "gitdir", "index", "packed-refs", "shallow",
	"info/attributes", "info/exclude", "info/grafts", "info/sparse-checkout",
}

// noPipes makes sure that git would meet none of them among the files of a git directory.
func noPipes(gitDir string) error {
	for _, name := range readByGit {
		if err := noPipe(filepath.Join(gitDir, name)); err != nil {
			return err
		}
	}
	return nil
}

// noPipesFor makes sure that git would meet none of them in a worktree on its way to the files, whose paths are relative.
func noPipesFor(workTree string, files ...string) error {
	seen := map[string]bool{}
	for _, file := range files {
		for dir := path.Dir(file); !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			for _, name := range []string{".gitattributes", ignoreName, ".gitmodules"} {
				if err := noPipe(filepath.Join(workTree, dir, name)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func noPipe(name string) error {
	info, err := os.Stat(name)
	if err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeDevice) == 0 {
		return nil
	}
	return fault.Envf("git_file_odd", []string{"remove it: rm " + shellQuote(name), "a build may have put it there"},
		"%q is a pipe or a device, and git would read it", name)
}
