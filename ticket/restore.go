package ticket

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// CodeMoved is the code of faults that say that a branch or worktree no longer stands where it did.
const CodeMoved = "branch_moved"

// Unmoved checks that the ticket's worktree still stands on the ticket's commit. Otherwise it is an environment error
// with the code branch_moved: somebody, or the build, committed meanwhile, and what lies there is something else.
func (r *Repo) Unmoved(ctx context.Context, t *Ticket) error {
	at, err := r.placeOf(t)
	if err != nil {
		return err
	}
	head, err := r.git.line(ctx, call{at: at, args: []string{"rev-parse", "--verify", "--end-of-options", "HEAD^{commit}"}})
	if err != nil {
		return fmt.Errorf("looking at the head of %q: %w", t.Worktree, err)
	}
	if head != t.Commit {
		return fault.Envf(CodeMoved, []string{"run again: the verdict would be about another commit"}, "%q moved from %s to %s during the build", t.Worktree, short(t.Commit), short(head))
	}
	return nil
}

// Restore puts files that the ticket's commit holds back to what it holds, in the index and on disk. Paths are as
// Changes gives them, and all of them must be in the commit; those of submodules are passed over. No filter runs: what
// is kept through one is restored as it is stored. A file that cannot be put back because a build was at git's index
// or its settings is one of Changes again.
func (r *Repo) Restore(ctx context.Context, t *Ticket, paths []string) error {
	at, err := r.placeOf(t)
	if err != nil {
		return err
	}
	held, err := r.held(ctx, t)
	if err != nil {
		return err
	}
	holds := map[string]bool{}
	for _, e := range held.entries {
		holds[e.name] = true
	}
	var list strings.Builder
	paths = slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return !holds[p] })
	for _, p := range paths {
		list.WriteString(p + "\x00")
		if err := makeWay(at.dir, p); err != nil {
			return fmt.Errorf("putting back what the build changed: %w", err)
		}
	}
	if len(paths) == 0 {
		return nil
	}
	if err := noPipesFor(at.dir, paths...); err != nil {
		return err
	}
	conf, err := r.configured(ctx, at)
	if err != nil {
		return err
	}
	_, err = r.git.output(ctx, call{
		at: at, env: conf.off, slow: true, stdin: strings.NewReader(list.String()),
		args: []string{"restore", "--quiet", "--staged", "--worktree", "--ignore-skip-worktree-bits", "--source=" + t.Commit, "--pathspec-from-file=-", "--pathspec-file-nul"},
	})
	if err != nil {
		return fmt.Errorf("putting back what the build changed: %w", err)
	}
	return nil
}

// makeWay removes a file, so that git has to write it: an index may say that it is as committed. What lies behind a
// link is left alone, and folders are git's to remove.
func makeWay(dir, name string) error {
	for at := path.Dir(name); at != "."; at = path.Dir(at) {
		if info, err := os.Lstat(filepath.Join(dir, at)); err != nil || !info.IsDir() {
			return nil
		}
	}
	file := filepath.Join(dir, name)
	if info, err := os.Lstat(file); err != nil || info.IsDir() {
		return nil
	}
	return os.Remove(file)
}
