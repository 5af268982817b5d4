package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Level of a remark.
type Level string

// The levels, by their names in SARIF.
const (
	LevelError   Level = "error"   // it keeps the outcome from clear: unmet, BLOCKING, refused, a failure
	LevelWarning Level = "warning" // it could not be told
	LevelNote    Level = "note"
)

// Remark is one thing that somebody who reads the code in CI should see beside it.
type Remark struct {
	Level Level
	Rule  string // an assertion's id, a reason, a diagnostic's code, "finding"
	About string // the assertion's text; else empty
	Text  string
	Path  string // in the repository, with slashes
	Line  int    // from 1
}

// Place says where the assertions of a record stand: the contract's path in the repository, and the lines there by id.
type Place struct {
	Path  string
	Lines map[string]int
}

// Remarks are those of a record, the worst first: one for each criterion that is not met, each finding, diagnostic and
// refusal. A record that is not clear has one of LevelError or LevelWarning.
func (r Record) Remarks(at Place) []Remark {
	var out []Remark
	say := func(level Level, rule, about, text string) {
		out = append(out, Remark{Level: level, Rule: rule, About: about, Text: cmp.Or(text, about, rule), Path: at.Path, Line: max(at.Lines[rule], 1)})
	}
	for _, c := range r.Criteria {
		switch c.Status {
		case Met:
		case Unmet:
			say(LevelError, c.ID, c.Text, fmt.Sprintf("unmet: %s", c.Evidence))
		default:
			say(LevelWarning, c.ID, c.Text, fmt.Sprintf("%s: %s", c.Status, c.Evidence))
		}
	}
	for _, f := range r.Findings {
		level := LevelNote
		if f.Severity == SeverityBlocking {
			level = LevelError
		}
		say(level, "finding", "", strings.TrimPrefix(f.Place+": "+f.Text, ": "))
	}
	for _, f := range r.Refusals {
		say(LevelError, string(f.Reason), "", strings.Join(append([]string{f.Detail}, f.Hints...), "\n"))
	}
	for _, d := range r.Diagnostics {
		level := LevelWarning
		if r.Outcome == Error {
			level = LevelError
		}
		say(level, d.Code, "", d.Detail)
	}
	if r.Outcome != Clear && !slices.ContainsFunc(out, func(x Remark) bool { return x.Level != LevelNote }) {
		say(LevelError, "outcome", "", "the outcome is "+string(r.Outcome))
	}
	rank := []Level{LevelError, LevelWarning, LevelNote}
	slices.SortStableFunc(out, func(a, b Remark) int { return slices.Index(rank, a.Level) - slices.Index(rank, b.Level) })
	return out
}
