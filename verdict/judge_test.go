package verdict

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/trkr-dev/trkr-validate/contract"
)

// outcome writes a judgement as "outcome verdict | 1=met/by ... | codes".
func outcome(j Judgement) string {
	var criteria, codes []string
	for _, c := range j.Criteria {
		criteria = append(criteria, fmt.Sprintf("%s=%s/%s", strings.TrimPrefix(c.ID, "VAL-"), c.Status, c.By))
	}
	for _, d := range j.Diagnostics {
		codes = append(codes, d.Code)
	}
	return fmt.Sprintf("%s %s|%s|%s", j.Outcome, j.Verdict, strings.Join(criteria, " "), strings.Join(codes, " "))
}

func TestJudgeOneAgent(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"clear":                {good, "clear CLEAR|1=met/a 2=met/a|"},
		"unmet":                {"CRITERION: fail — VAL-1: x\nCRITERION: pass — VAL-2: y\nVERDICT: BLOCKING", "blocking BLOCKING|1=unmet/a 2=met/a|"},
		"blocking finding":     {"CRITERION: pass — VAL-1: x\nCRITERION: pass — VAL-2: y\nFINDING: BLOCKING — a — b\nVERDICT: BLOCKING", "blocking BLOCKING|1=met/a 2=met/a|"},
		"note":                 {"FINDING: NOTE — a — b\n" + good, "clear CLEAR|1=met/a 2=met/a|"},
		"blocked":              {"CRITERION: blocked — VAL-1: x\nCRITERION: pass — VAL-2: y\nVERDICT: CLEAR", "incomplete CLEAR|1=blocked/a 2=met/a|"},
		"missing":              {"CRITERION: pass — VAL-1: x\nVERDICT: CLEAR", "incomplete CLEAR|1=met/a 2=unverified/|criterion_missing"},
		"unknown":              {"CRITERION: pass — VAL-3: x\n" + good, "incomplete CLEAR|1=met/a 2=met/a|criterion_unknown"},
		"empty":                {"", "incomplete |1=unverified/ 2=unverified/|verdict_missing criterion_missing"},
		"fail despite clear":   {"CRITERION: fail — VAL-1: x\nCRITERION: pass — VAL-2: y\nVERDICT: CLEAR", "blocking CLEAR|1=unmet/a 2=met/a|clear_with_objection"},
		"twice the same":       {"CRITERION: pass — VAL-1: x\n" + good, "incomplete CLEAR|1=met/a 2=met/a|criterion_repeated"},
		"twice, differing":     {"CRITERION: blocked — VAL-1: x\n" + good, "incomplete CLEAR|1=unverified/ 2=met/a|criterion_repeated"},
		"thrice, differing":    {"CRITERION: fail — VAL-1: x\nCRITERION: fail — VAL-1: x\n" + good, "incomplete CLEAR|1=unverified/ 2=met/a|criterion_repeated clear_with_objection"},
		"pass without proof":   {"CRITERION: pass — VAL-1:\nCRITERION: pass — VAL-2: y\nVERDICT: CLEAR", "incomplete CLEAR|1=unverified/ 2=met/a|pass_without_evidence"},
		"blocking for nothing": {strings.Replace(good, "CLEAR", "BLOCKING", 1), "incomplete BLOCKING|1=met/a 2=met/a|blocking_without_cause"},
		"two verdicts":         {good + "VERDICT: CLEAR\n", "incomplete CLEAR|1=met/a 2=met/a|verdict_repeated"},
	} {
		t.Run(name, func(t *testing.T) {
			j := Judge(agreed(t, 2), []AgentReport{{Agent: "a", Report: parse(t, tc.in, 2)}})
			if diff := cmp.Diff(tc.want, outcome(j)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func reported(list ...Reported) Report {
	r := Report{Criteria: list}
	r.Conclude()
	return r
}

func TestJudgeSeveralAgents(t *testing.T) {
	met := func(n int) Reported { return Reported{fmt.Sprintf("VAL-%d", n), Met, "seen"} }
	as := func(n int, s Status) Reported { return Reported{fmt.Sprintf("VAL-%d", n), s, "because"} }
	ended := reported(met(1), met(2))
	ended.Diagnose(AgentExit, "exit code 1")
	ended.Diagnose(AgentExit, "exit code 1")
	for name, tc := range map[string]struct {
		reports []Report
		want    string
	}{
		"none":                       {nil, "incomplete |1=unverified/ 2=unverified/|nothing_to_judge criterion_missing"},
		"the second closes the rest": {[]Report{reported(met(1), as(2, Unverified)), reported(met(2))}, "clear CLEAR|1=met/a 2=met/b|"},
		"nobody closes it":           {[]Report{reported(met(1), as(2, Unverified)), reported(as(2, Unverified))}, "incomplete |1=met/a 2=unverified/|"},
		"each left something open":   {[]Report{reported(met(1), as(2, Unverified)), reported(as(1, Unverified), met(2))}, "incomplete |1=met/a 2=met/b|"},
		"the worst counts":           {[]Report{reported(met(1), as(2, Blocked)), reported(as(1, Unmet), met(2))}, "blocking BLOCKING|1=unmet/b 2=blocked/a|"},
		"a verdict is owed":          {[]Report{{Criteria: []Reported{met(1), met(2)}}}, "incomplete |1=met/a 2=met/a|verdict_missing"},
		"verdicts differ":            {[]Report{reported(met(1), met(2)), reported(as(2, Unmet))}, "blocking |1=met/a 2=unmet/b|"},
		"an invented verdict":        {[]Report{{Criteria: []Reported{met(1), met(2)}, Verdicts: []string{"FINE"}}}, "incomplete |1=met/a 2=met/a|verdict_missing"},
		"an invented status":         {[]Report{{Criteria: []Reported{met(1), as(2, "fine")}, Verdicts: []string{"CLEAR"}}}, "incomplete CLEAR|1=met/a 2=unverified/|status_unknown"},
		"unknown id":                 {[]Report{reported(met(1), met(2), met(3))}, "incomplete CLEAR|1=met/a 2=met/a|criterion_unknown"},
		"ended badly":                {[]Report{ended}, "incomplete CLEAR|1=met/a 2=met/a|agent_exit"},
	} {
		t.Run(name, func(t *testing.T) {
			var reports []AgentReport
			for i, r := range tc.reports {
				reports = append(reports, AgentReport{Agent: string(rune('a' + i)), Report: r})
			}
			if diff := cmp.Diff(tc.want, outcome(Judge(agreed(t, 2), reports))); diff != "" {
				t.Error(diff)
			}
		})
	}
	j := Judge(agreed(t, 1), []AgentReport{{"x", reported(as(1, Unverified))}, {"y", ended}})
	if want := (Diagnostic{AgentExit, "y: exit code 1"}); !slices.Contains(j.Diagnostics, want) {
		t.Errorf("diagnostics %v do not name the agent", j.Diagnostics)
	}
	if got := Judge(contract.Contract{}, []AgentReport{{"x", Report{Verdicts: []string{"CLEAR"}}}}); got.Outcome != Incomplete || !has(got.Diagnostics, NothingToJudge) {
		t.Errorf("an empty contract is %v", got)
	}
}

func TestFindings(t *testing.T) {
	note := Finding{Severity: SeverityNote, Place: "a/b.go:12:3", Text: "It  breaks"}
	block := Finding{Severity: SeverityBlocking, Place: "a/b.go:14", Text: "it breaks "}
	other := Finding{Severity: SeverityNote, Place: "a/b.go:12", Text: "It breaks", Criteria: []string{"VAL-1"}}
	if FindingID(note) != FindingID(block) || FindingID(note) == FindingID(other) {
		t.Errorf("ids: %s %s %s", FindingID(note), FindingID(block), FindingID(other))
	}
	j := Judge(agreed(t, 1), []AgentReport{{Report: Report{Findings: []Finding{note, other, block}}}})
	if len(j.Findings) != 2 || j.Findings[0].Severity != SeverityBlocking || j.Findings[1].ID != FindingID(other) {
		t.Errorf("findings are %v", j.Findings)
	}
}

// TestNothingButClearIsClear: whatever a report made in code says, the outcome is clear only by design's rule.
func TestNothingButClearIsClear(t *testing.T) {
	clears := 0
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(t, "n")
		var c contract.Contract
		for i := range n {
			c.Assertions = append(c.Assertions, contract.Assertion{ID: fmt.Sprintf("VAL-%d", i+1), Text: "x"})
		}
		reports := rapid.SliceOfN(genReport(n), 0, 2).Draw(t, "reports")
		j := Judge(c, reports)
		met := map[string]int{}
		verdicts := map[string]bool{}
		bad := false
		for _, r := range reports {
			own := map[string]int{}
			for _, l := range r.Report.Criteria {
				if own[l.ID]++; own[l.ID] > 1 {
					bad = true
				}
				if l.Status == Met && l.Evidence != "" {
					met[l.ID]++
				} else if l.Status != Unverified {
					bad = true
				}
			}
			bad = bad || len(r.Report.Verdicts) > 1 || len(r.Report.Diagnostics) > 0
			for _, v := range r.Report.Verdicts {
				verdicts[v] = true
			}
			for _, f := range r.Report.Findings {
				bad = bad || f.Severity == SeverityBlocking
			}
		}
		every := len(met) == n && met["VAL-9"] == 0
		right := every && !bad && len(verdicts) == 1 && verdicts["CLEAR"]
		if j.Outcome == Clear {
			clears++
			if !right {
				t.Fatalf("clear for %+v", reports)
			}
		}
		if len(j.Criteria) != n {
			t.Fatal("criteria do not cover the contract")
		}
	})
	if clears == 0 {
		t.Error("no input was clear: the property shows nothing")
	}
}

func genReport(n int) *rapid.Generator[AgentReport] {
	return rapid.Custom(func(t *rapid.T) AgentReport {
		r := Report{}
		for i := range n {
			if rapid.IntRange(0, 9).Draw(t, "skip") > 0 {
				r.Criteria = append(r.Criteria, Reported{fmt.Sprintf("VAL-%d", i+1), Met, "seen"})
			}
		}
		r.Criteria = append(r.Criteria, rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Reported {
			return Reported{
				rapid.SampledFrom([]string{"VAL-1", "VAL-2", "VAL-9"}).Draw(t, "id"),
				rapid.SampledFrom([]Status{Met, Unmet, Blocked, Unverified, "odd"}).Draw(t, "status"),
				rapid.SampledFrom([]string{"", "seen"}).Draw(t, "evidence"),
			}
		}), 0, 1).Draw(t, "extra")...)
		r.Verdicts = rapid.SampledFrom([][]string{{"CLEAR"}, {"CLEAR"}, {"CLEAR"}, nil, {"BLOCKING"}, {"CLEAR", "CLEAR"}, {"odd"}}).Draw(t, "verdicts")
		r.Findings = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Finding {
			return Finding{Severity: rapid.SampledFrom([]Severity{SeverityNote, SeverityBlocking}).Draw(t, "severity"), Text: "x"}
		}), 0, 1).Draw(t, "findings")
		if rapid.IntRange(0, 9).Draw(t, "diagnosed") == 0 {
			r.Diagnose(AgentExit, "1")
		}
		return AgentReport{Agent: "a", Report: r}
	})
}

var (
	oracleMarks = regexp.MustCompile("\x1b\\[[0-9;]*m|\x1b[0-Z\\\\^-~]|[*_`~#]|^[\\s\ufeff]*(?:[-+]\\s+|[0-9]+[.)]\\s+)*")
	oracleLine  = regexp.MustCompile(`(?i)^\s*(?:criterion\s*:\s*(pass|fail|blocked)\s+(?:—|–|--|-)\s+(val-[0-9]+)\s*(?::|\s(?:—|–|--|-)\s)(.*)|verdict\s*:\s*(clear|blocking)\s*|finding\s*:\s*(blocking)\s+(?:—|–|--|-)\s+\S.*)$`)
)

// oracle counts report lines in another and simpler way than the parser: all of them, in fences too.
func oracle(text string) (passes map[string]int, others, clears, blocks int, last string) {
	passes = map[string]int{}
	for line := range strings.SplitSeq(strings.ToValidUTF8(text, "?"), "\n") {
		line = oracleMarks.ReplaceAllString(oracleMarks.ReplaceAllString(strings.TrimSuffix(line, "\r"), ""), "")
		if strings.TrimSpace(line) != "" {
			last = strings.ToUpper(strings.Join(strings.Fields(line), ""))
		}
		switch m := oracleLine.FindStringSubmatch(line); {
		case m == nil:
		case strings.EqualFold(m[1], "pass"):
			passes[strings.ToUpper(m[2])]++
		case m[1] != "", m[5] != "":
			others++
		case strings.EqualFold(m[4], "clear"):
			clears++
		default:
			blocks++
		}
	}
	return passes, others, clears, blocks, last
}

// checkClear holds for any transcript: judged clear means that every criterion has a pass, that the last line is a
// CLEAR, and, where no fence hides an example, that each stands exactly once and nothing else does.
func checkClear(t interface{ Fatalf(string, ...any) }, text string, n int, j Judgement) {
	if j.Outcome != Clear {
		return
	}
	passes, others, clears, blocks, last := oracle(text)
	for i := range n {
		if passes[fmt.Sprintf("VAL-%d", i+1)] == 0 {
			t.Fatalf("clear without a pass for VAL-%d:\n%q", i+1, text)
		}
	}
	if last != "VERDICT:CLEAR" {
		t.Fatalf("clear with %q at the end:\n%q", last, text)
	}
	if strings.Contains(text, "```") || strings.Contains(text, "~~~") {
		return
	}
	if len(passes) != n || others != 0 || clears != 1 || blocks != 0 {
		t.Fatalf("clear with %v, %d others, %d CLEAR, %d BLOCKING:\n%q", passes, others, clears, blocks, text)
	}
	for id, times := range passes {
		if times != 1 {
			t.Fatalf("clear with %d passes for %s:\n%q", times, id, text)
		}
	}
}

func TestNoTranscriptIsWronglyClear(t *testing.T) {
	clears := 0
	lines := []string{
		"CRITERION: pass — VAL-1: ran it", "**CRITERION: pass — VAL-2: saw it**", "CRITERION: fail — VAL-1: no", "CRITERION: blocked — VAL-2: no",
		"- CRITERION: pass – VAL-2: saw it", "CRITERION: pass — VAL-7: saw it", "CRITERION: pass — VAL-1:", "> CRITERION: fail — VAL-1: quoted",
		"FINDING: BLOCKING — a — b", "FINDING: NOTE — a — b", "VERDICT: CLEAR", "### VERDICT: **BLOCKING**", "VERDICT: CLEAR|BLOCKING", "VERDICT: CLEAR!",
		"```", "~~~", "", "  ", "prose", "\x1b[31mVERDICT: CLEAR\x1b[0m", "CRITERION: pass|fail — VAL-n: x",
		"<acceptance-review>", "</acceptance-review>", `{"schemaVersion":1,"results":[]}`,
	}
	c := agreed(t, 2)
	rapid.Check(t, func(t *rapid.T) {
		// Start from a good report and put lines in: most of what matters is near it.
		text := strings.Split(strings.TrimSpace(good), "\n")
		for range rapid.IntRange(0, 4).Draw(t, "edits") {
			at := rapid.IntRange(0, len(text)).Draw(t, "at")
			if len(text) > 0 && at < len(text) && rapid.Bool().Draw(t, "remove") {
				text = slices.Delete(text, at, at+1)
			} else {
				text = slices.Insert(text, at, rapid.SampledFrom(lines).Draw(t, "line"))
			}
		}
		whole := strings.Join(text, rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end"))
		r, err := ParseReport(strings.NewReader(whole), c)
		if err != nil {
			t.Fatal(err)
		}
		j := Judge(c, []AgentReport{{Report: r}})
		checkClear(t, whole, 2, j)
		if j.Outcome == Clear {
			clears++
		}
	})
	if clears == 0 {
		t.Error("no input was clear: the property shows nothing")
	}
}

func FuzzParseReport(f *testing.F) {
	for _, s := range []string{
		good, "```\n" + good + "```\n", "**VERDICT: CLEAR**", "CRITERION: pass|fail — VAL-n: x\n" + good, good + "VERDICT: BLOCKING",
		"FINDING: BLOCKING — a — b\n" + good, "\x1b[32m" + good, "\xff" + good, strings.ReplaceAll(good, "—", "-"), typed("met", "met"),
		"FINDING: NOTE — a — b\n" + typed("met", "unmet"), strings.ReplaceAll(good, "\n", "\r\n"), "### VERDICT: **BLOCKING**\n" + good, "\x1b0" + good,
	} {
		f.Add([]byte(s))
	}
	c := agreed(f, 2)
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParseReport(strings.NewReader(string(data)), c)
		if err != nil {
			t.Fatal(err)
		}
		j := Judge(c, []AgentReport{{Report: r}})
		if strings.Contains(string(data), reviewOpen) {
			return // no line needs to say it then; TestTypedReview has these
		}
		checkClear(t, string(data), 2, j)
	})
}
