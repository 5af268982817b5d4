package verdict

import (
	"fmt"
	"slices"

	"github.com/trkr-dev/trkr-validate/contract"
)

// AgentReport is what one agent reported.
type AgentReport struct {
	Agent  string // its name, as criteria say in By
	Report Report
}

// Judgement is what all reports amount to.
type Judgement struct {
	Outcome     Outcome
	Verdict     string // "CLEAR" or "BLOCKING" where the agents agreed on exactly one
	Criteria    []Criterion
	Findings    []Finding
	Diagnostics []Diagnostic
}

// Judge computes the outcome from the reports of the agents, in the order in which they were asked, each perhaps only
// about what the ones before left open. A criterion takes the worst status that any agent gave it: unmet, blocked,
// met; unverified only where none decided. The outcome is Clear only where every assertion of c is met, each agent's
// verdict is exactly one CLEAR, nothing blocks and there is no diagnostic. An agent that left criteria open
// (unverified or blocked) may go without a verdict, as long as another one gives it. Every report is checked here
// again, however it was made.
func Judge(c contract.Contract, reports []AgentReport) Judgement {
	j := Judgement{Outcome: Incomplete, Criteria: make([]Criterion, len(c.Assertions))}
	known := index(c)
	for i, a := range c.Assertions {
		j.Criteria[i] = Criterion{ID: a.ID, Text: a.Text, Status: Unverified}
	}
	if len(c.Assertions) == 0 {
		j.diagnose(NothingToJudge, "the contract holds no assertion")
	}
	if len(reports) == 0 {
		j.diagnose(NothingToJudge, "no agent reported")
	}
	covered := make([]bool, len(c.Assertions))
	var verdicts []string
	for _, r := range reports {
		prefix := ""
		if len(reports) > 1 {
			prefix = r.Agent + ": "
		}
		for _, d := range slices.Concat(r.Report.Diagnostics, check(known, r.Report)) {
			j.diagnose(d.Code, prefix+d.Detail)
		}
		j.merge(known, r, covered)
		j.find(r.Report.Findings)
		verdicts = append(verdicts, r.Report.Verdicts...)
	}
	var missing names
	for i, ok := range covered {
		if !ok {
			missing.add(c.Assertions[i].ID)
		}
	}
	if missing.n > 0 {
		j.diagnose(CriterionMissing, "no agent reported on "+missing.String())
	}
	slices.Sort(verdicts)
	if said := slices.Compact(verdicts); len(said) == 1 && (said[0] == "CLEAR" || said[0] == "BLOCKING") {
		j.Verdict = said[0]
	}
	j.conclude()
	return j
}

func (j *Judgement) diagnose(code, detail string) {
	j.Diagnostics = addDiagnostic(j.Diagnostics, Diagnostic{Code: code, Detail: detail})
}

// merge takes one agent's criteria in.
func (j *Judgement) merge(known map[string]int, r AgentReport, covered []bool) {
	for id, said := range settle(r.Report.Criteria) {
		i, ok := known[id]
		if !ok {
			continue
		}
		covered[i] = true
		crit := &j.Criteria[i]
		switch {
		case rank(said.Status) > rank(crit.Status):
			crit.Status, crit.Evidence, crit.By = said.Status, said.Evidence, r.Agent
		case said.Status == Unverified && crit.Status == Unverified && crit.Evidence == "":
			crit.Evidence = said.Evidence
		}
	}
}

// rank orders statuses from the least to the worst.
func rank(s Status) int {
	switch s {
	case Unmet:
		return 3
	case Blocked:
		return 2
	case Met:
		return 1
	default:
		return 0
	}
}

// settle makes one of each id's lines: what one agent says twice and differently is unverified, and so is a pass
// that shows nothing.
func settle(lines []Reported) map[string]Reported {
	settled := make(map[string]Reported, len(lines))
	for _, l := range lines {
		if !validStatus(l.Status) || l.Status == Met && !substantial(l.Evidence) {
			l.Status = Unverified
		}
		was, repeated := settled[l.ID]
		switch {
		case !repeated:
			settled[l.ID] = l
		case was.Status != l.Status:
			settled[l.ID] = Reported{ID: l.ID, Status: Unverified, Evidence: "the agent reported on it more than once, and differently"}
		}
	}
	return settled
}

func validStatus(s Status) bool {
	return s == Met || s == Unmet || s == Blocked || s == Unverified
}

// find takes one agent's findings in; the same one twice counts once, as the worse of the two.
func (j *Judgement) find(findings []Finding) {
	for _, f := range findings {
		f.ID = FindingID(f)
		at := slices.IndexFunc(j.Findings, func(have Finding) bool { return have.ID == f.ID })
		switch {
		case at < 0:
			j.Findings = append(j.Findings, f)
		case f.Severity == SeverityBlocking:
			j.Findings[at].Severity = SeverityBlocking
		}
	}
}

func (j *Judgement) conclude() {
	blocking := slices.ContainsFunc(j.Criteria, func(c Criterion) bool { return c.Status == Unmet }) ||
		slices.ContainsFunc(j.Findings, func(f Finding) bool { return f.Severity == SeverityBlocking })
	open := slices.ContainsFunc(j.Criteria, func(c Criterion) bool { return c.Status != Met })
	switch {
	case blocking:
		j.Outcome = Blocking
	case open, len(j.Criteria) == 0, j.Verdict != "CLEAR", len(j.Diagnostics) > 0:
		j.Outcome = Incomplete
	default:
		j.Outcome = Clear
	}
}

// Conclude sets the verdict that a report amounts to which was made by a program and not read: BLOCKING where a
// criterion is unmet or a finding blocks, CLEAR where every criterion is met, none where any was left open.
func (r *Report) Conclude() {
	objection, open := objections(*r)
	switch {
	case objection:
		r.Verdicts = []string{"BLOCKING"}
	case open, len(r.Criteria) == 0:
		r.Verdicts = nil
	default:
		r.Verdicts = []string{"CLEAR"}
	}
}

func objections(r Report) (objection, open bool) {
	for _, l := range r.Criteria {
		objection = objection || l.Status == Unmet
		open = open || l.Status != Unmet && l.Status != Met
	}
	for _, f := range r.Findings {
		objection = objection || f.Severity == SeverityBlocking
	}
	return objection, open
}

// check finds what one report contradicts in itself or in the contract. It gives the same whenever it is asked.
func check(known map[string]int, r Report) []Diagnostic {
	var out []Diagnostic
	say := func(code, format string, args ...any) {
		out = append(out, Diagnostic{Code: code, Detail: fmt.Sprintf(format, args...)})
	}
	var unknown, repeated, bare, odd names
	count := make(map[string]int, len(r.Criteria))
	for _, l := range r.Criteria {
		if _, ok := known[l.ID]; !ok {
			unknown.add(l.ID)
		}
		if count[l.ID]++; count[l.ID] > 1 {
			repeated.add(l.ID)
		}
		if l.Status == Met && !substantial(l.Evidence) {
			bare.add(l.ID)
		}
		if !validStatus(l.Status) {
			odd.add(l.ID)
		}
	}
	for _, n := range []struct {
		code, text string
		ids        names
	}{
		{CriterionUnknown, "the contract has no", unknown},
		{CriterionRepeated, "reported more than once:", repeated},
		{PassWithoutEvidence, "passed without evidence:", bare},
		{StatusUnknown, "reported with a status that is none:", odd},
	} {
		if n.ids.n > 0 {
			say(n.code, "%s %s", n.text, n.ids.String())
		}
	}
	objection, open := objections(r)
	clear, blocking := slices.Contains(r.Verdicts, "CLEAR"), slices.Contains(r.Verdicts, "BLOCKING")
	if n := len(r.Verdicts); n > 1 {
		say(VerdictRepeated, "there are %d VERDICT lines", n)
	}
	if len(r.Verdicts) == 0 && !open && len(r.Diagnostics) == 0 { // a diagnostic says better why there is none
		say(VerdictMissing, "there is no VERDICT line")
	}
	for _, v := range r.Verdicts {
		if v != "CLEAR" && v != "BLOCKING" {
			say(VerdictMissing, "a verdict is neither CLEAR nor BLOCKING")
			break
		}
	}
	if clear && objection {
		say(ClearWithObjection, "the verdict is CLEAR beside a fail or a BLOCKING finding")
	}
	if blocking && !objection {
		say(BlockingWithoutCause, "the verdict is BLOCKING beside no fail and no BLOCKING finding")
	}
	return out
}
