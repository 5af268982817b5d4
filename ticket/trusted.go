package ticket

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// Checkout is the worktree that the program was called in.
type Checkout struct {
	Root   string // absolute; empty in a bare repository
	Commit string // what is checked out; empty before the first commit
	Branch string // short name; empty where detached
}

// Checkout tells what is checked out where the repository was opened. A worktree that git does not list there, because
// it was moved or a setting leads git astray, is a fault: nothing would tell whose it is.
func (r *Repo) Checkout(ctx context.Context) (Checkout, error) {
	if r.top == "" {
		return Checkout{}, nil
	}
	all, err := r.checkouts(ctx)
	if err != nil {
		return Checkout{}, err
	}
	for _, c := range all {
		if c.path != r.top {
			continue
		}
		here := Checkout{Root: r.top, Commit: c.head, Branch: strings.TrimPrefix(c.branch, heads)}
		if strings.Trim(c.head, "0") == "" {
			here.Commit = ""
		}
		return here, nil
	}
	return Checkout{}, fault.Envf("worktree_unlisted", []string{"git worktree list shows what git knows, git worktree repair tells it of one that was moved"},
		"git does not list %q as a worktree of this repository", r.top)
}

// Inside is the path of what a name leads to as the checkout has it, with slashes; false where it lies outside.
func (r *Repo) Inside(name string) (string, bool) {
	real, err := filepath.EvalSymlinks(name)
	if err != nil { // it may be there in a commit
		if real, err = filepath.EvalSymlinks(filepath.Dir(name)); err == nil {
			real = filepath.Join(real, filepath.Base(name))
		}
	}
	if err != nil || r.top == "" {
		return "", false
	}
	rel, err := filepath.Rel(r.top, real)
	return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel)
}

// Locate finds a ticket's branch and commit as Resolve does, and makes nothing: the Ticket may have no worktree.
func (r *Repo) Locate(ctx context.Context, q Query) (*Ticket, error) {
	t, err := r.locate(ctx, q)
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Commit is the commit that a revision names; HEAD is the invoking checkout's. None is a usage fault, and so is a name
// that may stand for more than one.
func (r *Repo) Commit(ctx context.Context, rev string) (string, error) {
	at := r.shared()
	if r.top != "" {
		at = place{dir: r.top}
	}
	id, err := r.revision(ctx, at, rev)
	if exited(err, 1) || exited(err, 128) {
		return "", fault.Usagef("no_commit", []string{"fetch it first, or name another one"}, "%q names no commit here", rev)
	}
	return id, err
}

// Fork is where the history of a commit leaves the default branch: the merge base. Of q, Base (which must come from
// somewhere that is trusted), Issue, Branch and BranchTemplate count. Without a commit it is the default branch's own.
// Empty: there is none, or a shallow clone does not hold it.
func (r *Repo) Fork(ctx context.Context, commit string, q Query) (string, error) {
	refs, err := r.refs(ctx)
	if err != nil {
		return "", err
	}
	base, tips, err := r.trunk(refs, q.Base)
	if err == nil {
		err = notItsOwn(base, q)
	}
	if err != nil {
		return "", err
	}
	if len(tips) == 0 || commit == "" {
		return append(tips, "")[0], nil
	}
	if slices.Contains(tips, commit) {
		return commit, nil
	}
	id, err := r.git.line(ctx, call{at: r.shared(), args: append([]string{"merge-base", commit}, tips...)})
	if exited(err, 1) {
		return "", nil
	}
	return id, err
}

// Holds reports whether a commit holds work of the ticket's own, or whether that cannot be told: something that the
// ticket's commit has as well and the default branch has not. Where there is no default branch, it is the ticket's
// commit itself that counts.
func (r *Repo) Holds(ctx context.Context, t *Ticket, commit string) (bool, error) {
	if slices.Contains(t.tips, commit) {
		return false, nil // it is the default branch's
	}
	if len(t.tips) > 0 {
		own, err := r.listed(ctx, commit, append([]string{"--not"}, t.tips...)...)
		if err != nil || !own {
			return false, err // all of it is the default branch's
		}
	}
	if shallow, err := r.shallow(ctx); err != nil || shallow {
		return shallow, err
	}
	out, err := r.git.line(ctx, call{at: r.shared(), args: []string{"merge-base", "--all", commit, t.Commit}})
	if exited(err, 1) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("comparing %s with the ticket: %w", short(commit), err)
	}
	both := strings.Fields(out)
	if len(t.tips) == 0 {
		return slices.Contains(both, t.Commit), nil
	}
	return r.listed(ctx, both[0], append(append(both[1:], "--not"), t.tips...)...)
}

// OfTicket finds the worktree that a path lies in and that a ticket's work is checked out in: this one's, or what stands
// on any ticket's branch, as template names them. It is empty where there is none.
func (r *Repo) OfTicket(ctx context.Context, t *Ticket, template, name string) (string, error) {
	all, err := r.checkouts(ctx)
	if err != nil {
		return "", err
	}
	for _, c := range all {
		root, err := filepath.EvalSymlinks(c.path)
		if err != nil || c.bare || name != root && !strings.HasPrefix(name, root+string(filepath.Separator)) {
			continue
		}
		branch := strings.TrimPrefix(c.branch, heads)
		own := branch != "" && (branch == t.Branch || IsTicketBranch(template, branch))
		if !own && strings.Trim(c.head, "0") != "" {
			if own, err = r.Holds(ctx, t, c.head); err != nil {
				return "", err
			}
		}
		if own {
			return root, nil
		}
	}
	return "", nil
}

// listed reports whether rev-list finds any commit.
func (r *Repo) listed(ctx context.Context, commit string, more ...string) (bool, error) {
	out, err := r.git.line(ctx, call{at: r.shared(), args: append([]string{"rev-list", "--max-count=1", commit}, more...)})
	if err != nil {
		return false, fmt.Errorf("reading the history of %s: %w", short(commit), err)
	}
	return out != "", nil
}

// Entry is what a commit has at a path, so that two commits can be compared without its being read; empty where there
// is nothing.
func (r *Repo) Entry(ctx context.Context, commit, file string) (string, error) {
	return r.git.line(ctx, call{at: r.shared(), args: []string{"ls-tree", "-z", "--full-tree", "--end-of-options", commit, file}})
}

// TrackedBelow names what git tracks below a folder of the worktree at Root, as its index says; nothing where that is none.
func (r *Repo) TrackedBelow(ctx context.Context, folder string) ([]string, error) {
	at := place{dir: r.main, gitDir: r.common, workTree: r.main}
	if r.main == "" {
		at = place{dir: r.top, gitDir: r.gitDir, workTree: r.top}
	}
	if at.dir == "" {
		return nil, nil
	}
	out, err := r.git.output(ctx, call{at: at, args: []string{"ls-files", "-z", "--", folder}})
	if err != nil {
		return nil, fmt.Errorf("listing tracked files below %s: %w", folder, err)
	}
	return strings.FieldsFunc(string(out), func(c rune) bool { return c == 0 }), nil
}
