package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trkr-dev/trkr-validate/loop"
	"github.com/trkr-dev/trkr-validate/ticket"
)

func (a *app) handoffCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "handoff",
		Short: "Check what an implementer hands over",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.handoffCheckCommand())
	return cmd
}

type handoffOptions struct {
	ticket    ticketOptions
	issueBody string
}

func (a *app) handoffCheckCommand() *cobra.Command {
	o := handoffOptions{}
	cmd := &cobra.Command{
		Use:   "check <issue>",
		Short: "Check a ticket's implementation.md against its contract and its branch",
		Long: `Check the implementation.md that is committed beside a ticket's contract: its form, whether it accounts for every
assertion, and whether it mentions what the branch changes and nothing else (docs/loop.md). All that is wrong is told at
once.

Exit codes: 0 it can be taken, 4 it cannot, 5 and 6 as everywhere.`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.handoffCheck(cmd, o, args[0]) },
	}
	o.ticket.flags(cmd)
	cmd.Flags().StringVar(&o.issueBody, "issue-body", "", "read the issue's body from this `file` (- is stdin) instead of asking issue.command")
	return cmd
}

type handoffJSON struct {
	SchemaVersion int            `json:"schemaVersion"`
	Issue         string         `json:"issue"`
	Commit        string         `json:"commit"`
	ExitCode      exitCode       `json:"exitCode"`
	Problems      []problemJSON  `json:"problems"`
	Findings      []loop.Finding `json:"findings"`
}

func (a *app) handoffCheck(cmd *cobra.Command, o handoffOptions, arg string) error {
	return a.withContract(cmd, o.ticket, o.issueBody, arg, func(repo *ticket.Repo, t *ticket.Ticket, text ticket.Text) error {
		handed, err := loop.CheckHandoff(cmd.Context(), repo, t, text.Contract)
		if err != nil {
			return err
		}
		doc := handoffJSON{SchemaVersion: 1, Issue: t.Issue, Commit: t.Commit, Problems: problemsJSON(handed.Problems), Findings: orEmpty(handed.Findings)}
		if !handed.OK() {
			doc.ExitCode = exitRefused
		}
		return a.sayHandoff(doc)
	})
}

func (a *app) sayHandoff(doc handoffJSON) error {
	if a.json {
		if err := a.writeJSON(doc); err != nil {
			return err
		}
		return exitWith{doc.ExitCode}
	}
	var b strings.Builder
	how := "complete"
	if doc.ExitCode != exitClear {
		how = "not complete"
	}
	fmt.Fprintf(&b, "%s: the handoff is %s\n", doc.Issue, how)
	if !a.quiet {
		for _, p := range doc.Problems {
			where := "all of it"
			if p.Line > 0 {
				where = fmt.Sprintf("line %d", p.Line)
			}
			say(&b, fmt.Sprintf("  %-10s  ", where), p.Text)
		}
		typedFindings(&b, doc.Findings)
	}
	if err := a.printf("%s", b.String()); err != nil {
		return err
	}
	return exitWith{doc.ExitCode}
}

// typedFindings lists findings as reports do.
func typedFindings(b *strings.Builder, all []loop.Finding) {
	for _, f := range all {
		text := f.Text
		if f.Place.Text != "" {
			text = f.Place.Text + ": " + text
		}
		say(b, fmt.Sprintf("  %-10s  ", f.Severity), text)
	}
}
