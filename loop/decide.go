package loop

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/trkr-dev/trkr-validate/verdict"
)

// Do is what comes next.
type Do string

// The answers. Validate is none that is given to others: nothing is known yet of what the branch holds now.
const (
	Validate Do = "validate"
	Done     Do = "done"
	Repair   Do = "repair"
	Human    Do = "human"
	Stop     Do = "stop"
)

// Budget bounds a loop. All but Cost are positive.
type Budget struct {
	Turns, Plateau, Errors int
	Time                   time.Duration
	Cost                   float64 // 0: not bounded
}

// Answer is what comes next and why. Remains is what keeps the last turn from being clear.
type Answer struct {
	SchemaVersion int     `json:"schemaVersion"`
	Issue         string  `json:"issue"`
	Turn          int     `json:"turn"` // the last one that counts; 0 before the first
	Answer        Do      `json:"answer"`
	Why           string  `json:"why"`
	Remains       Remains `json:"remains"`
}

// Remains is the next implementer's input.
type Remains struct {
	Criteria    []verdict.Criterion  `json:"criteria"` // that are not met, with evidence
	Findings    []Finding            `json:"findings"` // that block and were not set aside
	Refusals    []verdict.Refusal    `json:"refusals"`
	Diagnostics []verdict.Diagnostic `json:"diagnostics"`
	SetAside    []string             `json:"setAside"` // ids of findings of the last turn that triage took off the list
}

// series is what the entries since the last restart amount to.
type series struct {
	turns    []turn
	errors   int // in a row
	lastErr  string
	spent    time.Duration
	cost     float64
	next     Do             // what follows from the last entry alone: Validate, Repair, or empty where a turn was judged last
	dismiss  map[string]int // ids that were dismissed, with the turn
	setAside map[string]bool
}

// turn is one that counts: judged or refused.
type turn struct {
	n int
	Judged
	triage *Triage // nil: nobody was asked
	set    map[string]bool
	back   string // a finding that an earlier turn dismissed
}

// fold reads a history.
func fold(entries []Entry) series {
	s := series{next: Validate, dismiss: map[string]int{}, setAside: map[string]bool{}}
	failed := map[string]bool{}
	for _, e := range entries {
		if e.Type == ActionFinished && e.Action.Error != "" {
			failed[e.Action.Key] = true
		} else if e.Type == ActionFinished {
			delete(failed, e.Action.Key)
		}
	}
	for _, e := range entries {
		switch e.Type {
		case LoopRestarted:
			s = series{next: Validate, dismiss: map[string]int{}, setAside: map[string]bool{}}
		case TurnStarted:
			s.next = Validate
		case TurnFinished:
			s.finished(e)
		case TriageDecided:
			s.decided(e, failed)
		case RepairStarted:
			s.next = Repair
		case RepairFinished:
			s.spent += time.Duration(e.Repaired.MS) * time.Millisecond
			s.cost += e.Repaired.Cost
			if e.Repaired.Exit != 0 {
				s.errors++
				s.lastErr = fmt.Sprintf("the repair command ended with %d", e.Repaired.Exit)
				if e.Repaired.Error != "" {
					s.lastErr = e.Repaired.Error
				}
				s.next = Repair
			} else {
				s.errors, s.next = 0, Validate
			}
		}
	}
	return s
}

func (s *series) finished(e Entry) {
	s.spent += time.Duration(e.Judged.MS) * time.Millisecond
	if e.Judged.Outcome == verdict.Error {
		s.errors++
		s.lastErr, s.next = e.Judged.Error, Validate
		return
	}
	s.errors, s.next = 0, ""
	t := turn{n: e.Turn, Judged: *e.Judged}
	for _, f := range t.Findings {
		if f.Severity == verdict.SeverityBlocking && s.dismiss[f.ID] > 0 && t.back == "" {
			t.back = fmt.Sprintf("%s (%s), which turn %d dismissed", f.ID, f.Text, s.dismiss[f.ID])
		}
	}
	s.turns = append(s.turns, t)
	s.settle()
}

// decided takes a proposal in. What could not be carried out was not decided.
func (s *series) decided(e Entry, failed map[string]bool) {
	if len(s.turns) == 0 {
		return
	}
	t := &s.turns[len(s.turns)-1]
	t.triage = e.Triage
	if e.Triage.Proposal == nil {
		return
	}
	for _, f := range e.Triage.Proposal.FixTicket {
		if !failed[fileKey(f.Finding)] {
			s.setAside[f.Finding] = true
		}
	}
	for _, d := range e.Triage.Proposal.Dismiss {
		if !failed[commentKey(d.Finding)] {
			s.setAside[d.Finding] = true
			s.dismiss[d.Finding] = e.Turn
		}
	}
	s.settle()
}

// settle makes the last turn's set: what is compared to see whether there is less to do.
func (s *series) settle() {
	t := &s.turns[len(s.turns)-1]
	t.set = map[string]bool{}
	for _, r := range t.Refusals {
		t.set["refused: "+string(r.Reason)] = true
	}
	for _, c := range t.Criteria {
		if c.Status != verdict.Met {
			t.set[c.ID] = true
		}
	}
	for _, f := range t.open(s.setAside) {
		t.set[f.ID] = true
	}
}

// open are the findings that block and were not set aside.
func (t turn) open(aside map[string]bool) []Finding {
	return slices.DeleteFunc(slices.Clone(t.Findings), func(f Finding) bool { return f.Severity != verdict.SeverityBlocking || aside[f.ID] })
}

// Decide says what comes next. It is a function of the history, the budget and the tree that the branch holds now, and
// of nothing else.
func Decide(entries []Entry, b Budget, tree string) Answer {
	s := fold(entries)
	a := Answer{SchemaVersion: SchemaVersion, Remains: Remains{
		Criteria: []verdict.Criterion{}, Findings: []Finding{}, Refusals: []verdict.Refusal{}, Diagnostics: []verdict.Diagnostic{}, SetAside: []string{},
	}}
	if len(entries) > 0 {
		a.Issue = entries[0].Issue
	}
	if len(s.turns) > 0 {
		last := s.turns[len(s.turns)-1]
		a.Turn, a.Remains = last.n, last.remains(s.setAside)
	}
	a.Answer, a.Why = s.answer(b, tree)
	return a
}

func (s series) answer(b Budget, tree string) (Do, string) {
	if s.errors >= b.Errors {
		return Human, fmt.Sprintf("%d errors in a row, the last: %s", s.errors, s.lastErr)
	}
	over, spent := s.over(b)
	if s.next == Validate || len(s.turns) == 0 {
		if over != "" {
			return over, spent
		}
		return Validate, "what the branch holds now was not judged yet"
	}
	t := s.turns[len(s.turns)-1]
	if do, why := s.judged(t, tree); do != "" && (do != Validate || over == "") {
		return do, why
	}
	if over != "" {
		return over, spent
	}
	if why := s.plateau(b.Plateau); why != "" {
		return Stop, why
	}
	if s.next == "" && t.Tree != tree {
		return Validate, "the branch has moved on since turn " + fmt.Sprint(t.n)
	}
	return Repair, fmt.Sprintf("turn %d was %s", t.n, t.Outcome)
}

// wrong are refusals that no implementer may or can mend.
var wrong = []verdict.Reason{
	verdict.TicketNotFound, verdict.BranchAmbiguous, verdict.DetachedHead, verdict.DefaultBranch,
	verdict.NoContract, verdict.ContractInvalid, verdict.ContractChanged, verdict.BuildMissing,
}

// judged says where the last turn alone leads; nothing where it is to be repaired.
func (s series) judged(t turn, tree string) (Do, string) {
	open := t.open(s.setAside)
	gaps := slices.DeleteFunc(slices.Clone(open), func(f Finding) bool { return f.Source == FromImplementer })
	if t.Outcome == verdict.Clear && len(gaps) == 0 && t.back == "" && (t.triage == nil || t.triage.Proposal == nil || t.triage.Proposal.Block == nil) {
		switch {
		case t.Inside:
			return Human, `an agent that judged from inside the box says clear, and the configuration does not take its word ("trust": "inside")`
		case len(open) > 0:
			return Human, fmt.Sprintf("the implementer discovered what blocks: %s", open[0].Text)
		case s.hasAside(t):
			return Human, "what blocks was set aside, not mended"
		case t.Tree != tree:
			return Validate, "the branch has moved on since turn " + fmt.Sprint(t.n)
		}
		return Done, fmt.Sprintf("turn %d is clear", t.n)
	}
	for _, r := range t.Refusals {
		if slices.Contains(wrong, r.Reason) {
			return Human, r.Error()
		}
	}
	switch {
	case t.triage != nil && t.triage.Proposal != nil && t.triage.Proposal.Block != nil:
		return Human, "triage calls for a person: " + t.triage.Proposal.Block.Why
	case t.back != "":
		return Human, "a finding came back: " + t.back
	case len(t.Refusals) > 0 || len(gaps) > 0:
		return "", ""
	}
	var blocked, unverified []string
	for _, c := range t.Criteria {
		switch c.Status {
		case verdict.Unmet:
			return "", ""
		case verdict.Blocked:
			blocked = append(blocked, c.ID)
		case verdict.Unverified:
			unverified = append(unverified, c.ID)
		}
	}
	lost := slices.ContainsFunc(t.Diagnostics, func(d verdict.Diagnostic) bool { return d.Code == verdict.BoxLost })
	switch {
	case lost:
		return "", "" // what ran there took the box with it
	case len(blocked) > 0:
		return Human, "something kept it from being verified: " + strings.Join(blocked, ", ")
	case len(unverified) > 0:
		return Human, "no agent could tell: " + strings.Join(unverified, ", ")
	case s.hasAside(t):
		return Human, "what still blocks was set aside by triage"
	}
	return Human, "no implementer can mend what is wrong with the verdict itself"
}

func (s series) hasAside(t turn) bool {
	return slices.ContainsFunc(t.Findings, func(f Finding) bool { return f.Severity == verdict.SeverityBlocking && s.setAside[f.ID] })
}

// over says which budget is spent.
func (s series) over(b Budget) (Do, string) {
	switch {
	case len(s.turns) >= b.Turns:
		return Stop, fmt.Sprintf("%d turns were taken, and loop.turns allows %d", len(s.turns), b.Turns)
	case s.spent >= b.Time:
		return Stop, fmt.Sprintf("%s were spent, and loop.time allows %s", s.spent.Round(time.Second), b.Time)
	case b.Cost > 0 && s.cost >= b.Cost:
		return Stop, fmt.Sprintf("%g were spent, and loop.cost allows %g", s.cost, b.Cost)
	}
	return "", ""
}

// plateau says why going on is of no use: there was not less to do than before for so many turns, or there is the same
// to do as once before, with something else in between. A turn that was refused judged nothing, so it is never less.
func (s series) plateau(most int) string {
	least, stale := math.MaxInt, 0
	for i, t := range s.turns {
		size := len(t.set)
		if t.Outcome == verdict.Refused {
			size = math.MaxInt
		}
		switch {
		case i == 0, size < least:
			stale = 0
		default:
			stale++
		}
		least = min(least, size)
		for j := 0; j < i-1; j++ {
			if maps.Equal(s.turns[j].set, t.set) && !maps.Equal(s.turns[i-1].set, t.set) {
				return fmt.Sprintf("plateau: turn %d leaves what turn %d left", t.n, s.turns[j].n)
			}
		}
	}
	if stale >= most {
		return fmt.Sprintf("plateau: there was not less to do for %d turns", stale)
	}
	return ""
}

func (t turn) remains(aside map[string]bool) Remains {
	r := Remains{Criteria: []verdict.Criterion{}, Findings: append([]Finding{}, t.open(aside)...), Refusals: append([]verdict.Refusal{}, t.Refusals...),
		Diagnostics: append([]verdict.Diagnostic{}, t.Diagnostics...), SetAside: []string{}}
	for _, c := range t.Criteria {
		if c.Status != verdict.Met {
			r.Criteria = append(r.Criteria, c)
		}
	}
	for _, f := range t.Findings {
		if f.Severity == verdict.SeverityBlocking && aside[f.ID] {
			r.SetAside = append(r.SetAside, f.ID)
		}
	}
	return r
}
