package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/loop"
	"github.com/trkr-dev/trkr-validate/verdict"
)

func (a *app) reportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Check what a reviewer reports",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var contractFile string
	check := &cobra.Command{
		Use:   "check FILE --contract FILE",
		Short: "Compute the outcome of a reviewer's report",
		Long: `Compute the outcome of a reviewer's report as that of a run is computed: the same grammar, the same coverage of the
contract, the same rules. FILE is the report (- is stdin); nothing runs and nothing is recorded.

Exit codes: those of a run.`,
		Example: "  trkr-validate report check review.md --contract .trkr/tickets/7/contract.md",
		Args:    exactly(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.reportCheck(cmd, contractFile, args[0]) },
	}
	check.Flags().StringVar(&contractFile, "contract", "", "the contract that the report is about: a `file` like contract.md")
	cmd.AddCommand(check)
	return cmd
}

// reviewer is by whom criteria are decided where a report is all that there is.
const reviewer = "review"

type reportJSON struct {
	SchemaVersion int                  `json:"schemaVersion"`
	Outcome       verdict.Outcome      `json:"outcome"`
	ExitCode      exitCode             `json:"exitCode"`
	Verdict       string               `json:"verdict"` // empty where it is not exactly one
	Typed         verdict.TypedReview  `json:"acceptanceReview"`
	Criteria      []verdict.Criterion  `json:"criteria"`
	Findings      []loop.Finding       `json:"findings"`
	Diagnostics   []verdict.Diagnostic `json:"diagnostics"`
}

func (a *app) reportCheck(cmd *cobra.Command, contractFile, name string) error {
	switch {
	case contractFile == "":
		return usage(cmd, errors.New("--contract is missing: a report is about a contract"))
	case contractFile == "-" && name == "-":
		return usage(cmd, errors.New("the report and the contract cannot both be stdin"))
	}
	c, err := a.readContract(contractFile)
	if err != nil {
		return during("contract", err)
	}
	in := a.in
	if name != "-" {
		f, err := os.Open(a.path(name))
		if err != nil {
			return fault.Usage("report_not_found", fmt.Errorf("reading the report: %w", err))
		}
		defer f.Close() // only read from
		in = f
	}
	report, err := verdict.ParseReport(in, c)
	if err != nil {
		return fault.Usage("report_unreadable", fmt.Errorf("reading the report: %w", err))
	}
	j := verdict.Judge(c, []verdict.AgentReport{{Agent: reviewer, Report: report}})
	doc := reportJSON{
		SchemaVersion: 1, Outcome: j.Outcome, ExitCode: exitCode(j.Outcome.ExitCode()), Verdict: j.Verdict, Typed: report.Typed,
		Criteria: orEmpty(j.Criteria), Findings: []loop.Finding{}, Diagnostics: orEmpty(j.Diagnostics),
	}
	for _, f := range j.Findings {
		doc.Findings = append(doc.Findings, loop.Typed(f, loop.FromReview))
	}
	if a.json {
		if err := a.writeJSON(doc); err != nil {
			return err
		}
		return exitWith{doc.ExitCode}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", doc.Outcome)
	if !a.quiet {
		details(&b, verdict.Record{Criteria: j.Criteria, Findings: j.Findings, Diagnostics: j.Diagnostics})
	}
	if err := a.printf("%s", b.String()); err != nil {
		return err
	}
	return exitWith{doc.ExitCode}
}
