package verdict

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestJUnit(t *testing.T) {
	r := sample()
	r.Criteria = append(r.Criteria, Criterion{ID: "VAL-4", Text: "x", Status: Blocked, Evidence: "no tty"})
	r.Findings = append(r.Findings, Finding{ID: "F-2", Severity: SeverityBlocking, Place: "a", Text: "b <c>"})
	r.Refusals = []Refusal{{NoContract, "none", []string{"write one"}}}
	got, err := r.JUnit()
	if err != nil {
		t.Fatal(err)
	}
	want := `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="trkr-validate 7" tests="7" failures="2" errors="3" skipped="1" time="1.520" timestamp="2026-01-02T03:04:05">
    <testcase classname="7" name="VAL-1: ~app --help~ exits 0">
      <system-out>exit 0 in 12ms</system-out>
    </testcase>
    <testcase classname="7" name="VAL-2: ~app~ prints usage">
      <failure type="unmet" message="expected usage,">expected usage,&#xA;got nothing</failure>
    </testcase>
    <testcase classname="7" name="VAL-3: looks nice">
      <skipped type="unverified" message=""></skipped>
    </testcase>
    <testcase classname="7" name="VAL-4: x">
      <error type="blocked" message="no tty">no tty</error>
    </testcase>
    <testcase classname="7" name="finding F-2">
      <failure type="finding" message="a: b &lt;c&gt;">a: b &lt;c&gt;</failure>
    </testcase>
    <testcase classname="7" name="diagnostic agent_exit">
      <error type="agent_exit" message="exit code 2">exit code 2</error>
    </testcase>
    <testcase classname="7" name="refused no_contract">
      <error type="no_contract" message="none">none&#xA;write one</error>
    </testcase>
  </testsuite>
</testsuites>
`
	if diff := cmp.Diff(strings.ReplaceAll(want, "~", "`"), string(got)); diff != "" {
		t.Error(diff)
	}
}

// TestJUnitIsValidAndNeverGreenByMistake reads whatever is written with an XML parser.
func TestJUnitIsValidAndNeverGreenByMistake(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := genRecord().Draw(t, "record")
		for i := range r.Criteria {
			r.Criteria[i].Status = rapid.SampledFrom([]Status{Met, Unmet, Blocked, Unverified, "odd"}).Draw(t, "status")
		}
		r.Outcome = rapid.SampledFrom([]Outcome{Clear, Blocking, Incomplete, Refused, Error, "odd"}).Draw(t, "outcome")
		data, err := r.JUnit()
		if err != nil {
			t.Fatal(err)
		}
		counts := map[string]int{}
		for dec := xml.NewDecoder(strings.NewReader(string(data))); ; {
			tok, err := dec.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%v in\n%s", err, data)
			}
			if e, ok := tok.(xml.StartElement); ok {
				counts[e.Name.Local]++
			}
		}
		red := counts["failure"] + counts["error"]
		if r.Outcome != Clear && red == 0 {
			t.Fatalf("%s looks green:\n%s", r.Outcome, data)
		}
		if r.Outcome == Clear && red > 0 && len(r.Diagnostics)+len(r.Refusals) == 0 && !hasBad(r) {
			t.Fatalf("clear looks red:\n%s", data)
		}
		if counts["testsuite"] != 1 || counts["testsuites"] != 1 {
			t.Fatalf("%v", counts)
		}
	})
}

func hasBad(r Record) bool {
	for _, c := range r.Criteria {
		if c.Status != Met && c.Status != Unverified {
			return true
		}
	}
	for _, f := range r.Findings {
		if f.Severity == SeverityBlocking {
			return true
		}
	}
	return false
}
