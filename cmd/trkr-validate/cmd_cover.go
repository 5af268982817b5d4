package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trkr-dev/trkr-validate/contract"
)

func (a *app) contractCoverCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cover SPEC TICKET...",
		Short: "Check that each assertion of a specification is completed by exactly one ticket",
		Long: `Check that each assertion of a specification is completed by exactly one of the tickets that it was divided into.

SPEC and each TICKET are files or issues, as for contract lint. A ticket completes the assertions of its own contract,
which must say the same as the specification's, and those that a line like "Completes: VAL-1, VAL-3" names. What it only
contributes to ("Contributes to: VAL-2") is not completed by it.

Exit codes: 0 where each assertion is completed by one ticket; 4 where one is completed by none or by several, where a
ticket claims one that the specification does not have, or where a text cannot be read.`,
		Example: `  trkr-validate contract cover spec.md 7 8 9
  trkr-validate contract cover spec.md tickets/*.md`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage(cmd, fmt.Errorf("%s takes a specification and at least one ticket, got %d argument(s)", cmd.CommandPath(), len(args)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.contractCover(cmd, args[0], args[1:]) },
	}
	return cmd
}

type coverJSON struct {
	SchemaVersion int           `json:"schemaVersion"`
	ExitCode      exitCode      `json:"exitCode"`
	Assertions    []coveredJSON `json:"assertions"`
	Gaps          []gapJSON     `json:"gaps"`
}

type coveredJSON struct {
	ID          string   `json:"id"`
	Text        string   `json:"text"`
	Completed   []string `json:"completed"`
	Contributed []string `json:"contributed"`
}

type gapJSON struct {
	Code    contract.GapCode `json:"code"`
	ID      string           `json:"id"`
	Tickets []string         `json:"tickets"`
	Text    string           `json:"text"`
}

func (a *app) contractCover(cmd *cobra.Command, specName string, names []string) error {
	from, err := a.source(cmd, ticketOptions{}, specName)
	if err != nil {
		return err
	}
	spec, wrong := from.valid()
	tickets := make([]contract.Ticket, len(names))
	for i, name := range names {
		s, err := a.source(cmd, ticketOptions{}, name)
		if err != nil {
			return err
		}
		claims, problems := contract.Claims(s.text)
		if len(problems) > 0 {
			wrong = errors.Join(wrong, invalid(s.name, problems))
		}
		tickets[i] = contract.Ticket{Name: name, Claims: claims}
	}
	if wrong != nil {
		return wrong
	}
	c := contract.Cover(spec, tickets)
	code := exitClear
	if len(c.Gaps) > 0 {
		code = exitRefused
	}
	if a.json {
		err = a.writeJSON(coverDocument(c, code))
	} else {
		err = a.printf("%s", coverText(c, len(tickets)))
	}
	return errors.Join(err, ending(code))
}

func coverDocument(c contract.Coverage, code exitCode) coverJSON {
	doc := coverJSON{SchemaVersion: 1, ExitCode: code, Assertions: []coveredJSON{}, Gaps: []gapJSON{}}
	for _, x := range c.Assertions {
		doc.Assertions = append(doc.Assertions, coveredJSON{x.ID, x.Text, orEmpty(x.Completed), orEmpty(x.Contributed)})
	}
	for _, g := range c.Gaps {
		doc.Gaps = append(doc.Gaps, gapJSON{g.Code, g.ID, orEmpty(g.Tickets), g.Text})
	}
	return doc
}

func coverText(c contract.Coverage, tickets int) string {
	var b strings.Builder
	covered := 0
	for _, x := range c.Assertions {
		if len(x.Completed) == 1 {
			covered++
			say(&b, x.ID+"  ", x.Completed[0])
		}
	}
	for _, g := range c.Gaps {
		say(&b, fmt.Sprintf("%s: ", g.Code), g.Text)
	}
	fmt.Fprintf(&b, "%d of %d completed by one of %d ticket(s)\n", covered, len(c.Assertions), tickets)
	return b.String()
}
