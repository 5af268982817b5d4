package ticket

import (
	"context"
	"fmt"
	"path"
)

// Tracked tells whether git tracks a path of the worktree (relative, with slashes): in the ticket's commit, in the
// worktree's index as Changes saw it first, else now, or in a submodule that is checked out there. Ask before the build
// runs; the answer is kept in memory, about a hundred bytes a file.
func (r *Repo) Tracked(ctx context.Context, t *Ticket) (func(path string) bool, error) {
	wrong := func(err error) error { return fmt.Errorf("listing tracked files of %q: %w", t.Worktree, err) }
	at, err := r.placeOf(t)
	if err != nil {
		return nil, wrong(err)
	}
	held, err := r.held(ctx, t)
	if err != nil {
		return nil, wrong(err)
	}
	set := map[string]bool{}
	for _, e := range held.entries {
		set[e.name] = true
	}
	if t.tracked == nil {
		if t.tracked, err = r.index(ctx, at); err != nil {
			return nil, wrong(err)
		}
	}
	if err := r.addIndex(ctx, at, "", t.tracked, set, 0); err != nil {
		return nil, wrong(err)
	}
	return func(p string) bool { return set[path.Clean(p)] }, nil
}

func (r *Repo) addIndex(ctx context.Context, at place, prefix string, entries []indexed, set map[string]bool, depth int) error {
	for _, e := range entries {
		set[path.Join(prefix, e.path)] = true
		if e.mode != modeSubmodule {
			continue
		}
		sub, ok, err := r.inSubmodule(ctx, at, e.path, depth)
		var inner []indexed
		if ok {
			inner, err = r.index(ctx, sub)
		}
		if err == nil {
			err = r.addIndex(ctx, sub, path.Join(prefix, e.path), inner, set, depth+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
