package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trkr-dev/trkr-validate/config"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/ticket"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// issueError is about one issue of a call and says nothing of the others.
type issueError struct{ error }

func (e *issueError) Unwrap() error { return e.error }

// settingsFor is the configuration that a ticket is judged by; without an issue, the checkout's. It never comes from the
// ticket's branch, which the implementer writes: it is what --config names, else what --config-ref names, else, where the
// invoking checkout holds work of the ticket or stands on any ticket's branch, the file as committed at the merge base
// with the default branch, else the invoking checkout's (of a bare repository, which has none, the default branch's).
// Whether the checkout holds such work is not left to its own file: it does if it does by the trusted file or by its own.
func (a *app) settingsFor(cmd *cobra.Command, o ticketOptions, issue string) (settings, error) {
	ctx := cmd.Context()
	repo, err := ticket.Open(ctx, a.directory)
	if f := fault.Of(err); f != nil && f.Code == "no_repository" && a.configRef == "" {
		return a.settings(cmd) // whoever needs a repository will say so
	} else if err != nil {
		return settings{}, &issueError{during("resolve", err)}
	}
	repo = repo.AtOnce()
	defer repo.Rest()
	g := ground{app: a, cmd: cmd, repo: repo, path: config.Name, query: ticket.Query{Issue: issue, Branch: o.branch, Ref: o.ref}}
	if o.worktree != "" {
		g.query.Worktree = a.path(o.worktree)
	}
	if a.config != "" {
		var inside bool
		g.path, inside = repo.Inside(a.path(a.config))
		switch {
		case inside:
		case a.configRef == "":
			return a.settings(cmd)
		default:
			return settings{}, fault.Usagef("usage", []string{"name a file of the checkout"}, "--config-ref reads --config from a commit, and %q lies outside of the repository", a.config)
		}
	}
	if g.here, err = repo.Checkout(ctx); err != nil {
		return settings{}, during("resolve", err)
	}
	if err := g.findBase(ctx); err != nil {
		return settings{}, during("config", err)
	}
	s, err := g.choose(ctx)
	return s, during("config", err)
}

// ground is where one ticket's configuration is looked for.
type ground struct {
	*app
	cmd   *cobra.Command
	repo  *ticket.Repo
	path  string // of the file in the repository
	query ticket.Query
	here  ticket.Checkout

	fork    string   // the merge base of what is checked out with the default branch; empty: not known
	base    settings // of the file there, or of none
	baseErr error    // why that file cannot be read
}

// findBase reads the trusted file. The default branch is what the environment names, else what is found out; only a
// file that is trusted by that may name another one.
func (g *ground) findBase(ctx context.Context) error {
	none, err := g.layer(g.cmd, config.File{})
	if err != nil {
		return err
	}
	g.base = none
	if g.fork, err = g.forkBy(ctx, none.Ticket); err != nil || g.fork == "" {
		return err
	}
	if g.base, g.baseErr = g.committed(ctx, g.fork); g.baseErr != nil {
		g.base = none
		return nil
	}
	if g.base.Ticket.Base == none.Ticket.Base {
		return nil
	}
	fork, err := g.forkBy(ctx, g.base.Ticket)
	if err != nil || fork == "" || fork == g.fork {
		return err
	}
	g.fork = fork
	if g.base, g.baseErr = g.committed(ctx, fork); g.baseErr != nil {
		g.base = none
	}
	return nil
}

func (g *ground) forkBy(ctx context.Context, by config.Ticket) (string, error) {
	q := g.query
	q.BranchTemplate, q.Base = by.Branch, by.Base
	fork, err := g.repo.Fork(ctx, g.here.Commit, q)
	if f := fault.Of(err); f != nil && f.Code == "default_branch_unknown" && q.Issue == "" && g.here.Root != "" {
		return "", nil // without an issue the checkout's own file counts
	}
	return fork, err
}

// committed makes settings of the file at a commit, or of none where that has none.
func (g *ground) committed(ctx context.Context, commit string) (settings, error) {
	data, err := g.repo.File(ctx, commit, g.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return g.layer(g.cmd, config.File{})
	case errors.Is(err, ticket.ErrNotRegular):
		return settings{}, fault.Usage("config_unreadable", err)
	case err != nil:
		return settings{}, err
	}
	file, err := config.Parse(short(commit)+":"+g.path, data)
	if err != nil {
		return settings{}, err
	}
	s, err := g.layer(g.cmd, file)
	s.commit, s.path = commit, g.path
	return s, err
}

// choose takes the file by the order of settingsFor.
func (g *ground) choose(ctx context.Context) (settings, error) {
	switch {
	case g.configRef != "":
		return g.byRef(ctx)
	case g.config != "":
		return g.byName(ctx)
	default:
		return g.byPlace(ctx)
	}
}

func (g *ground) byRef(ctx context.Context) (settings, error) {
	commit, err := g.repo.Commit(ctx, g.configRef)
	if err != nil {
		return settings{}, err
	}
	s, err := g.committed(ctx, commit)
	if err != nil {
		return settings{}, err
	}
	if s.file.Path == "" {
		return settings{}, fault.Usagef("config_not_found", []string{"name another revision, or with --config another file of it"}, "%q holds no %s", g.configRef, g.path)
	}
	t, own, err := g.locate(ctx, commit, s)
	if err != nil {
		return settings{}, err
	}
	return g.accept(ctx, s, t, own)
}

// byName takes the file as it is on the disk, unless it is the ticket's branch that put it there.
func (g *ground) byName(ctx context.Context) (settings, error) {
	s, err := g.settings(g.cmd)
	if err != nil {
		return settings{}, err
	}
	t, own, err := g.locate(ctx, g.here.Commit, s)
	if err == nil && own {
		own, err = g.changed(ctx)
	}
	if err != nil {
		return settings{}, err
	}
	return g.accept(ctx, s, t, own)
}

// accept takes what the caller named. The ticket's own has to be named as such.
func (g *ground) accept(ctx context.Context, s settings, t *ticket.Ticket, own bool) (settings, error) {
	if own && !g.trustBranch {
		return settings{}, g.untrusted()
	}
	s.branch = own
	return g.compare(ctx, s, t)
}

func (g *ground) byPlace(ctx context.Context) (settings, error) {
	s, bad := g.base, g.baseErr
	if g.here.Root != "" {
		s, bad = g.settings(g.cmd) // what is wrong with it matters only where it is the one that counts
	}
	t, own, err := g.locate(ctx, g.here.Commit, s)
	if err != nil {
		return settings{}, err
	}
	if g.trustBranch && t != nil {
		if of, err := g.committed(ctx, t.Commit); err != nil || of.file.Path != "" {
			of.branch = true
			return of, err
		}
	}
	switch {
	case own && (g.baseErr != nil || g.base.file.Path != ""):
		s, bad = g.base, g.baseErr
	case own && (bad != nil || s.file.Path != ""):
		return settings{}, g.untrusted()
	}
	if bad != nil {
		return settings{}, bad
	}
	return g.compare(ctx, s, t)
}

// locate finds the ticket by the trusted file and by s, and whether a commit holds work of its own, or the checkout
// stands on its branch. t is nil where there is no such ticket: the run will say so. Where the trusted file finds none,
// what is not on the default branch counts as the ticket's: its own file must not find another one.
func (g *ground) locate(ctx context.Context, commit string, s settings) (t *ticket.Ticket, own bool, err error) {
	if g.query.Issue == "" {
		return nil, false, nil
	}
	for i, by := range []config.Ticket{g.base.Ticket, s.Ticket} {
		if i > 0 && (by == g.base.Ticket || by == config.Ticket{}) {
			continue
		}
		q := g.query
		q.BranchTemplate, q.DirTemplate, q.Base = by.Branch, by.Dir, g.base.Ticket.Base
		found, err := g.repo.Locate(ctx, q)
		if verdict.IsRefusal(err) {
			own = own || i == 0 && g.configRef == "" && g.base.file.Path != "" && commit != "" && commit != g.fork
			continue
		} else if err != nil {
			return nil, false, &issueError{during("resolve", err)}
		}
		if t == nil {
			t = found
		}
		// What another ticket's branch holds is its implementer's as well.
		own = own || g.configRef == "" && g.here.Branch != "" && (g.here.Branch == found.Branch || ticket.IsTicketBranch(by.Branch, g.here.Branch))
		if commit != "" && !own {
			if own, err = g.repo.Holds(ctx, found, commit); err != nil {
				return nil, false, err
			}
		}
	}
	return t, own, nil
}

// changed reports whether the file that --config names is other in what is checked out than at the merge base.
func (g *ground) changed(ctx context.Context) (bool, error) {
	now, err := g.repo.Entry(ctx, g.here.Commit, g.path)
	if err != nil || now == "" || g.fork == "" {
		return now != "", err
	}
	before, err := g.repo.Entry(ctx, g.fork, g.path)
	return now != before, err
}

func (g *ground) untrusted() error {
	hints := []string{"--config FILE or --config-ref REV name one that can be trusted", "--trust-branch-config takes the ticket's own, and the record says so"}
	if g.fork == "" {
		hints = append([]string{"fetch the default branch with its history (in CI fetch-depth: 0), or name it in " + baseVariable}, hints...)
	} else {
		hints = append([]string{"commit it to the default branch; then begin the branch anew from there, or merge it before any code"}, hints...)
	}
	return &issueError{fault.Usagef("config_untrusted", hints, "%s is the ticket's own: who writes the code must not choose how it is judged", g.path)}
}

const baseKey = "ticket.base"

// baseVariable names the default branch from outside of any file.
var baseVariable = func() string { k, _ := config.Lookup(baseKey); return k.Env() }()

// compare notes how the file of the ticket's commit differs from the one in force. Where only the ticket has one, there
// is none to be trusted.
func (g *ground) compare(ctx context.Context, s settings, t *ticket.Ticket) (settings, error) {
	if t == nil {
		return s, nil
	}
	of, err := g.committed(ctx, t.Commit)
	if _, bad := errors.AsType[*config.Error](err); bad || errors.Is(err, ticket.ErrNotRegular) {
		s.note = fmt.Sprintf("the ticket's own %s is not used, and cannot be read", g.path)
		return s, nil
	}
	if err != nil || of.file.Path == "" {
		return s, err
	}
	if s.file.Path == "" {
		return settings{}, g.untrusted()
	}
	if keys := config.Differ(s.file, of.file); len(keys) > 0 {
		s.note = fmt.Sprintf("the ticket's own %s is not used; it differs in %s", g.path, strings.Join(keys, ", "))
	}
	return s, nil
}
