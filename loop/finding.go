// Package loop is what stands between one validation of a ticket and the next: what the implementer hands over, which
// findings remain, what a triage agent may propose about them, and when to go on, to stop, or to ask a person. It knows
// no engine and starts no box; whoever drives it does.
package loop

import (
	"strconv"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/pattern"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// Source says which stage a finding comes from.
type Source string

// The sources.
const (
	FromValidation  Source = "validation"  // a run's agents, or the run itself
	FromReview      Source = "review"      // a report that was checked with report check
	FromHandoff     Source = "handoff"     // what the handoff does not disclose
	FromImplementer Source = "implementer" // what the handoff discloses as a discovered issue
)

// Finding is a remark as the loop carries it from turn to turn.
type Finding struct {
	ID       string           `json:"id"` // stable: the same defect in the next turn has the same id
	Source   Source           `json:"source"`
	Severity verdict.Severity `json:"severity"`
	Place    Place            `json:"place"`
	Text     string           `json:"text"`
	Criteria []string         `json:"criteria"` // assertion ids that it is about
}

// Place says where a finding is. Text is what was reported; the rest is set where that names a file.
type Place struct {
	Text   string `json:"text"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// Typed makes a Finding of one that a report holds.
func Typed(f verdict.Finding, from Source) Finding {
	out := Finding{ID: f.ID, Source: from, Severity: f.Severity, Place: ParsePlace(f.Place), Text: f.Text, Criteria: f.Criteria}
	if out.ID == "" {
		out.ID = verdict.FindingID(f)
	}
	if out.Criteria == nil {
		out.Criteria = []string{}
	}
	return out
}

var (
	numbered = pattern.Regexp(`^(.+?):([0-9]{1,9})(?::([0-9]{1,9}))?$`)
	fileName = pattern.Regexp(`^[^\s:]*(?:/[^\s:]*|\.[A-Za-z0-9]+)$`)
)

// ParsePlace reads "src/poll.ts:42", with a column or without any number. What names no file is text alone.
func ParsePlace(text string) Place {
	p := Place{Text: text}
	bare := strings.Trim(text, "`")
	if m := numbered().FindStringSubmatch(bare); m != nil {
		line, _ := strconv.Atoi(m[2]) // digits
		column, _ := strconv.Atoi(m[3])
		p.File, p.Line, p.Column = m[1], line, column
	} else if fileName().MatchString(bare) {
		p.File = bare
	}
	return p
}

// blocking is a finding of the loop's own.
func blocking(from Source, place, text string, criteria ...string) Finding {
	return Typed(verdict.Finding{Severity: verdict.SeverityBlocking, Place: place, Text: text, Criteria: criteria}, from)
}
