package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trkr-dev/trkr-validate/contract"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/ticket"
	"github.com/trkr-dev/trkr-validate/verdict"
)

func (a *app) contractLintCommand() *cobra.Command {
	o := ticketOptions{}
	cmd := &cobra.Command{
		Use:   "lint <issue|file>",
		Short: "Say everything that is wrong with a contract, and what may be hard to check",
		Long: `Say everything that is wrong with a contract at once, line by line, and hint at assertions that somebody who has only
the built artifact may not be able to check.

The argument is a file (contract.md, or an issue's body with the section "Validation contract"; - is stdin) or an issue,
whose contract is read as a run would read it. Where a file has an issue's name, #7 is the issue.

Exit codes: 0 where the contract is valid, whatever the hints say; 4 where it is not.`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.contractLint(cmd, o, args[0]) },
	}
	o.reading(cmd)
	return cmd
}

// source is a text that may hold a contract.
type source struct {
	name string // as people are told of it
	text []byte
	body bool // it is an issue's body and no contract.md
}

func (s source) review() contract.Review {
	if s.body {
		return contract.LintIssue(s.text)
	}
	return contract.Lint(s.text)
}

// source reads what an argument names: a file, or the contract of an issue.
func (a *app) source(cmd *cobra.Command, o ticketOptions, arg string) (source, error) {
	if arg == "-" {
		return a.sourceFile(arg, a.in)
	}
	f, err := os.Open(a.path(arg))
	if err == nil {
		defer f.Close()
		return a.sourceFile(arg, f)
	}
	issue, bad := ticket.ParseIssue(arg)
	if bad != nil || path.Ext(arg) == ".md" {
		return source{}, fault.Usage("contract_not_found", err, "name a file, or an issue like 7")
	}
	s, err := a.settingsFor(cmd, o, issue)
	if err != nil {
		return source{}, err
	}
	var found source
	err = a.withTicket(cmd.Context(), s, o, issue, func(repo *ticket.Repo, t *ticket.Ticket) error {
		found, err = a.committedSource(cmd.Context(), s, repo, t)
		return during("contract", err)
	})
	return found, err
}

func (a *app) committedSource(ctx context.Context, s settings, repo *ticket.Repo, t *ticket.Ticket) (source, error) {
	name := path.Join(t.Dir, ticket.ContractName)
	text, err := repo.File(ctx, t.Commit, name)
	if err == nil {
		return source{name: name, text: text}, nil
	}
	body := a.bodyOf(s, repo, t.Issue, nil)
	if !errors.Is(err, fs.ErrNotExist) || body == nil {
		_, err = repo.Contract(ctx, t, body) // which says what is wrong
		return source{}, err
	}
	text, err = body(ctx)
	return source{name: "issue " + t.Issue, text: text, body: true}, err
}

func (a *app) sourceFile(name string, from io.Reader) (source, error) {
	text, err := io.ReadAll(io.LimitReader(from, contract.MaxSize+1))
	if err != nil {
		return source{}, fault.Usage("contract_unreadable", err)
	}
	s := source{name: name, text: text}
	if filepath.Base(name) != ticket.ContractName {
		_, _, err := contract.ParseIssue(text)
		s.body = !errors.Is(err, contract.ErrNoSection)
	}
	return s, nil
}

type lintJSON struct {
	SchemaVersion int           `json:"schemaVersion"`
	ExitCode      exitCode      `json:"exitCode"`
	Source        string        `json:"source"`
	Digest        string        `json:"digest,omitempty"` // of a valid contract
	Assertions    int           `json:"assertions"`
	Problems      []problemJSON `json:"problems"`
	Warnings      []problemJSON `json:"warnings"`
	Hints         []hintJSON    `json:"hints"`
}

type problemJSON struct {
	Line int    `json:"line,omitempty"`
	Text string `json:"text"`
}

type hintJSON struct {
	Line int               `json:"line"`
	ID   string            `json:"id"`
	Code contract.HintCode `json:"code"`
	Text string            `json:"text"`
}

func (a *app) contractLint(cmd *cobra.Command, o ticketOptions, arg string) error {
	s, err := a.source(cmd, o, arg)
	if err != nil {
		return err
	}
	r := s.review()
	code := exitClear
	if len(r.Problems) > 0 {
		code = exitRefused
	}
	if a.json {
		err = a.writeJSON(lintDocument(s.name, r, code))
	} else {
		err = a.printf("%s", lintText(s.name, r))
	}
	return errors.Join(err, ending(code))
}

// ending ends the program with a code; nil where that is success.
func ending(code exitCode) error {
	if code == exitClear {
		return nil
	}
	return exitWith{code}
}

func lintDocument(name string, r contract.Review, code exitCode) lintJSON {
	doc := lintJSON{SchemaVersion: 1, ExitCode: code, Source: name, Assertions: len(r.Contract.Assertions), Problems: problemsJSON(r.Problems), Warnings: problemsJSON(r.Warnings), Hints: []hintJSON{}}
	if code == exitClear {
		doc.Digest = r.Contract.Digest()
	}
	for _, h := range r.Hints {
		doc.Hints = append(doc.Hints, hintJSON(h))
	}
	return doc
}

func problemsJSON(problems []contract.Problem) []problemJSON {
	list := []problemJSON{}
	for _, p := range problems {
		list = append(list, problemJSON(p))
	}
	return list
}

// lintText is what editors can jump to: file:line: text, in the order of lines.
func lintText(name string, r contract.Review) string {
	type remark struct {
		line int
		text string
	}
	var all []remark
	for _, p := range r.Problems {
		all = append(all, remark{p.Line, "error: " + p.Text})
	}
	for _, p := range r.Warnings {
		all = append(all, remark{p.Line, "warning: " + p.Text})
	}
	for _, h := range r.Hints {
		all = append(all, remark{h.Line, "hint: " + h.ID + ": " + h.Text})
	}
	slices.SortStableFunc(all, func(x, y remark) int { return x.line - y.line })
	var b strings.Builder
	for _, x := range all {
		at := ""
		if x.line > 0 {
			at = fmt.Sprintf(":%d", x.line)
		}
		say(&b, name+at+": ", x.text)
	}
	if len(r.Problems) > 0 {
		fmt.Fprintf(&b, "invalid: %d error(s), %d hint(s)\n", len(r.Problems), len(r.Hints))
	} else {
		fmt.Fprintf(&b, "valid: %d assertion(s), %d hint(s)\n", len(r.Contract.Assertions), len(r.Hints))
	}
	return b.String()
}

// valid is the contract of a source, or the refusal that names everything wrong with it.
func (s source) valid() (contract.Contract, error) {
	r := s.review()
	if len(r.Problems) > 0 {
		return contract.Contract{}, invalid(s.name, r.Problems)
	}
	return r.Contract, nil
}

func invalid(name string, problems []contract.Problem) error {
	return &verdict.Refusal{Reason: verdict.ContractInvalid, Detail: name + ": " + (&contract.Error{Problems: problems}).Error()}
}
