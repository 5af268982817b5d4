package loop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/loop"
	"github.com/trkr-dev/trkr-validate/verdict"
)

var errKilled = errors.New("killed")

// world is a ticket whose implementer and whose validator are scripts. state is what the branch holds.
type world struct {
	state   string
	judge   func(state string) loop.Judged
	mend    func(state string) (string, int)
	propose func(q loop.Question) string
	trouble string // of the tracker

	kill   int // this many entries are written before the program dies; 0: it lives
	judged int
	mended int
	filed  []string
	posted []string
}

func (w *world) Tree(context.Context) (string, error) { return w.state, nil }
func (w *world) Judge(context.Context, int) (loop.Judged, error) {
	w.judged++
	j := w.judge(w.state)
	j.Tree = w.state
	return j, nil
}
func (w *world) Mend(_ context.Context, a loop.Answer, _ loop.Budget) (loop.Repaired, error) {
	w.mended++
	state, exit := w.mend(w.state)
	w.state = state
	return loop.Repaired{Exit: exit, MS: 1000, Cost: 1}, nil
}
func (w *world) Ask(_ context.Context, q loop.Question) ([]byte, string, error) {
	answer := w.propose(q)
	if answer == "" {
		return nil, "it ended with 1", nil
	}
	return []byte(answer), "", nil
}
func (w *world) File(_ context.Context, key string, _ loop.FixTicket, body string) (string, string, error) {
	if w.trouble == "" {
		w.filed = append(w.filed, key+" "+body)
	}
	return "#12", w.trouble, nil
}
func (w *world) Comment(_ context.Context, key, text string) (string, string, error) {
	w.posted = append(w.posted, key+" "+text)
	return "", "", nil
}

var budget = loop.Budget{Turns: 8, Plateau: 2, Errors: 3, Time: time.Hour}

// run goes to the end, through every death on the way.
func (w *world) run(t interface {
	Fatal(...any)
	Helper()
}, dir string, b loop.Budget) (loop.Answer, []loop.Entry) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for {
		h, err := loop.OpenHistory(root, "7")
		if err != nil {
			t.Fatal(err)
		}
		l := loop.Loop{History: h, Budget: b, World: w, Triage: w.propose != nil, Able: loop.Able{File: true, Comment: true}}
		l.Told = func(loop.Entry) {
			if w.kill--; w.kill == 0 {
				panic(errKilled)
			}
		}
		a, err := func() (a loop.Answer, err error) {
			defer func() {
				if p := recover(); p != nil {
					err = p.(error)
				}
			}()
			return l.Run(context.Background())
		}()
		entries := h.Entries
		if cerr := h.Close(); cerr != nil {
			t.Fatal(cerr)
		}
		if errors.Is(err, errKilled) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		return a, entries
	}
}

// assess makes a verdict of a text: "1" is an assertion that is unmet, "b" blocked, "u" unverified, "!text" a finding, "refused"
// a build that failed, "error" the environment, "lost" a box that went, nothing clear.
func assess(state string) loop.Judged {
	j := loop.Judged{RunID: "r", Outcome: verdict.Clear, MS: 1000}
	worse := func(o verdict.Outcome) {
		if j.Outcome == verdict.Clear || o == verdict.Blocking {
			j.Outcome = o
		}
	}
	for _, part := range strings.Fields(state) {
		switch {
		case part == "refused":
			return loop.Judged{Outcome: verdict.Refused, Refusals: []verdict.Refusal{{Reason: verdict.BuildFailed, Detail: "no"}}, MS: 1000}
		case part == "changed":
			return loop.Judged{Outcome: verdict.Refused, Refusals: []verdict.Refusal{{Reason: verdict.ContractChanged, Detail: "softer"}}, MS: 1000}
		case part == "error":
			return loop.Judged{Outcome: verdict.Error, Error: "no disk", MS: 1000}
		case part == "lost":
			worse(verdict.Incomplete)
			j.Diagnostics = append(j.Diagnostics, verdict.Diagnostic{Code: verdict.BoxLost})
			j.Criteria = append(j.Criteria, verdict.Criterion{ID: "VAL-1", Status: verdict.Unverified})
		case part == "malformed":
			worse(verdict.Incomplete)
			j.Diagnostics = append(j.Diagnostics, verdict.Diagnostic{Code: verdict.ReviewInvalid})
		case part == "b", part == "u":
			worse(verdict.Incomplete)
			j.Criteria = append(j.Criteria, verdict.Criterion{ID: "VAL-" + part, Status: map[string]verdict.Status{"b": verdict.Blocked, "u": verdict.Unverified}[part]})
		case part == "inside":
			j.Inside = true
		case part[0] == '!', part[0] == '?', part[0] == '%':
			from := map[byte]loop.Source{'!': loop.FromValidation, '?': loop.FromHandoff, '%': loop.FromImplementer}[part[0]]
			if part[0] == '!' {
				worse(verdict.Blocking)
			}
			j.Findings = append(j.Findings, loop.Typed(verdict.Finding{Severity: verdict.SeverityBlocking, Place: "a.go:1", Text: part[1:]}, from))
		case part[0] != 'v':
			worse(verdict.Blocking)
			j.Criteria = append(j.Criteria, verdict.Criterion{ID: "VAL-" + part, Status: verdict.Unmet, Evidence: "seen"})
		}
	}
	return j
}

// implementers of "what the branch holds now" after a repair.
func fixesOne(state string) (string, int) {
	_, rest, _ := strings.Cut(state, " ")
	return rest, 0
}
func swaps(a, b string) func(string) (string, int) {
	return func(state string) (string, int) {
		if state == a {
			return b, 0
		}
		return a, 0
	}
}
func idle(state string) (string, int)    { return state, 0 }
func touches(state string) (string, int) { return state + " v", 0 }

func TestImplementersComeToTheirEndings(t *testing.T) {
	for name, tc := range map[string]struct {
		state  string
		mend   func(string) (string, int)
		want   loop.Do
		why    string
		judged int
	}{
		"is done at once":             {"", idle, loop.Done, "turn 1 is clear", 1},
		"mends one gap each turn":     {"1 2 3", fixesOne, loop.Done, "turn 4 is clear", 4},
		"never does":                  {"1 2", idle, loop.Stop, "plateau", 3},
		"works and gets nowhere":      {"1 2", touches, loop.Stop, "plateau", 3},
		"alternates":                  {"1", swaps("1", "2"), loop.Stop, "turn 3 leaves what turn 1 left", 3},
		"breaks the build":            {"refused", touches, loop.Stop, "plateau", 3},
		"breaks it once":              {"1", func(s string) (string, int) { return map[string]string{"1": "refused", "refused": ""}[s], 0 }, loop.Done, "turn 3", 3},
		"kills its box":               {"lost", touches, loop.Stop, "plateau", 3},
		"discloses too little":        {"?gap", touches, loop.Stop, "plateau", 3},
		"discloses in the end":        {"?gap", fixesOne, loop.Done, "turn 2", 2},
		"discovered what blocks":      {"%old", idle, loop.Human, "discovered", 1},
		"is kept from being verified": {"b", idle, loop.Human, "VAL-b", 1},
		"mends, then needs a person":  {"1 b", fixesOne, loop.Human, "VAL-b", 2},
		"cannot be told":              {"u", idle, loop.Human, "no agent could tell", 1},
		"is reported on badly":        {"malformed", idle, loop.Human, "the verdict itself", 1},
		"changes the contract":        {"1", func(string) (string, int) { return "changed", 0 }, loop.Human, "contract_changed", 2},
		"no environment":              {"error", idle, loop.Human, "3 errors in a row, the last: no disk", 3},
		"crashes":                     {"1", func(s string) (string, int) { return s, 3 }, loop.Human, "3 errors in a row, the last: the repair command ended with 3", 1},
		"says clear from inside":      {"inside", idle, loop.Human, "inside", 1},
		"never ends to get better":    {"1 2 3 4 5 6 7 8 9 10", fixesOne, loop.Stop, "8 turns were taken", 8},
	} {
		t.Run(name, func(t *testing.T) {
			w := world{state: tc.state, judge: assess, mend: tc.mend}
			a, entries := w.run(t, t.TempDir(), budget)
			if a.Answer != tc.want || !strings.Contains(a.Why, tc.why) || w.judged != tc.judged {
				t.Fatalf("%s (%s) after %d, want %s (%s) after %d", a.Answer, a.Why, w.judged, tc.want, tc.why, tc.judged)
			}
			last := entries[len(entries)-1]
			if last.Type != loop.LoopDecided || last.Decided.Answer != a.Answer {
				t.Errorf("the history ends with %+v", last)
			}
			// Killed after whichever entry and started again: the same ending.
			for kill := 1; kill <= len(entries); kill++ {
				w := world{state: tc.state, judge: assess, mend: tc.mend, kill: kill}
				if again, _ := w.run(t, t.TempDir(), budget); again.Answer != a.Answer {
					t.Errorf("killed after entry %d: %s (%s), want %s", kill, again.Answer, again.Why, a.Answer)
				}
			}
			// Asked again, it says the same and does nothing.
			before := w.judged + w.mended
			dir := t.TempDir()
			w.state = tc.state
			w.run(t, dir, budget)
			before = w.judged + w.mended
			if again, _ := w.run(t, dir, budget); again.Answer != a.Answer || w.judged+w.mended != before {
				t.Errorf("asked again: %s, %d more were done", again.Answer, w.judged+w.mended-before)
			}
		})
	}
}

func TestBudgetsOfTimeAndCost(t *testing.T) {
	for name, b := range map[string]loop.Budget{
		"loop.time": {Turns: 50, Plateau: 9, Errors: 3, Time: 5 * time.Second},
		"loop.cost": {Turns: 50, Plateau: 9, Errors: 3, Time: time.Hour, Cost: 2},
	} {
		w := world{state: "1 2 3 4 5 6 7 8 9", judge: assess, mend: fixesOne}
		if a, _ := w.run(t, t.TempDir(), b); a.Answer != loop.Stop || !strings.Contains(a.Why, name) || w.judged > 3 {
			t.Errorf("%s: %s (%s) after %d turns", name, a.Answer, a.Why, w.judged)
		}
	}
}

// A person has looked at it and says to go on: what was before does not count any more.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	w := world{state: "b", judge: assess, mend: idle}
	if a, _ := w.run(t, dir, budget); a.Answer != loop.Human {
		t.Fatal(a)
	}
	w.state = ""
	if a, _ := w.run(t, dir, budget); a.Answer != loop.Human {
		t.Fatalf("the work of a person made it %s without being told", a.Answer)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	h, err := loop.OpenHistory(root, "7")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := loop.OpenHistory(root, "7"); fault.Of(err) == nil || fault.Of(err).Code != "busy" {
		t.Errorf("two have it open: %v", err)
	}
	if err := errors.Join((&loop.Loop{History: h}).Restart(), h.Close(), root.Close()); err != nil {
		t.Fatal(err)
	}
	if a, _ := w.run(t, dir, budget); a.Answer != loop.Done || a.Turn != 1 {
		t.Errorf("%+v", a)
	}
}

// Whatever implementer, validator and triage agent do, and wherever the program is killed: a loop ends within its budgets, it is
// done only where the last turn is clear for what the branch holds, and its answer is a function of its history.
func TestLoopsEnd(t *testing.T) {
	parts := []string{"1", "2", "b", "u", "!x", "!y", "?gap", "%old", "refused", "error", "lost", "malformed", "inside", "v", "v", ""}
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		b := loop.Budget{
			Turns: rapid.IntRange(1, 5).Draw(rt, "turns"), Plateau: rapid.IntRange(1, 3).Draw(rt, "plateau"),
			Errors: rapid.IntRange(1, 3).Draw(rt, "errors"), Time: time.Hour,
		}
		draw := func() string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 3).Draw(rt, "state"), " ")
		}
		moves := 0
		w := world{
			state: draw(), judge: assess,
			mend: func(string) (string, int) {
				moves++
				return strings.TrimSpace(fmt.Sprintf("%s v%d", draw(), moves)), rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(rt, "exit")
			},
			kill: rapid.IntRange(0, 30).Draw(rt, "kill"),
		}
		if rapid.Bool().Draw(rt, "triage") {
			w.propose = func(q loop.Question) string {
				p := loop.Proposal{SchemaVersion: 1}
				for _, f := range q.Findings {
					switch rapid.IntRange(0, 3).Draw(rt, "triage") {
					case 0:
						p.Retry = append(p.Retry, f.ID)
					case 1:
						p.FixTicket = append(p.FixTicket, loop.FixTicket{Finding: f.ID, Title: "t", Body: "b"})
					case 2:
						p.Dismiss = append(p.Dismiss, loop.Dismissal{Finding: f.ID, Justification: "the contract says the opposite in VAL-1"})
					}
				}
				raw, _ := json.Marshal(p)
				return string(raw)
			}
		}
		a, entries := w.run(rt, dir, b)
		turns := 0
		for i, e := range entries {
			if e.Type == loop.TurnFinished && e.Judged.Outcome != verdict.Error {
				turns++
			}
			if x, y := loop.Decide(entries[:i+1], b, w.state), loop.Decide(entries[:i+1], b, w.state); x.Answer != y.Answer || x.Why != y.Why {
				rt.Fatalf("two answers: %v, %v", x, y)
			}
		}
		if turns > b.Turns || w.judged > (b.Turns+1)*b.Errors+1 || w.mended > (b.Turns+1)*b.Errors+1 {
			rt.Fatalf("%d turns, %d judged, %d mended with %+v", turns, w.judged, w.mended, b)
		}
		if a.Answer == loop.Done {
			last := assess(w.state)
			if last.Outcome != verdict.Clear || len(last.Findings) > 0 || last.Inside {
				rt.Fatalf("done with %q", w.state)
			}
			if again := loop.Decide(entries, b, w.state+" moved"); again.Answer == loop.Done {
				rt.Fatal("done for another tree")
			}
		}
	})
}

// Decide takes any history, also one that no loop writes.
func TestAnyHistoryHasAnAnswer(t *testing.T) {
	types := []loop.Type{loop.TurnStarted, loop.TurnFinished, loop.TriageDecided, loop.ActionStarted, loop.ActionFinished, loop.LoopDecided, loop.RepairStarted, loop.RepairFinished, loop.LoopRestarted, "later"}
	rapid.Check(t, func(rt *rapid.T) {
		var entries []loop.Entry
		lastClear := ""
		for i, typ := range rapid.SliceOfN(rapid.SampledFrom(types), 0, 20).Draw(rt, "types") {
			e := loop.Entry{Type: typ, Turn: i, Triage: &loop.Triage{}, Action: &loop.Action{}, Repaired: &loop.Repaired{}, Decided: &loop.Decided{}}
			if typ == loop.TurnFinished {
				j := assess(rapid.SampledFrom([]string{"", "1", "b", "!x", "refused", "error", "lost"}).Draw(rt, "judged"))
				j.Tree = rapid.SampledFrom([]string{"now", "then"}).Draw(rt, "tree")
				e.Judged = &j
				lastClear = string(j.Outcome) + " " + j.Tree
			}
			if typ == loop.LoopRestarted {
				lastClear = ""
			}
			entries = append(entries, e)
		}
		a := loop.Decide(entries, budget, "now")
		if a.Answer == loop.Done && lastClear != "clear now" {
			rt.Fatalf("done after %q", lastClear)
		}
	})
}

func TestTornHistoryIsRepairedAndAnEditedOneIsRefused(t *testing.T) {
	dir := t.TempDir()
	w := world{state: "1", judge: assess, mend: fixesOne}
	_, entries := w.run(t, dir, budget)
	name := dir + "/" + loop.Dir + "/7.jsonl"
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for cut := len(whole) - 1; cut > len(whole)-200; cut -= 7 {
		if err := os.WriteFile(name, whole[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		w := world{state: "", judge: assess, mend: fixesOne}
		if a, _ := w.run(t, dir, budget); a.Answer != loop.Done {
			t.Errorf("cut at %d: %+v", cut, a)
		}
	}
	read, err := loop.ReadHistory(bytes.NewReader(whole), "7")
	if err != nil || len(read) != len(entries) {
		t.Fatalf("%d entries, %v", len(read), err)
	}
	for from, to := range map[string]string{`"seq":2`: `"seq":3`, `"issue":"7"`: `"issue":"8"`, `"schemaVersion":1`: `"schemaVersion":2`, `"judged":{`: `"other":{`, `{"schema`: `{schema`} {
		if _, err := loop.ReadHistory(strings.NewReader(strings.Replace(string(whole), from, to, 1)), "7"); err == nil || !strings.HasPrefix(err.Error(), "line ") {
			t.Errorf("%s for %s: %v", to, from, err)
		}
	}
}

// A repair that cleans up too much must not make the loop begin anew, again and again.
func TestAHistoryThatIsRemovedEndsTheLoop(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	h, err := loop.OpenHistory(root, "7")
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	w := &world{state: "1", judge: assess, mend: func(string) (string, int) {
		if err := root.RemoveAll(loop.Dir); err != nil {
			t.Error(err)
		}
		return "", 0
	}}
	_, err = (&loop.Loop{History: h, Budget: budget, World: w}).Run(t.Context())
	if f := fault.Of(err); f == nil || f.Code != "history_gone" || w.judged != 1 {
		t.Errorf("%v after %d turns", err, w.judged)
	}
}

func FuzzReadHistory(f *testing.F) {
	w := world{state: "1 !x b", judge: assess, mend: fixesOne}
	dir := f.TempDir()
	w.run(f, dir, budget)
	whole, err := os.ReadFile(dir + "/" + loop.Dir + "/7.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte(`{"schemaVersion":1,"seq":1,"issue":"7","type":"repair.finished","repaired":{}}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := loop.ReadHistory(bytes.NewReader(data), "7")
		if err != nil {
			return
		}
		if a := loop.Decide(entries, budget, "tree"); a.Answer == "" || a.Why == "" {
			t.Errorf("%+v", a)
		}
	})
}
