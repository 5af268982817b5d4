package verdict

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/trkr-dev/trkr-validate/contract"
)

const (
	reviewOpen  = "<acceptance-review>"
	reviewClose = "</acceptance-review>"
	maxReview   = 48_000 // UTF-16 units between the tags
	maxResults  = 20     // of one review
	maxID       = 80     // UTF-16 units, as are the next two
	maxSnapshot = contract.MaxText
	maxProof    = 1024
)

// review is a typed acceptance review, schema version 1.
type review struct {
	SchemaVersion int      `json:"schemaVersion"`
	Results       []result `json:"results"`
}

type result struct {
	CriterionID       string `json:"criterionId"`
	CriterionSnapshot string `json:"criterionSnapshot"`
	Status            Status `json:"status"`
	Evidence          string `json:"evidence"`
}

// check trims r's strings and says what breaks the schema; never the payload.
func (r *review) check() error {
	if r.SchemaVersion != 1 {
		return fmt.Errorf("its schemaVersion is not 1")
	}
	if len(r.Results) == 0 || len(r.Results) > maxResults {
		return fmt.Errorf("it has %d results, not 1 to %d", len(r.Results), maxResults)
	}
	ids := map[string]bool{}
	for i := range r.Results {
		res := &r.Results[i]
		for _, field := range []struct {
			name  string
			value *string
			limit int
		}{
			{"criterionId", &res.CriterionID, maxID},
			{"criterionSnapshot", &res.CriterionSnapshot, maxSnapshot},
			{"evidence", &res.Evidence, maxProof},
		} {
			*field.value = trimSpace(*field.value)
			if n := contract.Units(*field.value); n == 0 || n > field.limit {
				return fmt.Errorf("%s of result %d has %d characters, not 1 to %d", field.name, i+1, n, field.limit)
			}
		}
		switch res.Status {
		case Met, Unmet, Blocked, Unverified:
		default:
			return fmt.Errorf("status of result %d is none of met, unmet, blocked, unverified", i+1)
		}
		if ids[res.CriterionID] {
			return fmt.Errorf("criterionId of result %d is used twice", i+1)
		}
		ids[res.CriterionID] = true
	}
	return nil
}

// reviews follows the typed reviews of one report through its lines. They are absent (no tag), invalid, or a report.
type reviews struct {
	contract contract.Contract
	content  []byte
	units    int
	blocks   int
	open     bool
	invalid  string // the first thing wrong
	results  []Reported
}

func (v *reviews) present() bool { return v.blocks > 0 }

// line takes the next line and reports whether it belongs to a review.
func (v *reviews) line(line []byte, cut bool) bool {
	if len(line) > 0 && line[0] == '<' {
		if rest, ok := bytes.CutPrefix(line, []byte(reviewOpen)); ok {
			v.begin()
			v.take(rest, cut)
			return true
		}
		if rest, ok := bytes.CutPrefix(line, []byte(reviewClose)); ok {
			v.end()
			if len(bytes.TrimSpace(rest)) > 0 || cut {
				v.fail("text follows its closing tag")
			}
			return true
		}
	}
	if v.open {
		v.take(line, cut)
		return true
	}
	if v.blocks > 0 && v.invalid == "" && (cut || len(bytes.TrimSpace(line)) > 0) {
		v.fail("text follows it")
	}
	return false
}

func (v *reviews) begin() {
	if v.open {
		v.fail("its opening tag stands twice")
	}
	v.open = true
	v.blocks++
	v.content, v.units = v.content[:0], 0
}

func (v *reviews) take(line []byte, cut bool) {
	if v.invalid != "" {
		return
	}
	if v.units += units(line) + 1; v.units > maxReview || cut {
		v.fail(fmt.Sprintf("it has more than %d characters", maxReview))
		return
	}
	v.content = append(append(v.content, line...), '\n')
}

func (v *reviews) end() {
	if !v.open {
		v.blocks = max(v.blocks, 1)
		v.fail("its closing tag has no opening tag")
		return
	}
	v.open = false
	if v.invalid != "" {
		return
	}
	var r review
	if err := strictJSON(v.content, &r); err != nil {
		v.fail(err.Error())
		return
	}
	if err := r.check(); err != nil {
		v.fail(err.Error())
		return
	}
	for i, res := range r.Results {
		a, ok := v.contract.Lookup(res.CriterionID)
		if !ok {
			v.fail(fmt.Sprintf("criterionId of result %d is not in the contract", i+1))
			return
		}
		if res.CriterionSnapshot != a.Text {
			v.fail(fmt.Sprintf("criterionSnapshot of result %d is not the contract's wording", i+1))
			return
		}
		for _, have := range v.results {
			if have.ID == res.CriterionID {
				v.fail(fmt.Sprintf("criterionId of result %d stands in an earlier review as well", i+1))
				return
			}
		}
		v.results = append(v.results, Reported{ID: res.CriterionID, Status: res.Status, Evidence: res.Evidence})
	}
}

func (v *reviews) finish() {
	if v.open {
		v.fail("its closing tag is missing")
	}
}

// fail makes the whole typed report invalid: one part that lies takes the others' word away.
func (v *reviews) fail(why string) {
	if v.invalid == "" {
		v.invalid = fmt.Sprintf("typed acceptance review %d is invalid: %s", max(v.blocks, 1), why)
	}
	v.results, v.content = nil, nil
}

// units counts UTF-16 units without making a string.
func units(b []byte) int {
	n := utf8.RuneCount(b)
	for _, c := range b {
		if c >= 0xf0 && c < 0xf8 {
			n++ // a character beyond the basic plane takes two
		}
	}
	return n
}
