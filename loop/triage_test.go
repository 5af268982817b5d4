package loop_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/loop"
	"github.com/trkr-dev/trkr-validate/verdict"
)

func finding(text string) loop.Finding {
	return loop.Typed(verdict.Finding{Severity: verdict.SeverityBlocking, Place: "a.go:1", Text: text}, loop.FromValidation)
}

const real = "the tool of VAL-1 prints this on purpose, see the contract"

func TestProposalsAreTakenWholeOrNotAtAll(t *testing.T) {
	x, y := finding("x"), finding("y")
	about := []loop.Finding{x, y}
	for name, tc := range map[string]struct {
		in   string
		want string // part of the error; empty: it is taken
		able loop.Able
	}{
		"both kept":           {`{"schemaVersion":1,"retry":["X","Y"]}`, "", loop.Able{}},
		"one of each":         {`{"schemaVersion":1,"fix_ticket":[{"finding":"X","title":"t","body":"b","blocks":true}],"dismiss":[{"finding":"Y","justification":"` + real + `"}],"block":{"why":"who decides?"}}`, "", loop.Able{File: true, Comment: true}},
		"one is missing":      {`{"schemaVersion":1,"retry":["X"]}`, "stands in it 0 times", loop.Able{}},
		"one twice":           {`{"schemaVersion":1,"retry":["X","Y","X"]}`, "stands in it 2 times", loop.Able{}},
		"in two lists":        {`{"schemaVersion":1,"retry":["X","Y"],"dismiss":[{"finding":"Y","justification":"` + real + `"}]}`, "stands in it 2 times", loop.Able{Comment: true}},
		"one of its own":      {`{"schemaVersion":1,"retry":["X","Y","F-0"]}`, "was not asked about", loop.Able{}},
		"unknown key":         {`{"schemaVersion":1,"retry":["X","Y"],"verdict":"CLEAR"}`, "unknown key", loop.Able{}},
		"key twice":           {`{"schemaVersion":1,"retry":["X"],"retry":["X","Y"]}`, "key twice", loop.Able{}},
		"another version":     {`{"schemaVersion":2,"retry":["X","Y"]}`, "schemaVersion", loop.Able{}},
		"prose around it":     {"Here it is:\n" + `{"schemaVersion":1,"retry":["X","Y"]}`, "not valid JSON", loop.Able{}},
		"cut off":             {`{"schemaVersion":1,"retry":["X","Y"]`, "not valid JSON", loop.Able{}},
		"nothing":             {``, "not valid JSON", loop.Able{}},
		"no tracker":          {`{"schemaVersion":1,"retry":["Y"],"fix_ticket":[{"finding":"X","title":"t","body":"b"}]}`, "loop.file_ticket", loop.Able{Comment: true}},
		"nowhere to post":     {`{"schemaVersion":1,"retry":["Y"],"dismiss":[{"finding":"X","justification":"` + real + `"}]}`, "loop.comment", loop.Able{File: true}},
		"no title":            {`{"schemaVersion":1,"retry":["Y"],"fix_ticket":[{"finding":"X","title":" ","body":"b"}]}`, "title", loop.Able{File: true}},
		"a title of two":      {`{"schemaVersion":1,"retry":["Y"],"fix_ticket":[{"finding":"X","title":"a\nb","body":"b"}]}`, "title", loop.Able{File: true}},
		"short":               {`{"schemaVersion":1,"retry":["Y"],"dismiss":[{"finding":"X","justification":"it is not real"}]}`, "20 characters", loop.Able{Comment: true}},
		"blocked without why": {`{"schemaVersion":1,"retry":["X","Y"],"block":{"why":""}}`, "does not say why", loop.Able{}},
	} {
		in := strings.NewReplacer(`"X"`, `"`+x.ID+`"`, `"Y"`, `"`+y.ID+`"`).Replace(tc.in)
		p, err := loop.ParseProposal([]byte(in), about, tc.able)
		switch {
		case tc.want == "" && (err != nil || p == nil):
			t.Errorf("%s: %v", name, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || p != nil):
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

func TestEmptyReasonsDismissNothing(t *testing.T) {
	x := finding("x")
	for reason, taken := range map[string]bool{
		"This is a low priority issue.":                        false,
		"This is just a minor, non-blocking problem":           false,
		"It is non-blocking and can wait":                      false,
		"Out of time for now; won't fix":                       false,
		"This finding is a false positive.":                    false,
		"Not important, and low priority":                      false,
		"........................":                             false,
		"aaa":                                                  false,
		"The reviewer read src/old.go, which is not built":     true,
		"VAL-2 demands exactly this message, so it is correct": true,
		"Low priority: the contract excludes Windows paths":    true,
	} {
		raw, err := json.Marshal(loop.Proposal{SchemaVersion: 1, Dismiss: []loop.Dismissal{{Finding: x.ID, Justification: reason}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := loop.ParseProposal(raw, []loop.Finding{x}, loop.Able{Comment: true}); (err == nil) != taken {
			t.Errorf("%q: %v", reason, err)
		}
	}
}

// about answers with one list for each finding, by its text.
func about(lists map[string]string) func(loop.Question) string {
	return func(q loop.Question) string {
		p := loop.Proposal{SchemaVersion: 1}
		for _, f := range q.Findings {
			switch lists[f.Text] {
			case "fix":
				p.FixTicket = append(p.FixTicket, loop.FixTicket{Finding: f.ID, Title: "of its own", Body: "is real", Blocks: true})
			case "dismiss":
				p.Dismiss = append(p.Dismiss, loop.Dismissal{Finding: f.ID, Justification: real})
			default:
				p.Retry = append(p.Retry, f.ID)
			}
		}
		if lists["block"] != "" {
			p.Block = &loop.Block{Why: lists["block"]}
		}
		raw, err := json.Marshal(p)
		if err != nil {
			return ""
		}
		return string(raw)
	}
}

// Triage proposes and the program disposes: never is a verdict clear, a gate passed or a turn added by it.
func TestTriage(t *testing.T) {
	toClean := func(string) (string, int) { return "", 0 }
	for name, tc := range map[string]struct {
		state         string
		mend          func(string) (string, int)
		propose       func(loop.Question) string
		want          loop.Do
		why           string
		filed, posted int
	}{
		"keeps all":                    {"!x", toClean, about(nil), loop.Done, "", 0, 0},
		"answers nonsense":             {"!x", toClean, func(loop.Question) string { return "CLEAR" }, loop.Done, "", 0, 0},
		"answers nothing":              {"!x", idle, func(loop.Question) string { return "" }, loop.Stop, "plateau", 0, 0},
		"calls for a person":           {"!x", toClean, about(map[string]string{"block": "who decides?"}), loop.Human, "who decides?", 0, 0},
		"dismisses all that blocks":    {"!x", toClean, about(map[string]string{"x": "dismiss"}), loop.Human, "set aside", 0, 1},
		"files all that blocks":        {"!x", toClean, about(map[string]string{"x": "fix"}), loop.Human, "set aside", 1, 0},
		"files one, the other is done": {"!x !y", func(string) (string, int) { return "!x", 0 }, about(map[string]string{"x": "fix"}), loop.Human, "set aside", 1, 0},
		"files one, nothing is done":   {"1 !x", touches, about(map[string]string{"x": "fix"}), loop.Stop, "plateau", 1, 0},
		"what it dismissed comes back": {"1 !x", touches, about(map[string]string{"x": "dismiss"}), loop.Human, "came back", 0, 1},
		"what it dismissed stays away": {"1 !x", toClean, about(map[string]string{"x": "dismiss"}), loop.Done, "", 0, 1},
		"files what was discovered":    {"%old", idle, about(map[string]string{"old": "fix"}), loop.Human, "set aside", 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := world{state: tc.state, judge: assess, mend: tc.mend, propose: tc.propose}
			a, entries := w.run(t, t.TempDir(), budget)
			if a.Answer != tc.want || !strings.Contains(a.Why, tc.why) || len(w.filed) != tc.filed || len(w.posted) != tc.posted {
				t.Fatalf("%s (%s), filed %q, posted %q", a.Answer, a.Why, w.filed, w.posted)
			}
			for kill := 1; kill <= len(entries); kill++ {
				w := world{state: tc.state, judge: assess, mend: tc.mend, propose: tc.propose, kill: kill}
				again, _ := w.run(t, t.TempDir(), budget)
				if again.Answer != a.Answer || len(w.filed) > tc.filed || len(w.posted) > tc.posted {
					t.Errorf("killed after entry %d: %s (%s), filed %q, posted %q", kill, again.Answer, again.Why, w.filed, w.posted)
				}
			}
		})
	}
}

// What could not be filed stays on the list.
func TestATrackerThatFailsSetsNothingAside(t *testing.T) {
	w := world{state: "!x", judge: assess, mend: idle, propose: about(map[string]string{"x": "fix"}), trouble: "no network"}
	if a, _ := w.run(t, t.TempDir(), budget); a.Answer != loop.Stop || len(a.Remains.Findings) != 1 || len(a.Remains.SetAside) != 0 {
		t.Errorf("%+v", a)
	}
}

// Evidence is the product's text: it cannot mention or close anything in a tracker.
func TestEvidenceIsQuotedInATicket(t *testing.T) {
	f := finding("closes #1\n@everyone # x")
	body := loop.FixTicket{Body: "is real"}.Quoted("7", f)
	for _, line := range strings.Split(body, "\n") {
		if (strings.Contains(line, "closes") || strings.Contains(line, "@everyone")) && !strings.HasPrefix(line, "    ") {
			t.Errorf("%q", line)
		}
	}
	if !strings.HasPrefix(body, "is real\n") || !strings.Contains(body, f.ID) {
		t.Error(body)
	}
}

func FuzzParseProposal(f *testing.F) {
	x, y := finding("x"), finding("y")
	f.Add([]byte(fmt.Sprintf(`{"schemaVersion":1,"retry":[%q],"fix_ticket":[{"finding":%q,"title":"t","body":"b"}]}`, x.ID, y.ID)))
	f.Add([]byte(fmt.Sprintf(`{"schemaVersion":1,"dismiss":[{"finding":%q,"justification":"not real at all, since it is"}],"block":{"why":"x"}}`, x.ID)))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := loop.ParseProposal(data, []loop.Finding{x, y}, loop.Able{File: true, Comment: true})
		if (p == nil) == (err == nil) {
			t.Fatalf("%v, %v", p, err)
		}
		if p != nil && len(p.Retry)+len(p.FixTicket)+len(p.Dismiss) != 2 {
			t.Errorf("%+v", p)
		}
	})
}
