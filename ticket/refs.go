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
		"for-each-ref", "--format=%(refname)%00%(objectname)%00%(symref)", heads, remotes,
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
		if len(fields) != 3 {
			return nil, fmt.Errorf("listing branches: git printed %q", line)
		}
		b := ref{full: fields[0], commit: fields[1], symbol: fields[2]}
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

// defaultBranch is the short name of the branch that no record is ever committed to: base where it is given, else
// where origin/HEAD points, else main or master. Empty where there is none of them.
func defaultBranch(all []ref, base string) string {
	if base != "" {
		base = strings.TrimPrefix(base, heads)
		for _, b := range all {
			if b.remote != "" && base == b.String() && !slices.ContainsFunc(all, func(l ref) bool { return l.remote == "" && l.short == base }) {
				return b.short // written as origin/main
			}
		}
		return base
	}
	for _, b := range all {
		if to, ok := strings.CutPrefix(b.symbol, remotes+"origin/"); ok && b.full == remotes+"origin/HEAD" {
			return to
		}
	}
	for _, name := range []string{"main", "master"} {
		if slices.ContainsFunc(all, func(b ref) bool { return b.short == name }) {
			return name
		}
	}
	return ""
}

// tipsOf are the commits of the default branch that defaultBranch found for given: the local branch's and origin's, or
// those of the remote that given names. Another remote counts only where neither has the branch and it is the only one
// that does: anybody's fork may be a remote here.
func tipsOf(all []ref, base, given string) []string {
	remote := "origin"
	if name, ok := strings.CutSuffix(given, "/"+base); ok && slices.ContainsFunc(all, func(b ref) bool { return b.remote == name }) {
		remote = name
	}
	var tips, elsewhere []string
	for _, b := range all {
		switch {
		case base == "" || b.short != base:
		case b.remote == "" || b.remote == remote:
			tips = append(tips, b.commit)
		default:
			elsewhere = append(elsewhere, b.commit)
		}
	}
	if len(tips) == 0 && len(elsewhere) == 1 {
		return elsewhere
	}
	return tips
}

// checkout is one worktree of the repository.
type checkout struct {
	path     string
	head     string // commit; empty before the first one
	branch   string // full name; empty where detached
	bare     bool
	prunable bool // its folder is gone
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
