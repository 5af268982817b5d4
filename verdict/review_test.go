package verdict

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/trkr-dev/trkr-validate/contract"
)

// typed writes a review with a result for VAL-1, VAL-2, ... in the contract's wording.
func typed(statuses ...string) string {
	var results []string
	for i, s := range statuses {
		results = append(results, fmt.Sprintf(`{"criterionId":"VAL-%d","criterionSnapshot":"the program does thing %d","status":"%s","evidence":"saw it"}`, i+1, i+1, s))
	}
	return reviewOpen + "\n" + `{"schemaVersion":1,"results":[` + strings.Join(results, ",") + "]}\n" + reviewClose + "\n"
}

func TestTypedReview(t *testing.T) {
	const secret = "sk-payload"
	swap := func(old, with string) string { return strings.Replace(typed("met", "met"), old, with, 1) }
	second := strings.NewReplacer("VAL-1", "VAL-2", "thing 1", "thing 2").Replace(typed("met"))
	for name, tc := range map[string]struct{ in, want string }{
		"all met":           {typed("met", "met"), "1=met(saw it) 2=met(saw it)||CLEAR|"},
		"unmet":             {"Done.\n" + typed("unmet", "met"), "1=unmet(saw it) 2=met(saw it)||BLOCKING|"},
		"left open":         {typed("met", "unverified"), "1=met(saw it) 2=unverified(saw it)|||"},
		"back to back":      {typed("met") + "\n" + second, "1=met(saw it) 2=met(saw it)||CLEAR|"},
		"crlf":              {strings.ReplaceAll(typed("met", "met"), "\n", "\r\n"), "1=met(saw it) 2=met(saw it)||CLEAR|"},
		"trimmed":           {swap(`"VAL-1"`, `"\ufeff VAL-1\n"`), "1=met(saw it) 2=met(saw it)||CLEAR|"},
		"json on the tag":   {swap(reviewOpen+"\n", reviewOpen), "1=met(saw it) 2=met(saw it)||CLEAR|"},
		"findings before":   {"FINDING: NOTE — a — b\n" + typed("met", "met"), "1=met(saw it) 2=met(saw it)|NOTE(a;b)|CLEAR|"},
		"blocking before":   {"FINDING: BLOCKING — a — b\n" + typed("met", "met"), "1=met(saw it) 2=met(saw it)|BLOCKING(a;b)|BLOCKING|"},
		"verdict before":    {"VERDICT: CLEAR\n" + typed("met", "met"), "1=met(saw it) 2=met(saw it)||CLEAR|"},
		"verdict differs":   {"VERDICT: CLEAR\n" + typed("unmet", "met"), "1=unmet(saw it) 2=met(saw it)||CLEAR|clear_with_objection"},
		"lines as well":     {good[:strings.Index(good, "VERDICT")] + typed("met", "met"), "1=met(ran it) 2=met(saw it) 1=met(saw it) 2=met(saw it)||CLEAR|criterion_repeated"},
		"proof without any": {swap("saw it", "..."), "1=met(...) 2=met(saw it)||CLEAR|pass_without_evidence"},
		"indented is none":  {"  " + strings.TrimSpace(typed("met", "met")[:20]), "|||verdict_missing"},

		"text after":           {typed("met", "met") + "Thanks", "|||review_invalid"},
		"text on the tag":      {strings.TrimSpace(typed("met", "met")) + " Thanks", "|||review_invalid"},
		"text between":         {typed("met") + "and\n" + second, "|||review_invalid"},
		"lines after":          {typed("met", "met") + good, "1=met(ran it) 2=met(saw it)||CLEAR|review_invalid"},
		"forged before":        {typed("met", "met") + "Really:\n" + typed("unmet", "met"), "|||review_invalid"},
		"twice the same":       {typed("met", "met") + typed("met"), "|||review_invalid"},
		"never closed":         {strings.TrimSuffix(strings.TrimSpace(typed("met", "met")), reviewClose), "|||review_invalid"},
		"never opened":         {reviewClose + "\n", "|||review_invalid"},
		"closed in its line":   {strings.ReplaceAll(typed("met", "met"), "\n", ""), "|||review_invalid"},
		"opened twice":         {reviewOpen + "\n" + typed("met", "met"), "|||review_invalid"},
		"fenced json":          {swap(`{"schema`, "```json\n{\"schema"), "|||review_invalid"},
		"lines inside":         {swap(reviewClose, "CRITERION: fail — VAL-1: x\n"+reviewClose), "1=unmet(x)|||review_invalid"},
		"empty":                {reviewOpen + "\n" + reviewClose, "|||review_invalid"},
		"no results":           {reviewOpen + `{"schemaVersion":1,"results":[]}` + "\n" + reviewClose, "|||review_invalid"},
		"21 results":           {typed(strings.Split(strings.Repeat("met ", 20)+"met", " ")...), "|||review_invalid"},
		"version":              {swap(`"schemaVersion":1`, `"schemaVersion":2`), "|||review_invalid"},
		"version as text":      {swap(`"schemaVersion":1`, `"schemaVersion":"1"`), "|||review_invalid"},
		"unknown key":          {swap(`"status"`, `"note":"sk-payload","status"`), "|||review_invalid"},
		"key of another case":  {swap(`"status"`, `"Status"`), "|||review_invalid"},
		"key twice":            {swap(`"status":"met"`, `"status":"unmet","status":"met"`), "|||review_invalid"},
		"null":                 {swap(`"saw it"`, `null`), "|||review_invalid"},
		"deep":                 {swap(`"saw it"`, strings.Repeat("[", 10000)), "|||review_invalid"},
		"two values":           {swap("]}", "]}{}"), "|||review_invalid"},
		"status of lines":      {swap(`"met"`, `"pass"`), "|||review_invalid"},
		"snapshot differs":     {swap("thing 1", "thing one sk-payload"), "|||review_invalid"},
		"unknown id":           {swap("VAL-1", "VAL-9"), "|||review_invalid"},
		"id twice":             {swap("VAL-2", "VAL-1"), "|||review_invalid"},
		"evidence empty":       {swap("saw it", " \\n "), "|||review_invalid"},
		"evidence missing":     {swap(`,"evidence":"saw it"`, ""), "|||review_invalid"},
		"evidence too long":    {swap("saw it", strings.Repeat("é", 1025)), "|||review_invalid"},
		"evidence in surrogat": {swap("saw it", strings.Repeat("😀", 513)), "|||review_invalid"},
		"too long":             {swap(`{"schema`, strings.Repeat(" ", maxReview)+`{"schema`), "|||review_invalid"},
		"endless":              {reviewOpen + "\n" + strings.Repeat("x\n", 1<<20), "|||review_invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			r := parse(t, tc.in, 2)
			if diff := cmp.Diff(tc.want, brief(r)); diff != "" {
				t.Errorf("%s%v", diff, r.Diagnostics)
			}
			for _, d := range r.Diagnostics {
				if strings.Contains(d.Detail, secret) {
					t.Errorf("the payload is in %q", d.Detail)
				}
			}
			clear := Judge(agreed(t, 2), []AgentReport{{Report: r}}).Outcome == Clear
			if want := strings.HasSuffix(tc.want, "CLEAR|") && !strings.Contains(tc.want, "BLOCKING("); clear != want {
				t.Errorf("clear is %v", clear)
			}
		})
	}
	long := strings.Replace(typed("met", "met"), "saw it", strings.Repeat("é", 1024), 1)
	if got := parse(t, long, 2); len(got.Diagnostics) > 0 {
		t.Errorf("1024 characters are refused: %v", got.Diagnostics)
	}
}

func TestReviewsAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 65).Draw(t, "n")
		var c contract.Contract
		r := Record{SchemaVersion: 1}
		for i := range n {
			a := contract.Assertion{ID: fmt.Sprintf("VAL-%d", i+1), Text: rapid.StringMatching("[a-z😀`<][a-z😀 ]{0,250}[a-z]").Draw(t, "text")}
			c.Assertions = append(c.Assertions, a)
			evidence := rapid.OneOf(rapid.String(), rapid.StringN(900, 2000, -1), rapid.Just("\x00\xff")).Draw(t, "evidence")
			r.Criteria = append(r.Criteria, Criterion{ID: a.ID, Text: a.Text, Status: rapid.SampledFrom([]Status{Met, Unmet, Blocked, Unverified}).Draw(t, "status"), Evidence: evidence})
		}
		reports, err := r.Reviews()
		if err != nil {
			t.Fatal(err)
		}
		if want := (n + 19) / 20; len(reports) != want {
			t.Fatalf("%d reports, want %d", len(reports), want)
		}
		at := 0
		for _, data := range reports {
			var rev review
			if err := strictJSON(data, &rev); err != nil {
				t.Fatal(err)
			}
			if err := rev.check(); err != nil {
				t.Fatal(err)
			}
			for _, res := range rev.Results {
				want := r.Criteria[at]
				if res.CriterionID != want.ID || res.CriterionSnapshot != want.Text || res.Status != want.Status {
					t.Fatalf("result %d is %+v, want %+v", at, res, want)
				}
				at++
			}
		}
		if at != n {
			t.Fatalf("%d results, want %d", at, n)
		}
	})
}

func TestReviewsCutAndRefuse(t *testing.T) {
	r := Record{Criteria: []Criterion{{ID: " VAL-1 ", Text: "x ", Status: Met, Evidence: " " + strings.Repeat("😀", 600)}, {ID: "VAL-2", Text: "y", Status: Unverified}}}
	reports, err := r.Reviews()
	if err != nil {
		t.Fatal(err)
	}
	var got review
	if err := json.Unmarshal(reports[0], &got); err != nil {
		t.Fatal(err)
	}
	want := review{1, []result{{"VAL-1", "x", Met, strings.Repeat("😀", 511) + "…"}, {"VAL-2", "y", Unverified, "no evidence was reported"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name, c := range map[string][]Criterion{
		"long id":     {{ID: strings.Repeat("x", 81), Text: "x", Status: Met}},
		"long text":   {{ID: "x", Text: strings.Repeat("x", 513), Status: Met}},
		"no text":     {{ID: "x", Text: " ", Status: Met}},
		"no status":   {{ID: "x", Text: "x"}},
		"twice":       {{ID: "x", Text: "x", Status: Met}, {ID: "x ", Text: "x", Status: Met}},
		"twice, late": append(many(20), Criterion{ID: "id0", Text: "x", Status: Met}),
	} {
		if _, err := (Record{Criteria: c}).Reviews(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func many(n int) []Criterion {
	var out []Criterion
	for i := range n {
		out = append(out, Criterion{ID: fmt.Sprintf("id%d", i), Text: "x", Status: Met})
	}
	return out
}
