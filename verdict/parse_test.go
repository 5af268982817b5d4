package verdict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trkr-dev/trkr-validate/contract"
)

func agreed(t testing.TB, n int) contract.Contract {
	t.Helper()
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "VAL-%d: the program does thing %d\n", i+1, i+1)
	}
	c, err := contract.Parse([]byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func parse(t testing.TB, text string, n int) Report {
	t.Helper()
	r, err := ParseReport(strings.NewReader(text), agreed(t, n))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// brief writes a report as "VAL-1=met(evidence) ... | findings | verdicts | codes".
func brief(r Report) string {
	var criteria, findings, codes []string
	for _, c := range r.Criteria {
		criteria = append(criteria, fmt.Sprintf("%s=%s(%s)", strings.TrimPrefix(c.ID, "VAL-"), c.Status, c.Evidence))
	}
	for _, f := range r.Findings {
		findings = append(findings, fmt.Sprintf("%s(%s;%s)%s", f.Severity, f.Place, f.Text, strings.Join(f.Criteria, "")))
	}
	for _, d := range r.Diagnostics {
		codes = append(codes, d.Code)
	}
	var out []string
	for _, part := range [][]string{criteria, findings, r.Verdicts, codes} {
		out = append(out, strings.Join(part, " "))
	}
	return strings.Join(out, "|")
}

const good = "CRITERION: pass — VAL-1: ran it\nCRITERION: pass — VAL-2: saw it\nVERDICT: CLEAR\n"

func TestParseReport(t *testing.T) {
	const read = "1=met(ran it) 2=met(saw it)||CLEAR|"
	for name, tc := range map[string]struct{ in, want string }{
		"plain":              {good, read},
		"prose around":       {"I ran everything. CRITERION: pass is what I'd say.\n\n" + good + "\n \n", read},
		"crlf":               {strings.ReplaceAll(good, "\n", "\r\n"), read},
		"bom":                {"\ufeff" + good, read},
		"other dashes":       {strings.Replace(strings.Replace(good, "—", "-", 1), "—", "--", 1), read},
		"en dash":            {strings.ReplaceAll(good, "—", "–"), read},
		"no-break spaces":    {strings.ReplaceAll(good, " ", "\u00a0"), "1=met(ran\u00a0it) 2=met(saw\u00a0it)||CLEAR|"},
		"lists":              {"- CRITERION: pass — VAL-1: ran it\n  2) [x] CRITERION: pass — VAL-2: saw it\n* VERDICT: CLEAR", read},
		"headings":           {"### CRITERION: pass — VAL-1: ran it\n# CRITERION: pass — VAL-2: saw it\n### VERDICT: **CLEAR**", read},
		"bold":               {"**CRITERION: pass — VAL-1: ran it**\n**CRITERION:** pass — **VAL-2:** saw it\n**VERDICT: CLEAR**", read},
		"bold words":         {"**CRITERION**: **pass** — `VAL-1`: ran it\n- _CRITERION: pass_ — *VAL-2*: saw it\nVERDICT: `CLEAR`", read},
		"backticks":          {"`CRITERION: pass — VAL-1: ran it`\n`CRITERION: pass — VAL-2: saw it`\n`VERDICT: CLEAR`", read},
		"case":               {"Criterion: PASS — val-1: ran it\ncriterion: Pass — Val-2: saw it\nverdict: clear", read},
		"dash before proof":  {"CRITERION: pass — VAL-1 — ran it\nCRITERION: pass — VAL-2 - saw it\nVERDICT: CLEAR", read},
		"ansi":               {"\x1b[32mCRITERION: \x1b[1mpass\x1b[0m — VAL-1: ran it\x1b[0m\n\x1b]0;title\x07CRITERION: pass — VAL-2: saw it\nVERDICT: \x1b[1;31mCLEAR\x1b[m\n\x1b[0m\n", read},
		"decorated evidence": {"CRITERION: pass — VAL-1: `a` printed **b**\nVERDICT: CLEAR", "1=met(`a` printed **b**)||CLEAR|"},
		"invalid utf-8":      {"CRITERION: pass — VAL-1: saw \xff\xfe\nVERDICT: CLEAR", "1=met(saw \ufffd)||CLEAR|"},
		"fenced":             {"Here it is:\n```text\n" + good + "```\n", read},
		"fenced twice":       {"~~~\nCRITERION: pass — VAL-1: ran it\n~~~\n```\nCRITERION: pass — VAL-2: saw it\nVERDICT: CLEAR\n```", read},
		"fence is an example": {
			"```\nCRITERION: fail — VAL-1: x\nVERDICT: BLOCKING\n```\n" + good, read,
		},
		"fail, blocked": {
			"CRITERION: fail — VAL-1: got 2\nCRITERION: blocked — VAL-2: no tty\nVERDICT: BLOCKING", "1=unmet(got 2) 2=blocked(no tty)||BLOCKING|",
		},
		"findings": {
			good[:strings.Index(good, "VERDICT")] + "FINDING: NOTE — cmd/x - y.go:12 — slow, see VAL-2\nFINDING: BLOCKING - here - breaks\n**FINDING:** note — no place\nVERDICT: BLOCKING",
			"1=met(ran it) 2=met(saw it)|NOTE(cmd/x - y.go:12;slow, see VAL-2)VAL-2 BLOCKING(here;breaks) NOTE(;no place)|BLOCKING|",
		},
		"placeholders": {
			"CRITERION: pass|fail — VAL-1: what\nCRITERION: pass/fail/blocked — VAL-n: what\nCRITERION: <status> — VAL-1: x\nCRITERION: pass — VAL-n: what\nCRITERION: fail — VAL-<n>: what\nFINDING: BLOCKING|NOTE — where — what\nFINDING: BLOCKING — where — what\nVERDICT: CLEAR|BLOCKING\nVERDICT: <CLEAR or BLOCKING>\n" + good,
			read,
		},
		"quoted":         {"> CRITERION: fail — VAL-1: x\n> VERDICT: BLOCKING\n" + good, read},
		"prose headings": {"## Verdict\nVerdict: see below\n**Findings:** none\nFinding: it was slow\nCriterion: all of them\n" + good, read},

		"empty":            {"", "|||verdict_missing"},
		"not the grammar":  {"Verdict - pass", "|||verdict_missing"},
		"json":             {"```json\n{\"verdict\": \"CLEAR\"}\n```", "|||verdict_missing"},
		"no verdict":       {good[:strings.Index(good, "VERDICT")], "1=met(ran it) 2=met(saw it)|||verdict_missing"},
		"two verdicts":     {good + "VERDICT: CLEAR", "1=met(ran it) 2=met(saw it)||CLEAR CLEAR|verdict_repeated"},
		"the last counts":  {"At first VERDICT: CLEAR seemed right\nCRITERION: fail — VAL-1: x\nVERDICT: BLOCKING", "1=unmet(x)||BLOCKING|"},
		"text after":       {good + "Thanks!", "1=met(ran it) 2=met(saw it)||CLEAR|verdict_not_last"},
		"fence after":      {good + "```\nls\n```\n", "1=met(ran it) 2=met(saw it)||CLEAR|verdict_not_last"},
		"criterion after":  {"VERDICT: CLEAR\nCRITERION: pass — VAL-1: x", "1=met(x)||CLEAR|verdict_not_last"},
		"text after fence": {"```\n" + good + "```\nDone.", "1=met(ran it) 2=met(saw it)||CLEAR|verdict_not_last"},
		"forged before": {
			good + "CRITERION: fail — VAL-1: no\nVERDICT: BLOCKING",
			"1=met(ran it) 2=met(saw it) 1=unmet(no)||CLEAR BLOCKING|criterion_repeated verdict_repeated clear_with_objection",
		},
		"forged before, then fenced": {
			good + "```\nCRITERION: fail — VAL-1: no\nVERDICT: BLOCKING\n```", "1=met(ran it) 2=met(saw it)||CLEAR|verdict_not_last",
		},
		"verdict in a fence after": {good + "```\nVERDICT: CLEAR\n```", "1=met(ran it) 2=met(saw it)||CLEAR|verdict_not_last"},
		"forged after": {
			"CRITERION: fail — VAL-1: no\nVERDICT: BLOCKING\n" + good,
			"1=unmet(no) 1=met(ran it) 2=met(saw it)||BLOCKING CLEAR|criterion_repeated verdict_repeated clear_with_objection",
		},
		"unknown id":           {"CRITERION: pass — VAL-9: x\nVERDICT: CLEAR", "||CLEAR|criterion_unknown"},
		"clear beside fail":    {"CRITERION: fail — VAL-1: x\nVERDICT: CLEAR", "1=unmet(x)||CLEAR|clear_with_objection"},
		"clear beside finding": {"FINDING: BLOCKING — a — b\nVERDICT: CLEAR", "|BLOCKING(a;b)|CLEAR|clear_with_objection"},
		"blocking for nothing": {"CRITERION: pass — VAL-1: x\nVERDICT: BLOCKING", "1=met(x)||BLOCKING|blocking_without_cause"},
		"no evidence":          {"CRITERION: pass — VAL-1:\nCRITERION: pass — VAL-2: ...\nVERDICT: CLEAR", "1=met() 2=met(...)||CLEAR|pass_without_evidence"},
		"verdict and more":     {"VERDICT: BLOCKING, mostly\n" + good, "1=met(ran it) 2=met(saw it)||CLEAR|line_unreadable"},
		"verdict of none":      {"VERDICT: PASS", "|||line_unreadable verdict_missing"},
		"verdict with a nul":   {"VERDICT: CLEAR\x00", "|||line_unreadable verdict_missing"},
		"verdict in lone cr":   {"VERDICT: BLOCKING\rVERDICT: CLEAR", "|||line_unreadable verdict_missing"},
		"no spaces":            {"CRITERION: fail—VAL-1: x\n" + good, "1=met(ran it) 2=met(saw it)||CLEAR|line_unreadable"},
		"odd status":           {"CRITERION: passed — VAL-1: x\n" + good, "1=met(ran it) 2=met(saw it)||CLEAR|line_unreadable"},
		"bracketed verdict":    {"VERDICT: <BLOCKING>\n" + good, "1=met(ran it) 2=met(saw it)||CLEAR|line_unreadable"},
		"bracketed id":         {"CRITERION: fail — <VAL-1>: x\n" + good, "1=met(ran it) 2=met(saw it)||CLEAR|line_unreadable"},
		"finding of no kind":   {"FINDING: it is slow\n" + good, "1=met(ran it) 2=met(saw it)||CLEAR|line_unreadable"},
		"finding that is bare": {"finding: blocking\n" + good, "1=met(ran it) 2=met(saw it)||CLEAR|line_unreadable"},
		"unreadable outside":   {"VERDICT: BLOCKING, mostly\n```\n" + good + "```", "1=met(ran it) 2=met(saw it)||CLEAR|line_unreadable"},
		"report in two places": {"FINDING: NOTE — a — b\n```\n" + good + "```", "|NOTE(a;b)||verdict_missing"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, chunked := range []bool{false, true} {
				var in io.Reader = strings.NewReader(tc.in)
				if chunked {
					in = iotest.OneByteReader(in)
				}
				r, err := ParseReport(in, agreed(t, 2))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, brief(r)); diff != "" {
					t.Errorf("%s", diff)
				}
			}
		})
	}
}

// TestClaimsAreNotProse guards against lines that a reader takes for part of the report and the parser passes over: each
// of these stands beside a good report, which must not be clear.
func TestClaimsAreNotProse(t *testing.T) {
	for _, line := range []string{
		"• FINDING: BLOCKING — a — b", "❌ FINDING: BLOCKING — a — b", "◦ **FINDING:** BLOCKING — a — b", "1. ❌ FINDING: BLOCKING — a", "+FINDING: BLOCKING — a",
		"→ FINDING: NOTE — a — b", "👨‍👩‍👧 VERDICT: BLOCKING", "x FINDING: BLOCKING — a", ":x: FINDING: BLOCKING — a", "&bull; FINDING: BLOCKING — a", "<li>FINDING: BLOCKING — a</li>",
		"\"FINDING: BLOCKING — a — b\",", "(Verdict: not clear)", "\x1b[31m✗\x1b[0m FINDING: BLOCKING — a",
		"FINDINGS: BLOCKING", "FINDINGS: BLOCKING — a — b", "Findings: blocking", "FINDINGS: it crashes", "Findings: 2 blocking", "VERDICTS: BLOCKING", "CRITERIA: fail — VAL-1",
		"CRITERION VAL-1: fail", "Criterion VAL-1 — fail", "Criterion: VAL-1: fail", "### Criterion VAL-1: ❌ failed", "Criterion VAL-1 was not met", "CRITERION #1: fail",
		"| CRITERION: fail — VAL-1 |", "| FINDING | BLOCKING | a | b |", "| Criterion VAL-1 | fail |", "| ❌ | CRITERION: fail — VAL-1: x |",
		"CRITERION: pass|fail — VAL-1: really failed", "CRITERION: pass|fail — VAL-n: really failed", "CRITERION: fail — VAL-x: it crashes", "FINDING: BLOCKING|NOTE — a — it crashes", "CRITERION: <status> — VAL-1: it crashes",
		"FINDING： BLOCKING — a — b", "CRITERION: fail — VAL-1： b", "Verdict： blocking", "VERDICT = BLOCKING", "VERDICT — BLOCKING", "FINDING - it crashes",
		"Verdict: not clear", "**Verdict:** not yet ready", "Verdict: rejected", "Verdict: ❌", "Verdict (blocking)", "Finding #2 — BLOCKING: a", "FINDING BLOCKING a", "Finding blocking: a", "VERDICT BLOCKING",
		"**F**INDING: BLOCKING — a", "FIND\u200bING: BLOCKING — a", "VER\u00adDICT: BLOCKING", "F̶INDING: BLOCKING",
		"FINDING: NOTE — a — b\rFINDING: BLOCKING — c — d", "FINDING: NOTE — a — b\u2028• VERDICT: BLOCKING", "~~FINDING: BLOCKING — a — b~~", "~~VERDICT: BLOCKING~~", "<!-- FINDING: BLOCKING — a — b -->", "<!--\nFINDING: BLOCKING — a — b\n-->", "so <!-- it\nVERDICT: BLOCKING -->",
	} {
		r := parse(t, line+"\n"+good, 2)
		if j := Judge(agreed(t, 2), []AgentReport{{Report: r}}); !has(j.Diagnostics, LineUnreadable) || j.Outcome == Clear {
			t.Errorf("%q: %s, %v", line, j.Outcome, j.Diagnostics)
		}
	}
	for _, line := range []string{
		"## Findings", "FINDINGS:", "FINDINGS: none", "**Findings:** no blocking issues", "Findings: 0 blocking, 1 note", "# CRITERIA", "## Criterion VAL-1", "### Criterion VAL-2: the program does thing 2",
		"Criteria met: 2 of 2", "Criteria: all met", "| Criterion | Status | Evidence |", "|---|---|", "Finding failures in the log took long", "Finding: none", "Findings were few", "VERDICTS",
		"The FINDING: BLOCKING line is for faults", "> • FINDING: BLOCKING — a", "- > VERDICT: BLOCKING", "• CRITERION: pass|fail — VAL-n: what was run and what was seen", "CRITERION: fail — VAL-<n>: expected ..., got ...",
		"CRITERION-based testing", "critical: fail", "VERDICT_MISSING", "verdictless", "2026-01-02T03:04:05Z VERDICT", "<p>clear</p>", "a `<!--` begins a comment", "```\n<!--\n```", "<!-- done -->", "<!-->", "if a <!-- b\n",
		"- [ ] FINDING: NOTE — a — b", "FINDING: NOTE — ~/x — takes ~2 s", "FINDING: NOTE — a — 10%\r20%\r100%",
	} {
		r := parse(t, line+"\n"+good, 2)
		if j := Judge(agreed(t, 2), []AgentReport{{Report: r}}); j.Outcome != Clear {
			t.Errorf("%q: %s, %v", line, j.Outcome, j.Diagnostics)
		}
	}
}

// TestNothingHiddenIsClear: what a reader sees struck out, still to do or not at all passes nothing.
func TestNothingHiddenIsClear(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(good), "\n")
	hide := map[string]func(string) string{
		"struck":        func(s string) string { return "~~" + s + "~~" },
		"struck once":   func(s string) string { return "- ~" + s + "~" },
		"struck, bold":  func(s string) string { return "**~~" + s + "~~**" },
		"struck word":   func(s string) string { return strings.NewReplacer("pass", "~~pass~~", "CLEAR", "~~CLEAR~~").Replace(s) },
		"struck, tag":   func(s string) string { return "<del>" + s + "</del>" },
		"struck before": func(s string) string { return "~~old\n" + s + "~~" },
		"to do":         func(s string) string { return "- [ ] " + s },
		"to do, bold":   func(s string) string { return "1. [ ] **" + s + "**" },
		"empty box":     func(s string) string { return "- [] " + s },
		"comment":       func(s string) string { return "<!-- " + s + " -->" },
		"in a comment":  func(s string) string { return "<!--\n" + s + "\n-->" },
		"and a fence":   func(s string) string { return "<!--\n\n```\n" + s + "\n```\n-->" },
		"never closed":  func(s string) string { return "<!--\n" + s },
	}
	for name, f := range hide {
		for i := range lines {
			text := strings.Join(lines[:i], "\n") + "\n" + f(lines[i]) + "\n" + strings.Join(lines[i+1:], "\n")
			r := parse(t, text, 2)
			if j := Judge(agreed(t, 2), []AgentReport{{Report: r}}); j.Outcome == Clear || !has(j.Diagnostics, LineUnreadable) {
				t.Errorf("%s: %q is %s, %v", name, text, j.Outcome, j.Diagnostics)
			}
		}
	}
	if got := brief(parse(t, "<!--\n"+typed("met", "met"), 2)); !strings.HasSuffix(got, ReviewInvalid) {
		t.Error(got)
	}
	if got := brief(parse(t, "- [ ] CRITERION: fail — VAL-1: x\nVERDICT: BLOCKING", 2)); got != "1=unmet(x)||BLOCKING|" {
		t.Errorf("an objection in a box is %s", got)
	}
}

func TestEvidenceThatSaysNothing(t *testing.T) {
	for _, s := range []string{
		"", "-", "...", "…", "what was run and what was seen", "What was run, and what was seen.", "`<evidence>`", "<what you ran>", "{evidence}", "[evidence]", "evidence", "expected ..., got ...",
		"n/a", "N/A — no terminal", "none", "None.", "nothing", "not checked", "(not tested)", "Not tested: no network", "untested", "was not run", "not run", "could not be verified", "I did not check this", "didn't test", "it wasn't checked",
		"not yet tested", "not applicable", "TBD", "todo", "skipped", "no evidence was reported", "~~ran it~~", "<!-- ran it -->", "<del>ran it</del>",
	} {
		r := parse(t, strings.Replace(good, "ran it", s, 1), 2)
		if j := Judge(agreed(t, 2), []AgentReport{{Report: r}}); !has(j.Diagnostics, PassWithoutEvidence) || j.Criteria[0].Status != Unverified {
			t.Errorf("%q: %s, %v", s, j.Outcome, j.Diagnostics)
		}
	}
	for _, s := range []string{
		"ran it", "x", "0", "printed `none`", "nothing was printed, exit 0", "none of the files changed", "could not find any fault", "not a line too many", "saw {\"a\": 1}", "[1, 2]", "`~/x` took ~2 s", "what it printed was `a`", "exit 1 for a file that is not checked",
		"<0>", "skipped the blank lines as asked", "null bytes are kept", "`a~~b`",
	} {
		r := parse(t, strings.Replace(good, "ran it", s, 1), 2)
		if j := Judge(agreed(t, 2), []AgentReport{{Report: r}}); j.Outcome != Clear {
			t.Errorf("%q: %s, %v", s, j.Outcome, j.Diagnostics)
		}
	}
}

func TestReadErrorIsGiven(t *testing.T) {
	broken := errors.New("broken")
	r, err := ParseReport(io.MultiReader(strings.NewReader("CRITERION: fail — VAL-1: x\nVER"), iotest.ErrReader(broken)), agreed(t, 1))
	if !errors.Is(err, broken) {
		t.Errorf("error is %v", err)
	}
	if got := brief(r); got != "1=unmet(x)|||verdict_missing" {
		t.Errorf("report is %s", got)
	}
	if _, err := ParseReport(silent{}, agreed(t, 1)); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("error is %v, want io.ErrNoProgress", err)
	}
}

type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }

// TestBounds shows that hostile output costs no memory and never passes.
func TestBounds(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		code string
	}{
		"long evidence":      {strings.Replace(good, "ran it", strings.Repeat("é", maxEvidence), 1), ReportTooLarge},
		"endless evidence":   {strings.Replace(good, "ran it", strings.Repeat("x", 3*window), 1), ReportTooLarge},
		"long place":         {"FINDING: NOTE — " + strings.Repeat("p", 2*maxPlace) + " — x\n" + good, ReportTooLarge},
		"many findings":      {strings.Repeat("FINDING: NOTE — a — b\n", maxFindings+1) + good, ReportTooLarge},
		"much in all":        {strings.Repeat("FINDING: NOTE — a — "+strings.Repeat("x", maxEvidence)+"\nFINDING: BLOCKING — a — "+strings.Repeat("x", maxEvidence)+"\n", 199) + good, ReportTooLarge},
		"many unknown":       {manyUnknown() + good, CriterionUnknown},
		"many repeated":      {strings.Repeat("CRITERION: pass — VAL-1: ran it\n", 10000) + good, CriterionRepeated},
		"flooded":            {strings.Repeat("CRITERION: pass — VAL-1: ran it\n", maxReportLines+10) + good, ReportTooLarge},
		"many verdicts":      {strings.Repeat("VERDICT: CLEAR\n", 10000) + good, VerdictRepeated},
		"many unreadable":    {strings.Repeat("VERDICT: PERHAPS\n", 10000) + good, LineUnreadable},
		"hidden by blanks":   {strings.Repeat(" ", maxLine+10) + "VERDICT: BLOCKING\n" + good, LineUnreadable},
		"hidden by stars":    {strings.Repeat("*", 2*window) + "VERDICT: BLOCKING\n" + good, LineUnreadable},
		"hidden by colour":   {strings.Repeat("\x1b[0m", maxLine) + "VERDICT: BLOCKING\n" + good, LineUnreadable},
		"verdict and blanks": {strings.TrimSpace(good) + strings.Repeat(" ", 2*maxLine) + "NOT", LineUnreadable},
		"blanks after":       {good + strings.Repeat(" ", 2*maxLine) + "but", VerdictNotLast},
	} {
		t.Run(name, func(t *testing.T) {
			r := parse(t, tc.in, 2)
			if !has(r.Diagnostics, tc.code) {
				t.Errorf("diagnostics are %v, want %s", r.Diagnostics, tc.code)
			}
			size := 0
			for _, c := range r.Criteria {
				size += len(c.Evidence)
			}
			for _, f := range r.Findings {
				size += len(f.Text) + len(f.Place)
			}
			for _, d := range r.Diagnostics {
				size += len(d.Detail)
			}
			if size > maxKept+64<<10 || len(r.Criteria) > 8 || len(r.Findings) > 2*maxFindings || len(r.Verdicts) > maxVerdicts || len(r.Diagnostics) > 10 {
				t.Errorf("kept %d bytes, %d criteria, %d findings, %d verdicts, %d diagnostics", size, len(r.Criteria), len(r.Findings), len(r.Verdicts), len(r.Diagnostics))
			}
			if j := Judge(agreed(t, 2), []AgentReport{{Report: r}}); j.Outcome == Clear {
				t.Error("clear")
			}
		})
	}
	t.Run("a long line of prose is none", func(t *testing.T) {
		if got := brief(parse(t, "log: "+strings.Repeat("x", 3*window)+"\n"+good, 2)); got != "1=met(ran it) 2=met(saw it)||CLEAR|" {
			t.Error(got)
		}
	})
	t.Run("a blocking finding after many notes", func(t *testing.T) {
		r := parse(t, strings.Repeat("FINDING: NOTE — a — b\n", 1000)+"FINDING: BLOCKING — a — c\n"+good, 2)
		if j := Judge(agreed(t, 2), []AgentReport{{Report: r}}); j.Outcome != Blocking {
			t.Error(j.Outcome)
		}
	})
}

func manyUnknown() string {
	var b strings.Builder
	for i := range 10000 {
		fmt.Fprintf(&b, "CRITERION: pass — VAL-%d: x\n", i+100)
	}
	return b.String()
}

func has(list []Diagnostic, code string) bool {
	for _, d := range list {
		if d.Code == code {
			return true
		}
	}
	return false
}

// transcript repeats a piece of text up to size bytes and ends with a report. It is generated while it is read.
func transcript(piece string, size int64) io.Reader {
	block := bytes.Repeat([]byte(piece), 1<<20/len(piece)+1)
	return io.MultiReader(io.LimitReader(&endless{block: block}, size), strings.NewReader("\n"+good))
}

type endless struct {
	block []byte
	at    int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.block[e.at:])
	e.at = (e.at + n) % len(e.block)
	return n, nil
}

// cpuTime is what this process has used so far.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkParseReport reads 1 GiB transcripts; the budget is 300 MB/s.
func BenchmarkParseReport(b *testing.B) {
	c := agreed(b, 2)
	for _, tc := range []struct{ name, piece string }{
		{"log", "2026-01-02T03:04:05Z INFO  ran `app --help`, it exited 0 and printed a usage message\nfunc main() {\n\treturn nil\n}\n\n"},
		{"markdown", "- **checked** the help text: it names every flag\n\n```\n$ app --help\nusage: app [flags]\n```\n"},
		{"colour", "\x1b[32m✓\x1b[0m ok 12 - works as it should, took 12 ms\n"},
		{"report", "CRITERION: pass — VAL-1: ran it with --help and saw a usage message, exit 0\n"},
		{"one-line", "abcdefgh"},
		{"short", "a\n"},
	} {
		b.Run(tc.name, func(b *testing.B) {
			const size = 1 << 30
			b.SetBytes(size)
			b.ReportAllocs()
			before := cpuTime(b)
			for b.Loop() {
				if _, err := ParseReport(transcript(tc.piece, size), c); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(size*float64(b.N)/1e6/(cpuTime(b)-before).Seconds(), "MB/cpu-s") // also right on a busy machine
		})
	}
}
