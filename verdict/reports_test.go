package verdict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/joshdk/go-junit"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

var contractAt = Place{Path: ".trkr/tickets/7/contract.md", Lines: map[string]int{"VAL-2": 4}}

// sarifSchema is OASIS's for SARIF 2.1.0, as the npm package @microsoft/jest-sarif (MIT) ships it.
func sarifSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile("testdata/sarif-2.1.0-rtm.5.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("sarif.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Whatever a record holds, its SARIF is what the standard's schema allows, and a record that is not clear never looks so.
func TestSARIFKeepsItsSchema(t *testing.T) {
	schema := sarifSchema(t)
	if err := schema.Validate(map[string]any{"version": "2.1.0"}); err == nil {
		t.Fatal("the schema allows a log without runs: it checks nothing")
	}
	rapid.Check(t, func(t *rapid.T) {
		r := genRecord().Draw(t, "record")
		at := Place{Path: rapid.String().Draw(t, "path"), Lines: map[string]int{"VAL-1": rapid.IntRange(-1, 9).Draw(t, "line")}}
		text, err := SARIF([]Record{r, sample()}, []Place{at, contractAt})
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(doc); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		var log sarifLog
		if err := json.Unmarshal(text, &log); err != nil || len(log.Runs) != 2 {
			t.Fatalf("%v, %d runs", err, len(log.Runs))
		}
		bad := slices.ContainsFunc(log.Runs[0].Results, func(x sarifResult) bool { return x.Level != LevelNote })
		if r.Outcome != Clear && !bad {
			t.Fatalf("%q looks clear:\n%s", r.Outcome, text)
		}
		for _, x := range log.Runs[0].Results {
			if log.Runs[0].Tool.Driver.Rules[x.RuleIndex].ID != x.RuleID {
				t.Fatalf("rule %d is not %q", x.RuleIndex, x.RuleID)
			}
		}
	})
}

func TestSARIFPointsAtTheContract(t *testing.T) {
	text, err := SARIF([]Record{sample()}, []Place{contractAt})
	if err != nil {
		t.Fatal(err)
	}
	var log sarifLog
	if err := json.Unmarshal(text, &log); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range log.Runs[0].Results {
		at := x.Locations[0].Physical
		got = append(got, fmt.Sprintf("%s %s %s:%d %s", x.Level, x.RuleID, at.Artifact.URI, at.Region.StartLine, x.Message.Text))
	}
	want := []string{
		"error VAL-2 .trkr/tickets/7/contract.md:4 unmet: expected usage,\ngot nothing",
		"warning VAL-3 .trkr/tickets/7/contract.md:1 unverified: ",
		"warning agent_exit .trkr/tickets/7/contract.md:1 exit code 2",
		"note finding .trkr/tickets/7/contract.md:1 app: slow",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	clear := sample()
	clear.Outcome, clear.Criteria, clear.Diagnostics, clear.Findings = Clear, clear.Criteria[:1], nil, nil
	if text, err := SARIF([]Record{clear}, []Place{contractAt}); err != nil || !strings.Contains(string(text), `"results": []`) {
		t.Errorf("%v\n%s", err, text)
	}
	// The same remark is the same in the next run, whatever was seen this time.
	first, again := sample().Remarks(contractAt)[0], sample().Remarks(contractAt)[0]
	again.Text = "unmet: after 13ms"
	if first.fingerprint("7") != again.fingerprint("7") || first.fingerprint("7") == first.fingerprint("8") {
		t.Error("a fingerprint tells times, or does not tell issues")
	}
}

// Another parser than ours reads the same from JUnit, whatever bytes the evidence holds.
func TestJUnitIsReadByAnother(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := genRecord().Draw(t, "record")
		for i := range r.Criteria {
			r.Criteria[i].Status = rapid.SampledFrom([]Status{Met, Unmet, Blocked, Unverified}).Draw(t, "status")
		}
		text, err := JUnit([]Record{r, sample()})
		if err != nil {
			t.Fatal(err)
		}
		suites, err := junit.Ingest(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if len(suites) != 2 {
			t.Fatalf("%d suites", len(suites))
		}
		count := map[junit.Status]int{}
		for _, c := range suites[0].Tests[:len(r.Criteria)] {
			count[c.Status]++
		}
		want := map[junit.Status]int{}
		for _, c := range r.Criteria {
			want[map[Status]junit.Status{Met: junit.StatusPassed, Unmet: junit.StatusFailed, Blocked: junit.StatusError, Unverified: junit.StatusSkipped}[c.Status]]++
		}
		for s, n := range want {
			if count[s] != n {
				t.Fatalf("%d are %s, want %d", count[s], s, n)
			}
		}
	})
}

// An annotation is one line and one command, no more than GitHub shows, and says so.
func TestAnnotationsKeepTheirLimits(t *testing.T) {
	r := Record{Outcome: Blocking, Issue: "7"}
	for i := range 30 {
		r.Criteria = append(r.Criteria, Criterion{ID: fmt.Sprintf("VAL-%d", i+1), Text: "a, b: 100%\n::error::x", Status: Unmet, Evidence: strings.Repeat("é", 5000) + "\n::set-output name=x::y\r"})
	}
	r.Diagnostics = []Diagnostic{{Code: "agent_exit", Detail: "exit code 2"}}
	r.Findings = []Finding{{Severity: SeverityNote, Text: "hm"}}
	lines := strings.Split(strings.TrimSuffix(Annotations(r.Remarks(contractAt)), "\n"), "\n")
	if len(lines) != 12 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, l := range lines {
		command, text, _ := strings.Cut(strings.TrimPrefix(l, "::"), "::")
		if len(text) > maxAnnotation+10 || strings.ContainsAny(l, "\r") {
			t.Errorf("%d bytes: %s", len(text), command)
		}
	}
	if want := "::error file=.trkr/tickets/7/contract.md,line=4,title=VAL-2%3A a%2C b%3A 100%25%0A%3A%3Aerror%3A%3Ax::unmet: éé"; !strings.HasPrefix(lines[1], want) {
		t.Errorf("%.200s", lines[1])
	}
	if lines[9] != "::error title=trkr-validate::and 21 more, in the summary and the reports" {
		t.Error(lines[9])
	}
	if lines[10] != "::warning file=.trkr/tickets/7/contract.md,line=1,title=agent_exit::exit code 2" || !strings.HasPrefix(lines[11], "::notice ") {
		t.Error(lines[10:])
	}
}

// The account is cut in whole lines, and what is left is still the account.
func TestAccountFitsWhereItGoes(t *testing.T) {
	whole, err := sample().Account(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	text, err := sample().Markdown()
	if err != nil || !strings.HasPrefix(string(text), whole+recordHead) {
		t.Errorf("%v: the account is no part of validation.md", err)
	}
	for most := 100; most < len(whole); most += 37 {
		cut, err := sample().Account(most)
		if err != nil || len(cut) > most {
			t.Fatalf("%v: %d bytes, %d are the most", err, len(cut), most)
		}
		kept, _, _ := strings.Cut(cut, "\n… and more")
		if !strings.HasPrefix(whole, kept) || kept != "" && !strings.HasSuffix(kept, "\n") {
			t.Fatalf("cut within a line: %q", kept)
		}
	}
}
