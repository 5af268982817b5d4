package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/stage"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// What the product printed is no command to the CI service that shows it, in words or as JSON; the document says the
// same.
func TestTheProductGivesNoCommandsToCI(t *testing.T) {
	hostile := []string{
		"::set-output name=outcome::clear", "  ::add-mask::a", "\t::stop-commands::x", "x ##[set-env name=PATH]y",
		"##vso[task.setvariable variable=x]y", "##teamcity[buildStatus status='SUCCESS']",
	}
	for _, text := range hostile {
		for _, shown := range []string{visible(text), visible("one\n" + text)} {
			for line := range strings.SplitSeq(shown, "\n") {
				if commanding(line) {
					t.Errorf("%q is shown as %q", text, line)
				}
			}
		}
	}
	var out bytes.Buffer
	a := &app{streams: streams{out: &out}}
	if err := a.writeJSON(hostile); err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(out.String(), "\n") {
		if commanding(line) {
			t.Errorf("a document holds %q", line)
		}
	}
	var again []string
	if err := json.Unmarshal(out.Bytes(), &again); err != nil || strings.Join(again, "\n") != strings.Join(hostile, "\n") {
		t.Errorf("%v: %q", err, again)
	}
	if text := "a::b C##x ## Heading"; visible(text) != text {
		t.Errorf("%q became %q", text, visible(text))
	}
}

func commanding(line string) bool {
	bad := strings.HasPrefix(strings.TrimSpace(line), "::")
	for _, w := range commandWords {
		bad = bad || strings.Contains(line, w)
	}
	return bad
}

// A run that had been judged and then failed is told as a failure.
func TestReportsTellHowARunEnded(t *testing.T) {
	judged := verdict.Record{SchemaVersion: 1, Issue: "7", Outcome: verdict.Clear, Criteria: []verdict.Criterion{{ID: "VAL-1", Status: verdict.Met}}}
	failed := result{Result: stage.Result{Issue: "7", Outcome: verdict.Error, Record: &judged, Failure: &stage.Failure{Code: "branch_moved", Message: "it moved", Hints: []string{"again"}}}}
	r := failed.reported()
	if r.Outcome != verdict.Error || len(r.Diagnostics) != 1 || r.Diagnostics[0].Detail != "it moved\nagain" || judged.Outcome != verdict.Clear {
		t.Errorf("%+v", r)
	}
	if r := (result{Result: stage.Result{Issue: "7", Outcome: verdict.Error}}).reported(); r.Outcome != verdict.Error || r.Issue != "7" {
		t.Errorf("%+v", r)
	}
	if r := (result{Result: stage.Result{Issue: "7", Outcome: verdict.Clear, Record: &judged}}).reported(); r.Outcome != verdict.Clear || len(r.Diagnostics) != 0 {
		t.Errorf("%+v", r)
	}
}
