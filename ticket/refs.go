package ticket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	heads   = "refs/heads/"
	remotes = "refs/remotes/"
)

// ref is one branch, here or as last seen on a remote.
type ref struct {
	full   string // refs/heads/trkr/7, refs/remotes/origin/trkr/7
	short  string // trkr/7 in both cases
	remote string // origin; empty for a local branch
	commit string
	symbol string // what it points to where it is only another name
	head   bool   // the repository's own HEAD points to it
}

// String is how a person names it.
func (r ref) String() string {
	if r.remote != "" {
		return r.remote + "/" + r.short
	}
	return r.short
}

// refs lists all branches, local ones first, each group in the order of their names.
func (r *Repo) refs(ctx context.Context) ([]ref, error) {
	if r.seen == nil {
		return r.listRefs(ctx)
	}
	r.seen.mu.Lock()
	defer r.seen.mu.Unlock()
	var err error
	if r.seen.refs == nil {
		r.seen.refs, err = r.listRefs(ctx)
	}
	return r.seen.refs, err
}

func (r *Repo) listRefs(ctx context.Context) ([]ref, error) {
	out, err := r.git.output(ctx, call{at: r.shared(), args: []string{
		"for-each-ref", "--format=%(refname)%00%(objectname)%00%(symref)%00%(HEAD)", heads, remotes,
	}})
	if err != nil {
		return nil, fmt.Errorf("listing branches: %w", err)
	}
	var names []string
	if bytes.Contains(out, []byte(remotes)) {
		if names, err = r.remoteNames(ctx); err != nil {
			return nil, err
		}
	}
	var all []ref
	for line := range bytes.Lines(out) { // no ref name holds a line end
		fields := strings.Split(strings.TrimSuffix(string(line), "\n"), "\x00")
		if len(fields) != 4 {
			return nil, fmt.Errorf("listing branches: git printed %q", line)
		}
		b := ref{full: fields[0], commit: fields[1], symbol: fields[2], head: fields[3] == "*"}
		if short, ok := strings.CutPrefix(b.full, heads); ok {
			b.short = short
			all = append(all, b)
			continue
		}
		rest := strings.TrimPrefix(b.full, remotes)
		i := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(rest, name+"/") })
		if i < 0 {
			continue // no remote of that name any more
		}
		b.remote, b.short = names[i], rest[len(names[i])+1:]
		all = append(all, b)
	}
	return all, nil
}

// remoteNames lists the remotes, the longest name first: one may begin with another's.
func (r *Repo) remoteNames(ctx context.Context) ([]string, error) {
	out, err := r.git.output(ctx, call{at: r.shared(), args: []string{"remote"}})
	if err != nil {
		return nil, fmt.Errorf("listing remotes: %w", err)
	}
	names := strings.Fields(string(out))
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	return names, nil
}

// checkout is one worktree of the repository.
type checkout struct {
	path     string
	head     string // commit; empty before the first one
	branch   string // full name; empty where detached
	bare     bool
	prunable bool // its folder is gone
}

// Worktrees are the folders of the repository's worktrees that are there.
func (r *Repo) Worktrees(ctx context.Context) ([]string, error) {
	all, err := r.checkouts(ctx)
	var dirs []string
	for _, c := range all {
		if !c.bare && !c.prunable {
			dirs = append(dirs, c.path)
		}
	}
	return dirs, err
}

// checkouts lists the worktrees, the main one first where there is one.
func (r *Repo) checkouts(ctx context.Context) ([]checkout, error) {
	if r.seen == nil {
		return r.listCheckouts(ctx)
	}
	r.seen.mu.Lock()
	defer r.seen.mu.Unlock()
	var err error
	if r.seen.checkouts == nil {
		r.seen.checkouts, err = r.listCheckouts(ctx)
	}
	return r.seen.checkouts, err
}

func (r *Repo) listCheckouts(ctx context.Context) ([]checkout, error) {
	sep := "\x00"
	out, err := r.git.output(ctx, call{at: r.shared(), args: []string{"worktree", "list", "--porcelain", "-z"}})
	if exited(err, 129) { // -z came with 2.36; before, a path with a line end cannot be told
		sep = "\n"
		out, err = r.git.output(ctx, call{at: r.shared(), args: []string{"worktree", "list", "--porcelain"}})
	}
	if err != nil {
		return nil, fmt.Errorf("listing worktrees: %w", err)
	}
	var all []checkout
	for block := range strings.SplitSeq(string(out), sep+sep) {
		var c checkout
		for line := range strings.SplitSeq(block, sep) {
			key, value, _ := strings.Cut(line, " ")
			switch key {
			case "worktree":
				c.path = value
			case "HEAD":
				c.head = value
			case "branch":
				c.branch = value
			case "bare":
				c.bare = true
			case "prunable":
				c.prunable = true
			}
		}
		if c.path != "" {
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("listing worktrees: git lists none")
	}
	// Git takes the main one's folder from the git directory's name, which need not be so (--separate-git-dir).
	if all[0].path = r.main; r.main == "" {
		all = all[1:]
	}
	return all, nil
}
