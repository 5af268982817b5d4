package ticket

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// lookGit finds git on PATH, but for folders of the repository that dir is in: package managers and shells put some
// there (node_modules/.bin), and what lies in them is the ticket's work or the build's.
func lookGit(dir string) (string, error) {
	own := roots(dir)
	hint := "install git 2.31 or newer, or put it on PATH"
	for _, folder := range filepath.SplitList(os.Getenv("PATH")) {
		if !filepath.IsAbs(folder) { // the current folder may be the repository
			continue
		}
		git, err := exec.LookPath(filepath.Join(folder, "git"))
		if err != nil {
			continue
		}
		real, err := filepath.EvalSymlinks(folder)
		if err == nil && !slices.ContainsFunc(own, func(root string) bool { return within(real, root) }) {
			return git, nil
		}
		hint = "put git on PATH from a folder outside of the repository: " + git + " is not run"
	}
	return "", fault.Env("git_missing", errors.New("looking for git: there is none on PATH"), hint)
}

func within(name, root string) bool {
	rel, err := filepath.Rel(root, name)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// roots are the roots of the worktrees of the repository that dir is in, as far as its files tell without git.
func roots(dir string) []string {
	at, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil
	}
	for ; ; at = filepath.Dir(at) {
		if at == filepath.Dir(at) { // all programs lie below this one
			return nil
		}
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			break
		}
	}
	all, common := []string{at}, filepath.Join(at, ".git")
	if gitDir, err := readPointer(common, "gitdir: "); err == nil {
		common = gitDir
		if shared, err := readPointer(filepath.Join(gitDir, "commondir"), ""); err == nil {
			common = shared
		}
	}
	if filepath.Base(common) == ".git" {
		all = append(all, filepath.Dir(common))
	}
	linked, err := filepath.Glob(filepath.Join(globQuote(common), "worktrees/*/gitdir"))
	if err != nil {
		return all
	}
	for _, name := range linked {
		if file, err := readPointer(name, ""); err == nil {
			all = append(all, filepath.Dir(file))
		}
	}
	return all
}
