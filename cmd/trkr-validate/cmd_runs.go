package main

import (
	"fmt"
	"io/fs"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/ticket"
	"github.com/trkr-dev/trkr-validate/verdict"
)

func (a *app) runsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List the runs that are kept here, or show one",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		&cobra.Command{
			Use:   "list",
			Short: "List the runs that are kept here, the oldest first",
			Args:  noArgs,
			RunE:  func(cmd *cobra.Command, _ []string) error { return a.runsList(cmd) },
		},
		&cobra.Command{
			Use:   "show <run>",
			Short: "Show one run; the exit code is 0 whatever its outcome was",
			Args:  exactly(1),
			RunE:  func(cmd *cobra.Command, args []string) error { return a.runsShow(cmd, args[0]) },
		},
	)
	return cmd
}

type runJSON struct {
	RunID     string          `json:"runId"`
	Issue     string          `json:"issue"`
	Outcome   verdict.Outcome `json:"outcome"` // empty for a shell, which judges nothing
	StartedAt time.Time       `json:"startedAt"`
	Path      string          `json:"path"`
}

type runsJSON struct {
	SchemaVersion int       `json:"schemaVersion"`
	Runs          []runJSON `json:"runs"`
}

// withHistory lends the run folders of the repository that the caller stands in.
func (a *app) withHistory(cmd *cobra.Command, use func(history) error) error {
	repo, err := ticket.Open(cmd.Context(), a.directory)
	if err != nil {
		return during("resolve", err)
	}
	defer repo.Rest()
	h, err := openHistory(cmd.Context(), repo)
	if err != nil {
		return err
	}
	defer h.Close() // only read from
	return use(h)
}

func (a *app) runsList(cmd *cobra.Command) error {
	return a.withHistory(cmd, func(h history) error {
		runs, err := h.runs("")
		if err != nil {
			return err
		}
		listed := make([]runJSON, len(runs))
		for i, r := range runs {
			outcome, _ := h.ending(r)
			listed[i] = runJSON{RunID: r.id, Issue: r.issue, Outcome: outcome, StartedAt: r.began, Path: h.path(r)}
		}
		if a.json {
			return a.writeJSON(runsJSON{1, listed})
		}
		w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
		for _, r := range listed {
			outcome := visible(string(r.Outcome))
			if outcome == "" {
				outcome = "shell"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.RunID, r.Issue, outcome, r.StartedAt.Local().Format(time.DateTime))
		}
		if err := w.Flush(); err != nil {
			return fmt.Errorf("writing the result: %w", err)
		}
		return nil
	})
}

func (a *app) runsShow(cmd *cobra.Command, id string) error {
	return a.withHistory(cmd, func(h history) error {
		r, ok := h.find(id)
		if !ok {
			return fault.Usagef("unknown_run", []string{"trkr-validate runs list"}, "no run is called %q", id)
		}
		run := result{Result: h.load(r)}
		if a.json {
			return a.writeJSON(documentOf([]result{run}, exitClear))
		}
		if err := a.report(run); err != nil || a.quiet {
			return err
		}
		for _, refusal := range run.Refusals {
			say(a.out, "  refused     ", refusal.Error())
		}
		if run.Failure != nil {
			say(a.out, "  failed      ", run.Failure.Message)
		}
		names, err := fs.ReadDir(h.dir.FS(), id)
		if err != nil {
			return fault.Env("folder", err)
		}
		for _, n := range names {
			if err := a.printf("              %s\n", visible(n.Name())); err != nil {
				return err
			}
		}
		return nil
	})
}
