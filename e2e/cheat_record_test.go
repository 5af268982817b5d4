package e2e

import (
	"encoding/json"
	"testing"
)

var (
	// A branch that has a verdict about its code needs no other.
	sameVerdict = &defence{edits: []edit{{"stage/record.go", "if r.saysSoAlready(last) {", "if len(last) > 0 {"}}}
	vouchedFor  = &defence{edits: []edit{{"cmd/trkr-validate/cmd_show.go", "committed.stale = \"no run", "_ = \"no run"}}}
	notTracked  = &defence{edits: []edit{{"cmd/trkr-validate/history.go", "h.foreign[run] = true", "_ = run"}}}
	// What was not checked does not count.
	allOfThem = &defence{edits: []edit{
		{"verdict/judge.go", "case open, len(j.Criteria) == 0,", "case open && false, len(j.Criteria) == 0,"},
		{"verdict/judge.go", "if missing.n > 0 {", "if false {"},
	}}
)

// planted is a ticket whose branch holds a clear verdict that no run made.
func planted(t *testing.T) *repo {
	t.Helper()
	r := ticketed(t, agreed, nil, nil)
	r.git("branch", "-qf", "trkr/7", r.forged())
	return r
}

// A verdict is there before anybody judged.
var recordCheats = []cheat{
	{
		name: "planted validation.md", tries: "the branch holds a clear verdict about its code, and the run finds it",
		prepare: func(t *testing.T) (*repo, []string) { return planted(t), nil },
		want:    "blocking", won: trailIsClear, gains: "and the branch says clear", without: sameVerdict,
	},
	{
		name: "planted validation.md, shown", tries: "the branch holds such a verdict, and show is asked for it",
		prepare: func(t *testing.T) (*repo, []string) { return planted(t), []string{"show", "7"} },
		want:    "clear stale", without: vouchedFor,
	},
	{
		name: "planted run folder", tries: "a branch that is checked out holds a run folder that vouches for that verdict",
		prepare: func(t *testing.T) (*repo, []string) {
			r := planted(t)
			rec := r.committed("trkr/7")
			id := rec.RunID
			text, err := json.Marshal(rec)
			if err != nil {
				t.Fatal(err)
			}
			r.git("checkout", "-q", "-b", "trkr/8", "main")
			r.write(files{
				".trkr/runs/" + id + "/record.json":  string(text),
				".trkr/runs/" + id + "/events.jsonl": `{"schemaVersion":1,"seq":1,"runId":"` + id + `","issue":"7","type":"run.finished","outcome":"clear"}` + "\n",
			})
			r.git("add", "-f", ".trkr/runs")
			r.git("commit", "-qm", "code of 8")
			return r, []string{"show", "7"}
		},
		want: "clear stale", without: notTracked,
	},
	{
		name: "only what is met", tries: "only the assertion that the product meets is asked for",
		prepare: func(t *testing.T) (*repo, []string) {
			return ticketed(t, agreed+"VAL-2: `tool` prints `goodbye`\n", nil, nil), []string{"7", "--only", "VAL-2"}
		},
		want: "incomplete", without: allOfThem,
	},
}
