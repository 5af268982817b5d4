package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/spf13/cobra"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/stage"
	"github.com/trkr-dev/trkr-validate/ticket"
	"github.com/trkr-dev/trkr-validate/verdict"
)

func (a *app) showCommand() *cobra.Command {
	o := ticketOptions{}
	cmd := &cobra.Command{
		Use:   "show <issue>",
		Short: "Show the last verdict of a ticket again",
		Long: `Show the last verdict of a ticket again: the validation.md that its branch holds, or the newest run that is kept
here, whichever is later. The exit code is that of the outcome.`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.show(cmd, o, args[0]) },
	}
	o.flags(cmd)
	return cmd
}

func (a *app) show(cmd *cobra.Command, o ticketOptions, arg string) error {
	ctx := cmd.Context()
	s, err := a.settings(cmd)
	if err != nil {
		return err
	}
	issue, err := ticket.ParseIssue(arg)
	if err != nil {
		return err
	}
	repo, err := ticket.Open(ctx, a.directory)
	if err != nil {
		return err
	}
	runs, err := readRuns(repo.Root())
	if err != nil {
		return err
	}
	var last stage.Result
	for _, r := range runs { // oldest first
		if r.Record.Issue == issue && judged(r.Outcome) {
			last = r
		}
	}
	var committed *stage.Result
	err = a.withTicket(ctx, s, o, issue, func(repo *ticket.Repo, t *ticket.Ticket) error {
		var err error
		committed, err = recorded(ctx, repo, t)
		return err
	})
	if err != nil && (last.Record == nil || len(refusalsIn(err)) == 0) { // the branch may be gone, its runs are not
		return err
	}
	if committed != nil {
		same := last.Record != nil && sayTheSame(*last.Record, *committed.Record)
		if same {
			committed.RunDir = last.RunDir
		}
		if same || last.Record == nil || !last.Record.StartedAt.After(committed.Record.StartedAt) {
			last = *committed
		}
	}
	if last.Record == nil {
		return fault.Usagef("no_verdict", []string{"trkr-validate " + issue}, "issue %s has no verdict yet", issue)
	}
	return a.finish(cmd, []stage.Result{last})
}

// sayTheSame tells whether two records judge the same tree alike: the later one was then not committed again.
func sayTheSame(a, b verdict.Record) bool {
	return a.Outcome == b.Outcome && a.Subject.Tree == b.Subject.Tree &&
		slices.EqualFunc(a.Criteria, b.Criteria, func(x, y verdict.Criterion) bool { return x.ID == y.ID && x.Status == y.Status })
}

// judged tells whether a run came to a verdict.
func judged(o verdict.Outcome) bool {
	return o == verdict.Clear || o == verdict.Blocking || o == verdict.Incomplete
}

// recorded reads the verdict that a ticket's branch holds; nil where it holds none.
func recorded(ctx context.Context, repo *ticket.Repo, t *ticket.Ticket) (*stage.Result, error) {
	name := path.Join(t.Dir, ticket.RecordName)
	raw, err := repo.File(ctx, t.Commit, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	record, err := verdict.ParseMarkdown(raw)
	if err != nil {
		return nil, fault.Env("record_invalid", fmt.Errorf("reading %s at %s: %w", name, short(t.Commit), err), "somebody edited it; trkr-validate "+t.Issue+" writes it anew")
	}
	if record.Issue != t.Issue {
		return nil, fault.Envf("record_invalid", nil, "%s at %s is about issue %q", name, short(t.Commit), record.Issue)
	}
	return &stage.Result{
		Issue: t.Issue, RunID: record.RunID, Outcome: record.Outcome, Record: &record,
		Recorded: &stage.Recorded{Commit: t.Commit, Path: name},
	}, nil
}
