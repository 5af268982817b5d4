package ticket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// The defaults of Query.
const (
	DefaultBranchTemplate = "trkr/{issue}"
	DefaultDirTemplate    = ".trkr/tickets/{issue}"
)

// Resolve finds the ticket's branch, commit and worktree. Where no worktree has the branch checked out (or, with
// Query.Ref, the commit), or with Query.Clean, it makes a temporary one, with every filter of the repository switched
// off: a file that git keeps through a filter (LFS) stands there as it is stored. What the ticket lacks comes back as
// *verdict.Refusal, several joined; nothing is left behind then.
func (r *Repo) Resolve(ctx context.Context, q Query) (*Ticket, error) {
	t, err := r.Find(ctx, q)
	if err != nil {
		return nil, err
	}
	if t.Worktree == "" || q.Clean {
		return t, r.makeTemporary(ctx, t)
	}
	if t.Worktree == r.top {
		t.gitDir = r.gitDir
		_, err = r.placeOf(t)
		return t, err
	}
	at, err := r.inWorktree(ctx, t.Worktree)
	t.gitDir = at.gitDir
	return t, err
}

// Find finds the ticket's branch, commit and tree as Resolve does, for whoever only reads commits: it makes no worktree,
// and there may be none.
func (r *Repo) Find(ctx context.Context, q Query) (*Ticket, error) {
	t, err := r.locate(ctx, q)
	if err != nil {
		return nil, err
	}
	if t.Branch != "" && !t.remote {
		if err := r.notRebased(t.Branch); err != nil {
			return nil, err
		}
	}
	file := path.Join(t.Dir, RecordName)
	if t.trees, err = r.chain(ctx, t.Commit, file); err != nil {
		return nil, err
	}
	t.Tree, err = t.trees.without(file)
	return t, err
}

// locate finds branch, commit, and the worktree where there is one. It makes nothing.
func (r *Repo) locate(ctx context.Context, q Query) (*Ticket, error) {
	t, refs, err := r.prepare(ctx, q)
	if err != nil {
		return nil, err
	}
	at, err := r.named(ctx, q)
	if err != nil {
		return nil, err
	}
	if q.Ref != "" {
		return t, r.byRef(ctx, t, q, at)
	}
	return t, r.byBranch(ctx, t, q, at, refs)
}

// prepare checks what the query says apart from the repository.
func (r *Repo) prepare(ctx context.Context, q Query) (*Ticket, []ref, error) {
	if id, err := ParseIssue(q.Issue); err != nil || id != q.Issue {
		return nil, nil, cmp.Or(err, fault.Usagef("issue_invalid", nil, "%q is no issue id", q.Issue))
	}
	dir := expand(cmp.Or(q.DirTemplate, DefaultDirTemplate), q.Issue)
	if clean := path.Clean(dir); dir == "" || path.IsAbs(clean) || clean == "." || clean == ".." ||
		strings.HasPrefix(clean, "../") || strings.ContainsAny(clean, "\x00\n") || slices.Contains(strings.Split(strings.ToLower(clean), "/"), ".git") {
		return nil, nil, fault.Usagef("ticket_dir_invalid", []string{"ticket.dir is a folder inside the worktree, like " + DefaultDirTemplate}, "%q cannot be a ticket's folder", dir)
	}
	refs, err := r.refs(ctx)
	if err != nil {
		return nil, nil, err
	}
	base, tips, err := r.trunk(refs, q.Base)
	if err == nil && q.Ref != "" {
		err = notItsOwn(base, q) // of a branch byBranch says so
	}
	return &Ticket{Issue: q.Issue, Dir: path.Clean(dir), repo: r, base: base, tips: tips}, refs, err
}

func expand(template, issue string) string { return strings.ReplaceAll(template, "{issue}", issue) }

// named finds the worktree that the query names, nil where it names none.
func (r *Repo) named(ctx context.Context, q Query) (*checkout, error) {
	if q.Worktree == "" {
		return nil, nil
	}
	wrong := func(err error) error {
		return fault.Usage("worktree_invalid", fmt.Errorf("%q is no worktree of this repository: %w", q.Worktree, err),
			"git worktree list shows them")
	}
	other, err := Open(ctx, q.Worktree)
	if f := fault.Of(err); f != nil && f.Usage {
		return nil, wrong(err)
	} else if err != nil {
		return nil, err
	}
	if other.common != r.common {
		return nil, wrong(fmt.Errorf("it belongs to %q", other.common))
	}
	if other.top == "" {
		return nil, wrong(errors.New("it is the repository itself"))
	}
	all, err := r.checkouts(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		if c.path == other.top {
			return &c, nil
		}
	}
	return nil, wrong(errors.New("git does not list it"))
}

// byRef resolves a ticket whose commit is named; at is the named worktree or nil.
func (r *Repo) byRef(ctx context.Context, t *Ticket, q Query, at *checkout) error {
	if q.Branch != "" {
		return fault.Usagef("usage", []string{"give one of them"}, "a branch (%q) and a commit (%q) are both named", q.Branch, q.Ref)
	}
	// HEAD and the like mean the invoking worktree's, or the named one's.
	from := place{dir: cmp.Or(r.top, r.common)}
	if at != nil {
		from.dir = at.path
	}
	commit, err := r.revision(ctx, from, q.Ref)
	if f := fault.Of(err); f != nil && f.Code == codeAmbiguous {
		return err
	}
	if _, said := errors.AsType[*gitError](err); said {
		if _, err := os.Lstat(filepath.Join(r.common, "shallow")); err == nil {
			return fault.Envf("commit_missing", []string{
				"fetch it with its history: git fetch --unshallow origin " + shellQuote(q.Ref),
				"in GitHub Actions, give actions/checkout fetch-depth: 0; in GitLab CI, set the variable GIT_DEPTH: 0",
			}, "this clone is shallow and does not hold %q", q.Ref)
		}
		return &verdict.Refusal{Reason: verdict.TicketNotFound, Detail: fmt.Sprintf("%q names no commit here", q.Ref),
			Hints: []string{"fetch it first, or name a commit by its full id"}}
	} else if err != nil {
		return err
	}
	t.Commit = commit
	if at != nil {
		if at.head != commit {
			return fault.Usagef("worktree_mismatch", []string{"leave --worktree out: a temporary one is made"}, "%q stands at %s, %q is %s", at.path, at.head, q.Ref, commit)
		}
		t.Worktree = at.path
		return nil
	}
	all, err := r.checkouts(ctx)
	if err != nil {
		return err
	}
	for _, c := range all {
		if c.path == r.top && c.head == commit && !c.bare {
			t.Worktree = c.path // the usual case in CI: a detached checkout of the commit
		}
	}
	return nil
}

// byBranch resolves a ticket by its branch; at is the named worktree or nil.
func (r *Repo) byBranch(ctx context.Context, t *Ticket, q Query, at *checkout, refs []ref) error {
	var refusals []error
	if at != nil && at.branch == "" {
		refusals = append(refusals, &verdict.Refusal{Reason: verdict.DetachedHead,
			Detail: fmt.Sprintf("%q has no branch checked out", at.path),
			Hints:  []string{"check the ticket's branch out there", "--ref HEAD judges the commit and commits nothing"}})
		if q.Branch == "" {
			return refusals[0]
		}
	}
	search := search{issue: q.Issue, refs: refs, branch: strings.TrimPrefix(q.Branch, heads), template: cmp.Or(q.BranchTemplate, DefaultBranchTemplate)}
	if q.Branch == "" && at != nil {
		search.branch = strings.TrimPrefix(at.branch, heads)
		if of := issuesOf(search.template, search.branch); len(of) > 0 && !slices.Contains(of, q.Issue) {
			return fault.Usagef("worktree_mismatch", []string{"leave --worktree out, or check the branch out there", "if it is issue " + q.Issue + "'s branch all the same, name it: --branch " + shellQuote(search.branch)},
				"%q has %q checked out, which is not issue %s's branch by its name", at.path, search.branch, q.Issue)
		}
	}
	found, refusal := search.run()
	if refusal != nil {
		return errors.Join(append(refusals, refusal)...)
	}
	if found.short == t.base || strings.TrimPrefix(found.symbol, heads) == t.base && found.symbol != "" {
		refusals = append(refusals, &verdict.Refusal{Reason: verdict.DefaultBranch,
			Detail: fmt.Sprintf("%q is the default branch; a record is never committed to it", found.short),
			Hints: []string{"give the ticket a branch of its own", "--ref " + found.short + " judges it and commits nothing",
				"if another branch is the default one (a clone of a checkout takes what was checked out there): git remote set-head origin BRANCH"}})
	} else if found.symbol != "" {
		refusals = append(refusals, &verdict.Refusal{Reason: verdict.BranchAmbiguous,
			Detail: fmt.Sprintf("%q is only another name for %q", found.short, found.symbol), Hints: []string{"name the branch itself with --branch"}})
	}
	if len(refusals) > 0 {
		return errors.Join(refusals...)
	}
	t.Branch, t.Commit, t.remote = found.short, found.commit, found.remote != ""
	return r.place(ctx, t, at)
}

// place picks the worktree that has the branch checked out: the named one, the invoking one, else the first listed.
func (r *Repo) place(ctx context.Context, t *Ticket, at *checkout) error {
	if at != nil {
		if at.branch != heads+t.Branch {
			return fault.Usagef("worktree_mismatch", []string{"leave --worktree out, or check the branch out there"},
				"%q has %q checked out, not %q", at.path, strings.TrimPrefix(at.branch, heads), t.Branch)
		}
		t.Worktree = at.path
		return nil
	}
	all, err := r.checkouts(ctx)
	if err != nil {
		return err
	}
	for _, c := range all {
		if c.branch == heads+t.Branch && !c.bare && !c.prunable && (t.Worktree == "" || c.path == r.top) {
			t.Worktree = c.path
		}
	}
	return nil
}
