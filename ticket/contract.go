package ticket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/trkr-dev/trkr-validate/contract"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// Where a contract's text was found.
const (
	SourceCommit = "commit"
	SourceIssue  = "issue"
)

// Body gives an issue's body. It is asked at most once. nil: there is none to be had.
type Body func(ctx context.Context) ([]byte, error)

// Text is a contract and where it came from.
type Text struct {
	Contract contract.Contract
	Source   string             // SourceCommit or SourceIssue
	Warnings []contract.Problem // lines of the issue that were passed over
}

// Contract reads the ticket's contract: contract.md as committed, never from the dirty tree, else the section of the
// issue's body. An existing contract.md that is invalid never falls back to the body; where both are there they must
// say the same. What is wrong with it comes back as *verdict.Refusal (no_contract, contract_invalid,
// contract_changed), several joined; an error of body comes back as it is.
func (r *Repo) Contract(ctx context.Context, t *Ticket, body Body) (Text, error) {
	file := path.Join(t.Dir, ContractName)
	committed, refusal, err := r.committedContract(ctx, t.Commit, file)
	if err != nil {
		return Text{}, err
	}
	var raw []byte
	if body != nil {
		if raw, err = body(ctx); err != nil {
			return Text{}, fmt.Errorf("reading the body of issue %s: %w", t.Issue, err)
		}
	}
	found := body != nil
	issue, warnings, err := contract.ParseIssue(raw)
	if errors.Is(err, contract.ErrNoSection) {
		found = false
	} else if err != nil && found {
		return Text{}, errors.Join(asError(refusal), &verdict.Refusal{Reason: verdict.ContractInvalid,
			Detail: fmt.Sprintf("issue %s: %v", t.Issue, err), Hints: []string{"each assertion of the section is one line: VAL-1: what can be seen"}})
	}
	switch {
	case refusal != nil:
		return Text{}, refusal
	case committed == nil && !found:
		return Text{}, missing(t, file, body != nil)
	case committed == nil:
		return Text{Contract: issue, Source: SourceIssue, Warnings: warnings}, nil
	case found && issue.Digest() != committed.Digest():
		return Text{}, &verdict.Refusal{Reason: verdict.ContractChanged,
			Detail: fmt.Sprintf("%s and issue %s differ: %s", file, t.Issue, difference(*committed, issue)),
			Hints:  []string{"make them say the same: what was agreed decides"}}
	}
	return Text{Contract: *committed, Source: SourceCommit}, nil
}

// committedContract reads contract.md at a commit; nil where there is none.
func (r *Repo) committedContract(ctx context.Context, commit, file string) (*contract.Contract, *verdict.Refusal, error) {
	invalid := func(err error) *verdict.Refusal {
		return &verdict.Refusal{Reason: verdict.ContractInvalid, Detail: fmt.Sprintf("%s: %v", file, err),
			Hints: []string{"correct it and commit it; each assertion is one line: VAL-1: what can be seen"}}
	}
	data, err := r.File(ctx, commit, file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case errors.Is(err, ErrNotRegular):
		return nil, invalid(err), nil
	case err != nil:
		return nil, nil, err
	}
	c, err := contract.Parse(data)
	if err != nil {
		return nil, invalid(err), nil
	}
	return &c, nil, nil
}

func missing(t *Ticket, file string, asked bool) *verdict.Refusal {
	r := &verdict.Refusal{Reason: verdict.NoContract, Detail: fmt.Sprintf("%s is not committed at %s", file, short(t.Commit))}
	if asked {
		r.Detail += fmt.Sprintf(", and the body of issue %s has no section %q", t.Issue, "Validation contract")
	} else {
		r.Hints = append(r.Hints, "an issue's body is read where issue.command is set, issue.source is github, or --issue-body names a file")
	}
	r.Hints = append(r.Hints, "commit "+file+" with one line for each assertion: VAL-1: what can be seen")
	return r
}

// differences names each assertion that two contracts do not share, with its wordings. The formats say what it means
// that only a has an assertion, that both word it otherwise, and that only b has it.
func differences(a, b contract.Contract, onlyA, both, onlyB string) []string {
	var parts []string
	for _, x := range a.Assertions {
		switch y, ok := b.Lookup(x.ID); {
		case !ok:
			parts = append(parts, fmt.Sprintf(onlyA, x.ID, x.Text))
		case x.Text != y.Text:
			parts = append(parts, fmt.Sprintf(both, x.ID, x.Text, y.Text))
		}
	}
	for _, y := range b.Assertions {
		if _, ok := a.Lookup(y.ID); !ok {
			parts = append(parts, fmt.Sprintf(onlyB, y.ID, y.Text))
		}
	}
	if len(parts) == 0 {
		return []string{"the same assertions in another order"}
	}
	return parts
}

// difference tells of a committed contract and an issue's.
func difference(committed, issue contract.Contract) string {
	return strings.Join(differences(committed, issue, "%s is only in the commit: %q", "%s is %q in the commit and %q in the issue", "%s is only in the issue: %q"), "; ")
}

func short(commit string) string { return commit[:min(len(commit), 12)] }

// asError keeps a nil refusal from becoming an error that is not nil.
func asError(r *verdict.Refusal) error {
	if r == nil {
		return nil
	}
	return r
}
