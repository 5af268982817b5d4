package main

import (
	"fmt"
	"strings"

	"github.com/trkr-dev/trkr-validate/stage"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// result is what became of a run as it is told.
type result struct {
	stage.Result
	again  bool          // the verdict was there before this call
	stale  string        // why it is not known to be about what the ticket is now; empty where it is
	commit string        // that the gate looked at
	gate   *gateJSON     // of gate
	place  verdict.Place // of the assertions; for reports
}

// exit is the exit code of one result. Nothing is known of code that the verdict is not about.
func (r result) exit() exitCode {
	if r.stale != "" && judged(r.Outcome) {
		return exitIncomplete
	}
	return exitCode(r.ExitCode())
}

// documentOf makes the JSON document of one call.
func documentOf(results []result, code exitCode) document {
	doc := document{SchemaVersion: 1, ExitCode: code, Results: []resultJSON{}}
	for _, r := range results {
		one := resultJSON{
			Issue: r.Issue, RunID: r.RunID, Outcome: r.Outcome, ExitCode: r.exit(),
			Record: r.Record, Refusals: orEmpty(r.Refusals), Stale: r.stale != "",
		}
		if r.Failure != nil {
			one.Error = &errorJSON{Code: r.Failure.Code, Step: r.Failure.Step, Message: r.Failure.Message, Hints: orEmpty(r.Failure.Hints)}
		}
		if r.Recorded != nil {
			one.Recorded = &recordedJSON{Commit: r.Recorded.Commit, Path: r.Recorded.Path}
		}
		one.Gate = r.gate
		doc.Results = append(doc.Results, one)
	}
	return doc
}

// failureOf puts a refusal or an error of one run into words; nil where it was judged.
func failureOf(r stage.Result) *failure {
	f := &failure{exit: exitCode(r.ExitCode())}
	for _, refusal := range r.Refusals {
		f.reasons = append(f.reasons, reason{fmt.Sprintf("%s: %s", r.Issue, refusal.Error()), refusal.Hints})
	}
	if r.Failure != nil {
		f.reasons = append(f.reasons, reason{fmt.Sprintf("%s: %s", r.Issue, r.Failure.Message), r.Failure.Hints})
	}
	if len(f.reasons) == 0 {
		return nil
	}
	return f
}

// openHint tells what to do about criteria that nobody could judge.
func openHint(r stage.Result) string {
	if r.Record == nil || r.Outcome != verdict.Incomplete || len(r.Record.Diagnostics) > 0 {
		return ""
	}
	open := 0
	for _, c := range r.Record.Criteria {
		if c.Status == verdict.Unverified {
			open++
		}
	}
	if open == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d could not be told without a model or a person; trkr-validate contract show %s --explain says what the probe reads of each", open, len(r.Record.Criteria), r.Issue)
}

// report prints one result: the outcome alone with --quiet, else all that a person acts on.
func (a *app) report(r result) error {
	var b strings.Builder
	b.WriteString(headline(r))
	if !a.quiet {
		if r.Record != nil {
			details(&b, *r.Record)
		}
		where(&b, a, r)
	}
	return a.printf("%s", b.String())
}

func headline(r result) string {
	line := fmt.Sprintf("%s: %s", r.Issue, r.Outcome)
	if r.Record != nil && len(r.Record.Criteria) > 0 {
		met := 0
		for _, c := range r.Record.Criteria {
			if c.Status == verdict.Met {
				met++
			}
		}
		line += fmt.Sprintf(", %d of %d met", met, len(r.Record.Criteria))
	}
	if r.stale != "" {
		line += ", stale: " + r.stale
	}
	return visible(line) + "\n"
}

// details lists criteria, findings and diagnostics; evidence only where it is needed to act.
func details(b *strings.Builder, record verdict.Record) {
	width := 0
	for _, c := range record.Criteria {
		width = max(width, len(c.ID))
	}
	for _, c := range record.Criteria {
		prefix := fmt.Sprintf("  %-10s  %-*s  ", c.Status, width, visible(c.ID))
		say(b, prefix, c.Text)
		if c.Status != verdict.Met && c.Evidence != "" {
			say(b, strings.Repeat(" ", len(prefix)), c.Evidence)
		}
	}
	for _, f := range record.Findings {
		text := f.Text
		if f.Place != "" {
			text = f.Place + ": " + text
		}
		say(b, fmt.Sprintf("  %-10s  ", f.Severity), text)
	}
	for _, d := range record.Diagnostics {
		text := d.Code
		if d.Detail != "" {
			text += ": " + d.Detail
		}
		say(b, "  diagnostic  ", text)
	}
}

// where says what was written.
func where(b *strings.Builder, a *app, r result) {
	if r.Recorded != nil {
		branch := ""
		if r.Record != nil && r.Record.Subject.Branch != "" {
			branch = " on " + r.Record.Subject.Branch
		}
		switch {
		case r.again:
			say(b, "  recorded    ", r.Recorded.Path+branch)
		case r.Recorded.Commit == "":
			say(b, "  recorded    ", r.Recorded.Path+" says so already")
		default:
			say(b, "  recorded    ", fmt.Sprintf("%s in %s%s", r.Recorded.Path, short(r.Recorded.Commit), branch))
		}
	}
	if r.gate != nil {
		if r.gate.SignedBy != "" {
			say(b, "  signed by   ", r.gate.SignedBy)
		}
		for _, what := range r.gate.Unchecked {
			say(b, "  not checked ", what)
		}
	}
	if r.RunDir != "" {
		say(b, "  run         ", a.shown(r.RunDir))
	}
}

func short(commit string) string { return commit[:min(12, len(commit))] }
