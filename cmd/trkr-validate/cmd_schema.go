package main

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trkr-dev/trkr-validate/config"
	"github.com/trkr-dev/trkr-validate/internal/event"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/schema"
	"github.com/trkr-dev/trkr-validate/loop"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// schemaVersion is that of every form below. A form that changes gets its own.
const schemaVersion = 1

// border is everything that crosses the border to other programs.
var border = []struct {
	name, what string
	value      any
}{
	{"run", "what a run, show and runs show print with --json, and every failure", document{}},
	{"record", "record.json, and the block in validation.md", verdict.Record{}},
	{"event", "a line of events.jsonl", event.Event{}},
	{"review", "a typed acceptance review", verdict.AcceptanceReview{}},
	{"contract", "what contract show prints", contractJSON{}},
	{"runs", "what runs list prints", runsJSON{}},
	{"handoff", "what handoff check prints", handoffJSON{}},
	{"report", "what report check prints", reportJSON{}},
	{"loop-answer", "what loop and loop next print", answerJSON{}},
	{"loop-remains", "the file that a repair command gets", loop.Answer{}},
	{"loop-entry", "a line of a loop's history", loop.Entry{}},
	{"activity", "what activity prints", activityJSON{}},
	{"triage-question", "what a triage agent is asked", loop.Question{}},
	{"triage-proposal", "what a triage agent answers", loop.Proposal{}},
}

// rules are what the types alone do not say.
func rules() schema.Rules {
	text := func(most int) map[string]any { return map[string]any{"minLength": 1, "maxLength": most} }
	return schema.Rules{
		Enums: map[reflect.Type][]string{
			reflect.TypeFor[verdict.Status]():      {string(verdict.Met), string(verdict.Unmet), string(verdict.Blocked), string(verdict.Unverified)},
			reflect.TypeFor[verdict.Severity]():    {string(verdict.SeverityBlocking), string(verdict.SeverityNote)},
			reflect.TypeFor[verdict.TypedReview](): {string(verdict.TypedAbsent), string(verdict.TypedInvalid), string(verdict.TypedReport)},
			reflect.TypeFor[loop.Do]():             {string(loop.Done), string(loop.Repair), string(loop.Human), string(loop.Stop)},
			reflect.TypeFor[loop.Source]():         {string(loop.FromValidation), string(loop.FromReview), string(loop.FromHandoff), string(loop.FromImplementer)},
		},
		Limits: map[string]map[string]any{
			"review.Results":           {"minItems": 1, "maxItems": 20},
			"result.CriterionID":       text(80),
			"result.CriterionSnapshot": text(512),
			"result.Evidence":          text(1024),
			"Dismissal.Justification":  {"minLength": 20},
			"FixTicket.Title":          text(200),
		},
	}
}

func (a *app) schemaCommand() *cobra.Command {
	var list strings.Builder
	for _, b := range border {
		fmt.Fprintf(&list, "\n  %-16s %s", b.name, b.what)
	}
	return &cobra.Command{
		Use:   "schema <name>",
		Short: "Print the JSON Schema of what this program writes or reads",
		Long:  "Print the JSON Schema of what this program writes for others, or reads from them. There are:\n" + list.String(),
		Args:  exactly(1),
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := schemaOf(args[0])
			if err != nil {
				return err
			}
			return a.printf("%s", data)
		},
	}
}

func schemaOf(name string) ([]byte, error) {
	var names []string
	for _, b := range border {
		if b.name == name {
			return schema.Of(name, schemaVersion, b.value, rules())
		}
		names = append(names, b.name)
	}
	hint := "known are " + strings.Join(names, ", ")
	if near := config.Nearest(name, names); near != "" {
		hint = "did you mean " + near + "?"
	}
	return nil, fault.Usagef("unknown_schema", []string{hint}, "there is no schema %q", name)
}
