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
here, whichever is later. The exit code is that of the outcome; where the verdict is about other code than what the
branch holds now, or where it is the branch alone that says it, it is stale, and the exit code is 3.`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.show(cmd, o, args[0]) },
	}
	o.reading(cmd)
	return cmd
}

func (a *app) show(cmd *cobra.Command, o ticketOptions, arg string) error {
	ctx := cmd.Context()
	issue, err := ticket.ParseIssue(arg)
	if err != nil {
		return err
	}
	s, err := a.settingsFor(cmd, o, issue)
	if err != nil {
		return err
	}
	return a.withHistory(cmd, func(h history) error {
		var told []result
		last, ok, err := h.newest(issue)
		if err != nil {
			return err
		}
		if ok {
			told = append(told, result{Result: last})
		}
		tree := "" // of what would be judged now
		lost := a.withTicket(ctx, s, o, issue, func(repo *ticket.Repo, t *ticket.Ticket) error {
			tree = t.Tree
			committed, err := recorded(ctx, repo, t)
			if committed != nil {
				told = append(told, h.reconcile(*committed, told))
			}
			return err
		})
		if lost != nil && (len(told) == 0 || !verdict.IsRefusal(lost)) { // the branch may be gone, its runs are not
			return lost
		}
		if len(told) == 0 {
			return fault.Usagef("no_verdict", []string{"trkr-validate " + issue}, "issue %s has no verdict yet", issue)
		}
		for i := range told {
			if why := stale(told[i].Record, tree); why != "" {
				told[i].stale = why
			}
		}
		r := choice(told)
		if r.stale != "" {
			r.Hints = append(r.Hints, "what the ticket is now was not judged: trkr-validate "+issue+" runs it again")
			if lost != nil {
				r.Hints[len(r.Hints)-1] = lost.Error()
			}
		}
		return a.finish(cmd, []result{r})
	})
}

// stale tells why a record is not about a tree, which is empty where there is none to compare with.
func stale(record *verdict.Record, tree string) string {
	switch {
	case tree == "":
		return "there is no branch to compare it with"
	case record.Subject.Tree != tree:
		return "the branch has moved on since"
	case record.Subject.Dirty:
		return "it is about changes that were never committed"
	}
	return ""
}

// choice is the verdict that is shown: of the newest run and the committed one, which comes last, one about what the
// ticket is now; of two such the later one, told as committed where both say the same.
func choice(told []result) result {
	run, committed := told[0], told[len(told)-1]
	switch {
	case len(told) == 1:
	case run.Record.SaysTheSame(*committed.Record) && committed.Outcome == run.Outcome:
		committed.RunDir = run.RunDir
	case (run.stale == "") != (committed.stale == ""):
		if run.stale == "" {
			return run
		}
	case run.Record.StartedAt.After(committed.Record.StartedAt):
		return run
	}
	return committed
}

// reconcile gives the verdict of a branch the ending of the run that committed it, where that run is kept here: it may
// have gone wrong after all. Whoever writes the branch could have written the verdict too, so one that neither that run
// nor the newest one (in told, if any) came to is not taken at its word.
func (h history) reconcile(committed result, told []result) result {
	r, ok := h.find(committed.RunID)
	if ok && r.issue == committed.Issue {
		committed.RunDir = h.path(r)
		if outcome, failed := h.ending(r); !judged(outcome) {
			committed.Outcome, committed.Failure = outcome, failed
			return committed
		}
		told = append(slices.Clone(told), result{Result: h.load(r)})
	}
	if !slices.ContainsFunc(told, func(run result) bool {
		return run.Outcome == committed.Outcome && run.Record != nil && run.Record.SaysTheSame(*committed.Record)
	}) {
		committed.stale = "no run that is kept here came to it, and whoever writes the branch could have written it"
	}
	return committed
}

// recorded reads the verdict that a ticket's branch holds; nil where it holds none.
func recorded(ctx context.Context, repo *ticket.Repo, t *ticket.Ticket) (*result, error) {
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
	return &result{again: true, Result: stage.Result{
		Issue: t.Issue, RunID: record.RunID, Outcome: record.Outcome, Record: &record,
		Recorded: &stage.Recorded{Path: name},
	}}, nil
}
