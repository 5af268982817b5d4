package ticket

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/trkr-dev/trkr-validate/verdict"
)

// notRebased refuses a branch that is being rebased somewhere: git has its commits in hand, and will not put them on a
// branch that got a record meanwhile.
func (r *Repo) notRebased(branch string) error {
	dirs := []string{r.common}
	linked, _ := os.ReadDir(filepath.Join(r.common, "worktrees")) // none is none
	for _, d := range linked {
		dirs = append(dirs, filepath.Join(r.common, "worktrees", d.Name()))
	}
	for _, dir := range dirs {
		for _, kind := range []string{"rebase-merge", "rebase-apply"} {
			name, err := readLine(filepath.Join(dir, kind, "head-name"))
			if err != nil || name != heads+branch {
				continue
			}
			return &verdict.Refusal{Reason: verdict.DirtyWorktree,
				Detail: fmt.Sprintf("%q is being rebased in %q", branch, r.registered(dir)),
				Hints:  []string{"finish it there (git rebase --continue) or give it up (git rebase --abort)", "--ref " + branch + " judges the commit from before and commits nothing"}}
		}
	}
	return nil
}
