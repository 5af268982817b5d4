package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/trkr-dev/trkr-validate/contract"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/ticket"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// reportKind is one form in which results are written for CI.
type reportKind struct {
	name     string
	variable string // names the file where the caller does not; the report is added to it
	render   func(records []verdict.Record, at []verdict.Place, code exitCode) ([]byte, error)
}

// maxSummary is what GitHub takes of one step, with some room for what else the step says.
const maxSummary = 1<<20 - 64<<10

// reportKinds is the explicit list of the forms that there are.
var reportKinds = []reportKind{
	{"junit", "", func(records []verdict.Record, _ []verdict.Place, _ exitCode) ([]byte, error) {
		return verdict.JUnit(records)
	}},
	{"sarif", "", func(records []verdict.Record, at []verdict.Place, _ exitCode) ([]byte, error) {
		return verdict.SARIF(records, at)
	}},
	{"github-summary", "GITHUB_STEP_SUMMARY", summary},
	{"github-output", "GITHUB_OUTPUT", outputs},
	{"github-annotations", "", annotations},
}

// report is one that the caller asked for.
type report struct {
	reportKind
	file string // absolute; empty: stderr
}

// reporting is what a call is to write for CI.
type reporting struct {
	asked  []string
	all    []report
	github publishing
	done   bool
}

func (p *reporting) flags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&p.asked, "report", nil,
		"write `KIND[=FILE]` for CI: junit=FILE, sarif=FILE, github-summary, github-output, github-annotations; repeatable")
	p.github.flags(cmd)
}

// prepare reads the flags. A file of an earlier call goes at once, so that nothing old can be taken for this call's.
func (a *app) prepare(cmd *cobra.Command, p *reporting) error {
	for _, text := range p.asked {
		name, file, _ := strings.Cut(text, "=")
		i := slices.IndexFunc(reportKinds, func(k reportKind) bool { return k.name == name })
		if i < 0 {
			return usage(cmd, fmt.Errorf("--report: there is no report %q", name))
		}
		k := reportKinds[i]
		switch {
		case k.variable != "":
			if file = cmp.Or(file, os.Getenv(k.variable)); file == "" {
				return usage(cmd, fmt.Errorf("--report %s: %s is not set; outside of GitHub Actions name a file: %s=FILE", name, k.variable, name))
			}
		case name == "github-annotations":
			if file != "" {
				return usage(cmd, errors.New("--report github-annotations goes to stderr, and to no file"))
			}
		case file == "":
			return usage(cmd, fmt.Errorf("--report %s: name a file: %s=FILE", name, name))
		}
		if file != "" {
			file = a.path(file)
			if k.variable == "" {
				if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return fault.Usage("report", fmt.Errorf("removing an earlier report: %w", err))
				}
			}
		}
		p.all = append(p.all, report{k, file})
	}
	a.reports = p
	return nil
}

// writeReports writes what was asked for, once.
func (a *app) writeReports(results []result, code exitCode) error {
	if a.reports == nil || a.reports.done {
		return nil
	}
	a.reports.done = true
	records, at := make([]verdict.Record, len(results)), make([]verdict.Place, len(results))
	for i, r := range results {
		records[i], at[i] = r.reported(), r.place
	}
	var errs []error
	for _, p := range a.reports.all {
		text, err := p.render(records, at, code)
		if err == nil {
			err = a.deliver(p, text)
		}
		if err != nil {
			errs = append(errs, fault.Env("report", fmt.Errorf("writing the report %s: %w", p.name, err)))
		}
	}
	if len(results) == 1 {
		errs = append(errs, a.publish(&a.reports.github, results[0]))
	}
	return errors.Join(errs...)
}

func (a *app) deliver(p report, text []byte) error {
	switch {
	case p.file == "":
		_, err := a.err.Write(text)
		return err
	case p.variable == "":
		if err := os.MkdirAll(filepath.Dir(p.file), 0o755); err != nil {
			return err
		}
		return renameio.WriteFile(p.file, text, 0o644) // what stands there, a link too, is replaced
	}
	f, err := os.OpenFile(p.file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// reported is the record as reports tell it: what became of the run counts, also where it had been judged before it
// failed.
func (r result) reported() verdict.Record {
	record := verdict.Record{SchemaVersion: verdict.SchemaVersion, Issue: r.Issue, RunID: r.RunID}
	if r.Record != nil {
		record = *r.Record
	}
	if r.Record == nil || record.Outcome != r.Outcome {
		record.Outcome, record.ExitCode, record.Refusals = r.Outcome, int(r.exit()), r.Refusals
		record.Diagnostics = slices.Clone(record.Diagnostics)
	}
	if r.Failure != nil {
		text := strings.Join(append([]string{r.Failure.Message}, r.Failure.Hints...), "\n")
		record.Diagnostics = append(slices.Clone(record.Diagnostics), verdict.Diagnostic{Code: r.Failure.Code, Detail: text})
	}
	return record
}

// placeOf finds where the assertions of a contract stand at a commit; without one that can be read, only its path.
func placeOf(ctx context.Context, dir, template, issue, commit string) verdict.Place {
	at := verdict.Place{Path: path.Join(strings.ReplaceAll(template, "{issue}", issue), ticket.ContractName)}
	repo, err := ticket.Open(ctx, dir)
	if err != nil || commit == "" {
		return at
	}
	defer repo.Rest()
	text, err := repo.File(ctx, commit, at.Path)
	if err != nil {
		return at
	}
	c, err := contract.Parse(text)
	if err != nil {
		return at
	}
	at.Lines = map[string]int{}
	for _, one := range c.Assertions {
		at.Lines[one.ID] = one.Line
	}
	return at
}

// placeIn notes where the assertions of a result stand, where reports are asked for.
func (a *app) placeIn(ctx context.Context, r *result, template string) {
	if a.reports == nil || len(a.reports.all) == 0 && !a.reports.github.check {
		return
	}
	commit := ""
	if r.Record != nil {
		commit = r.Record.Subject.Commit
	}
	r.place = placeOf(context.WithoutCancel(ctx), a.directory, template, r.Issue, commit)
}

func summary(records []verdict.Record, _ []verdict.Place, _ exitCode) ([]byte, error) {
	var b bytes.Buffer
	for _, r := range records {
		text, err := r.Account(maxSummary / max(len(records), 1))
		if err != nil {
			return nil, err
		}
		b.WriteString(text + "\n")
	}
	return b.Bytes(), nil
}

func annotations(records []verdict.Record, at []verdict.Place, _ exitCode) ([]byte, error) {
	var all []verdict.Remark
	for i, r := range records {
		all = append(all, r.Remarks(at[i])...)
	}
	return []byte(verdict.Annotations(all)), nil
}

// outputs are lines NAME=value, whose values hold nothing that the ticket chose but issue ids.
func outputs(records []verdict.Record, _ []verdict.Place, code exitCode) ([]byte, error) {
	var issues []string
	outcome, criteria, met := verdict.Outcome(""), 0, 0
	for _, r := range records {
		issues = append(issues, r.Issue)
		if outcome == "" || worst([]exitCode{exitCode(outcome.ExitCode()), exitCode(r.Outcome.ExitCode())}) != exitCode(outcome.ExitCode()) {
			outcome = r.Outcome
		}
		for _, c := range r.Criteria {
			criteria++
			if c.Status == verdict.Met {
				met++
			}
		}
	}
	return fmt.Appendf(nil, "outcome=%s\nexit-code=%d\nissues=%s\ncriteria=%d\nmet=%d\n", outcome, code, strings.Join(issues, ","), criteria, met), nil
}
