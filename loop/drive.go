package loop

import (
	"context"
	"fmt"
	"slices"

	"github.com/trkr-dev/trkr-validate/verdict"
)

// World is what a loop acts on. An error of a method is about this program alone (interrupted, the disk is full): nothing
// is written down, and the next call begins where this one stopped.
type World interface {
	// Tree is the tree that the branch holds now, without validation.md; empty where there is no branch.
	Tree(ctx context.Context) (string, error)
	// Judge validates once. What went wrong with the environment is an outcome, not an error.
	Judge(ctx context.Context, turn int) (Judged, error)
	// Mend runs the repair command on what remains, for at most what is left of the time.
	Mend(ctx context.Context, a Answer, b Budget) (Repaired, error)
	// Ask asks the triage agent and returns what it answered. Its own failure is said in trouble.
	Ask(ctx context.Context, q Question) (answer []byte, trouble string, err error)
	// File files an issue and returns what names it; key is the same however often it is tried. Its failure is trouble.
	File(ctx context.Context, key string, f FixTicket, body string) (ref, trouble string, err error)
	// Comment posts a text on the ticket.
	Comment(ctx context.Context, key, text string) (ref, trouble string, err error)
}

// Loop drives one ticket.
type Loop struct {
	History *History
	Budget  Budget
	World   World
	Triage  bool // whether a triage agent is asked
	Able    Able
	Told    func(Entry) // hears of each entry once it is written down; nil: nobody does
}

// Run goes on from wherever the history stands until the answer is none that this program acts on: done, human or stop.
func (l *Loop) Run(ctx context.Context) (Answer, error) {
	for {
		a, err := l.Next(ctx)
		if err != nil {
			return a, err
		}
		switch a.Answer {
		case Validate:
			err = l.Turn(ctx)
		case Repair:
			err = l.mend(ctx, a)
		default:
			return a, l.decide(a)
		}
		if err != nil {
			return a, err
		}
	}
}

// Next finishes what the last turn left to do outside and says what comes next.
func (l *Loop) Next(ctx context.Context) (Answer, error) {
	if err := l.dispose(ctx); err != nil {
		return Answer{}, err
	}
	tree, err := l.World.Tree(ctx)
	if err != nil {
		return Answer{}, err
	}
	a := Decide(l.History.Entries, l.Budget, tree)
	a.Issue = l.History.issue
	return a, nil
}

// Turn validates once and has triage look at what came of it.
func (l *Loop) Turn(ctx context.Context) error {
	n := len(fold(l.History.Entries).turns) + 1
	if err := l.add(Entry{Type: TurnStarted, Turn: n}); err != nil {
		return err
	}
	judged, err := l.World.Judge(ctx, n)
	if err != nil {
		return err
	}
	if err := l.add(Entry{Type: TurnFinished, Turn: n, Judged: &judged}); err != nil {
		return err
	}
	return l.dispose(ctx)
}

// Restart makes what was before count no more: a person has looked at it.
func (l *Loop) Restart() error { return l.add(Entry{Type: LoopRestarted}) }

func (l *Loop) add(e Entry) error {
	if err := l.History.Add(e); err != nil {
		return err
	}
	if l.Told != nil {
		l.Told(l.History.Entries[len(l.History.Entries)-1])
	}
	return nil
}

// decide writes an answer down, unless that is what was written last.
func (l *Loop) decide(a Answer) error {
	d := Decided{Answer: a.Answer, Why: a.Why}
	if all := l.History.Entries; len(all) > 0 && all[len(all)-1].Type == LoopDecided && *all[len(all)-1].Decided == d {
		return nil
	}
	return l.add(Entry{Type: LoopDecided, Turn: a.Turn, Decided: &d})
}

func (l *Loop) mend(ctx context.Context, a Answer) error {
	if err := l.decide(a); err != nil {
		return err
	}
	if err := l.add(Entry{Type: RepairStarted, Turn: a.Turn}); err != nil {
		return err
	}
	left := l.Budget
	left.Time -= fold(l.History.Entries).spent
	r, err := l.World.Mend(ctx, a, left)
	if err != nil {
		return err
	}
	return l.add(Entry{Type: RepairFinished, Turn: a.Turn, Repaired: &r})
}

// dispose asks triage about the last turn, where that was not done yet, and carries out what was decided.
func (l *Loop) dispose(ctx context.Context) error {
	s := fold(l.History.Entries)
	if !l.Triage || len(s.turns) == 0 || s.next != "" {
		return nil
	}
	t := s.turns[len(s.turns)-1]
	about := t.open(s.setAside)
	if t.triage == nil && len(about) > 0 && t.back == "" {
		decided, err := l.ask(ctx, Question{SchemaVersion: SchemaVersion, Issue: l.History.issue, Turn: t.n, Findings: about})
		if err != nil {
			return err
		}
		if err := l.add(Entry{Type: TriageDecided, Turn: t.n, Triage: &decided}); err != nil {
			return err
		}
		t.triage = &decided
	}
	if t.triage == nil || t.triage.Proposal == nil {
		return nil
	}
	for _, key := range t.triage.Proposal.actions() {
		if err := l.act(ctx, t, key); err != nil {
			return err
		}
	}
	return nil
}

func (l *Loop) ask(ctx context.Context, q Question) (Triage, error) {
	answer, trouble, err := l.World.Ask(ctx, q)
	if err != nil {
		return Triage{}, err
	}
	if trouble != "" {
		return Triage{Rejected: trouble}, nil
	}
	p, err := ParseProposal(answer, q.Findings, l.Able)
	if err != nil {
		return Triage{Rejected: fmt.Sprintf("the proposal is not taken: %v", err)}, nil
	}
	return Triage{Proposal: p}, nil
}

// act does one thing outside, once: not where it was begun before and nobody knows how that ended, nor where it was
// done in an earlier turn. What failed is tried again when a proposal asks for it again.
func (l *Loop) act(ctx context.Context, t turn, key string) error {
	begun := false
	for _, e := range l.History.Entries {
		switch {
		case e.Action == nil || e.Action.Key != key:
		case e.Type == ActionStarted:
			begun = true
		case e.Action.Error != "" && e.Turn < t.n:
			begun = false
		}
	}
	if begun {
		return nil
	}
	if err := l.add(Entry{Type: ActionStarted, Turn: t.n, Action: &Action{Key: key}}); err != nil {
		return err
	}
	ref, trouble, err := l.carry(ctx, t, key)
	if err != nil {
		return err
	}
	return l.add(Entry{Type: ActionFinished, Turn: t.n, Action: &Action{Key: key, Ref: ref, Error: trouble}})
}

func (l *Loop) carry(ctx context.Context, t turn, key string) (ref, trouble string, err error) {
	for _, f := range t.triage.Proposal.FixTicket {
		if fileKey(f.Finding) == key {
			return l.World.File(ctx, key, f, f.Quoted(l.History.issue, t.finding(f.Finding)))
		}
	}
	for _, d := range t.triage.Proposal.Dismiss {
		if commentKey(d.Finding) == key {
			f := t.finding(d.Finding)
			return l.World.Comment(ctx, key, fmt.Sprintf("Finding %s of turn %d was dismissed by triage; the verdict stands.\n\n    %s\n\n%s", f.ID, t.n, f.Text, d.Justification))
		}
	}
	return "", "nothing is known of " + key, nil
}

func (t turn) finding(id string) Finding {
	if i := slices.IndexFunc(t.Findings, func(f Finding) bool { return f.ID == id }); i >= 0 {
		return t.Findings[i]
	}
	return Finding{ID: id, Severity: verdict.SeverityBlocking}
}
