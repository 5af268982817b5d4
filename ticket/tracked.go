package ticket

import (
	"context"
	"fmt"
	"path"
	"strings"
)

// Tracked tells whether git tracks a path of the worktree (relative, with slashes): in the ticket's commit, in the
// worktree's index now, or in a submodule that is checked out there. Ask before the build runs; the answer is kept in
// memory, about a hundred bytes a file.
func (r *Repo) Tracked(ctx context.Context, t *Ticket) (func(path string) bool, error) {
	wrong := func(err error) error { return fmt.Errorf("listing tracked files of %q: %w", t.Worktree, err) }
	at, err := r.placeOf(t)
	if err != nil {
		return nil, wrong(err)
	}
	out, err := r.git.output(ctx, call{at: r.shared(), args: []string{"ls-tree", "-r", "-z", "--name-only", "--full-tree", "--end-of-options", t.Commit}})
	if err != nil {
		return nil, wrong(err)
	}
	set := map[string]bool{}
	for p := range strings.SplitSeq(string(out), "\x00") {
		set[p] = true
	}
	if err := r.addIndex(ctx, at, "", set, 0); err != nil {
		return nil, wrong(err)
	}
	delete(set, "")
	return func(p string) bool { return set[path.Clean(p)] }, nil
}

func (r *Repo) addIndex(ctx context.Context, at place, prefix string, set map[string]bool, depth int) error {
	entries, err := r.index(ctx, at)
	if err != nil {
		return err
	}
	for _, e := range entries {
		set[path.Join(prefix, e.path)] = true
		if e.mode != modeSubmodule {
			continue
		}
		sub, ok, err := r.inSubmodule(ctx, at, e.path, depth)
		if ok {
			err = r.addIndex(ctx, sub, path.Join(prefix, e.path), set, depth+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
