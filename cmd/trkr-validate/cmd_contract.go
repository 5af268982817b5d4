package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trkr-dev/trkr-validate/ticket"
)

func (a *app) contractCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "contract",
		Short: "Show and check contracts",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.contractShowCommand(), a.contractLintCommand(), a.contractCoverCommand())
	return cmd
}

type contractShowOptions struct {
	ticket    ticketOptions
	issueBody string
	explain   bool
}

func (a *app) contractShowCommand() *cobra.Command {
	o := contractShowOptions{}
	cmd := &cobra.Command{
		Use:   "show <issue>",
		Short: "Print the assertions of a ticket and their digest",
		Args:  exactly(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return a.contractShow(cmd, o, args[0]) },
	}
	o.ticket.reading(cmd)
	cmd.Flags().BoolVar(&o.explain, "explain", false, "say how the probe understands each assertion")
	cmd.Flags().StringVar(&o.issueBody, "issue-body", "", "read the issue's body from this `file` (- is stdin) instead of asking issue.command")
	return cmd
}

type contractJSON struct {
	SchemaVersion int             `json:"schemaVersion"`
	Issue         string          `json:"issue"`
	Commit        string          `json:"commit"`
	Source        string          `json:"source"`
	Digest        string          `json:"digest"`
	Assertions    []assertionJSON `json:"assertions"`
	Explained     []explained     `json:"explained,omitempty"`
	Warnings      []string        `json:"warnings"`
}

type assertionJSON struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

func (a *app) contractShow(cmd *cobra.Command, o contractShowOptions, arg string) error {
	return a.withContract(cmd, o.ticket, o.issueBody, arg, func(_ *ticket.Repo, t *ticket.Ticket, text ticket.Text) error {
		doc := contractJSON{SchemaVersion: 1, Issue: t.Issue, Commit: t.Commit, Source: text.Source, Digest: text.Contract.Digest(), Warnings: []string{}}
		for _, one := range text.Contract.Assertions {
			doc.Assertions = append(doc.Assertions, assertionJSON{ID: one.ID, Text: one.Text})
		}
		for _, w := range text.Warnings {
			doc.Warnings = append(doc.Warnings, w.String())
		}
		if o.explain {
			doc.Explained = explain(text.Contract)
		}
		if a.json {
			return a.writeJSON(doc)
		}
		for _, w := range doc.Warnings {
			say(a.err, "warning: ", w)
		}
		var b strings.Builder
		b.WriteString(visible(string(text.Contract.Format())))
		if o.explain {
			b.WriteByte('\n')
			explanation(&b, doc.Explained)
		}
		fmt.Fprintf(&b, "\nsource  %s, at %s\ndigest  %s\n", doc.Source, short(doc.Commit), doc.Digest)
		return a.printf("%s", b.String())
	})
}

// bodyOf is where an issue's body comes from: what was given, else the configuration; nil where neither says.
func (a *app) bodyOf(s settings, repo *ticket.Repo, issue string, given []byte) ticket.Body {
	switch {
	case given != nil:
		return func(context.Context) ([]byte, error) { return given, nil }
	case s.Issue.Source == "github":
		return a.gitHubBody(s, issue)
	case s.Issue.Command != "":
		return func(ctx context.Context) ([]byte, error) {
			return ticket.IssueBody(ctx, s.Issue.Command, repo.Root(), issue)
		}
	default:
		return nil
	}
}

// query says which ticket is meant.
func (a *app) query(s settings, o ticketOptions, issue string) ticket.Query {
	q := ticket.Query{
		Issue: issue, Branch: o.branch, Ref: o.ref,
		BranchTemplate: s.Ticket.Branch, DirTemplate: s.Ticket.Dir, Base: s.Ticket.Base,
	}
	if o.worktree != "" {
		q.Worktree = a.path(o.worktree)
	}
	return q
}

// withContract finds the ticket that an argument names and its contract, and lends both to use. bodyFile, where not empty,
// holds the issue's body.
func (a *app) withContract(cmd *cobra.Command, o ticketOptions, bodyFile, arg string, use func(*ticket.Repo, *ticket.Ticket, ticket.Text) error) error {
	issue, err := ticket.ParseIssue(arg)
	if err != nil {
		return err
	}
	s, err := a.settingsFor(cmd, o, issue)
	if err != nil {
		return err
	}
	var given []byte
	if bodyFile != "" {
		if given, err = a.issueBody(bodyFile); err != nil {
			return err
		}
	}
	ctx := cmd.Context()
	return a.withTicket(ctx, s, o, issue, func(repo *ticket.Repo, t *ticket.Ticket) error {
		text, err := repo.Contract(ctx, t, a.bodyOf(s, repo, issue, given))
		if err != nil {
			return during("contract", err)
		}
		return use(repo, t, text)
	})
}

// withTicket finds an issue's ticket and lends it to use. No worktree is made for it.
func (a *app) withTicket(ctx context.Context, s settings, o ticketOptions, issue string, use func(*ticket.Repo, *ticket.Ticket) error) error {
	repo, err := ticket.Open(ctx, a.directory)
	if err != nil {
		return during("resolve", err)
	}
	defer repo.Rest()
	t, err := repo.Find(ctx, a.query(s, o, issue))
	if err != nil {
		return during("resolve", err)
	}
	return use(repo, t)
}
