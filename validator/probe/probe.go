// Package probe is the agent that needs no model: it reads an assertion as a sentence of a small language, runs the
// commands in it and looks at what happened. What it does not fully understand is unverified, never guessed.
// docs/probe.md describes the language.
package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/bound"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/validator"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// Options say how much is tried beyond one look at each assertion.
type Options struct {
	// Repeat is how often each assertion is tried, each time in a session of its own; 0 is once. One whose results
	// differ is flaky: unverified, whatever they are.
	Repeat int
	// Prove tries what is met also on a program that does nothing and fails, beside the one that succeeds.
	Prove bool
	// Blocking makes a BLOCKING finding of an assertion that such a program meets, instead of a note.
	Blocking bool
}

// New makes the agent. It holds no state: one may validate several tasks at the same time.
func New(o Options) validator.Agent { return agent{o} }

type agent struct{ options Options }

func (agent) Name() string           { return "probe" }
func (agent) Version() string        { return "2" }
func (agent) Trust() validator.Trust { return validator.Outside }

// checker is one task under way.
type checker struct {
	options Options
	box     sandbox.Sandbox
	task    validator.Task
	path    string
	until   time.Time
	lookup  lookup
	product bool // the image is the product: no program in it is trusted
	report  verdict.Report
}

// Validate checks one assertion after the other, each in a session of its own, so that none sees what another left.
func (a agent) Validate(ctx context.Context, box sandbox.Sandbox, task validator.Task) (verdict.Report, error) {
	c := &checker{box: box, product: box.Info().Product, task: task, options: a.options, until: time.Now().Add(task.Timeout)}
	c.lookup = lookup{found: map[string]string{}, image: strings.Split(box.Info().Path, ":")}
	c.path = strings.Join(append(append([]string(nil), task.Path...), box.Info().Path), ":")
	trees := make([]*Assertion, len(task.Assertions))
	reasons := make([]error, len(task.Assertions))
	for i, a := range task.Assertions {
		trees[i], reasons[i] = Parse(a.Text)
	}
	if err := c.lookAhead(ctx, trees); err != nil {
		return c.report, err
	}
	for i, a := range task.Assertions {
		if trees[i] == nil {
			c.decide(a.ID, verdict.Unverified, reasons[i].Error())
			continue
		}
		if err := c.check(ctx, a.ID, trees[i]); err != nil {
			return c.report, err
		}
	}
	c.report.Conclude()
	return c.report, nil
}

// lookAhead resolves the programs of all assertions at once. What that cannot do is left to the assertions.
func (c *checker) lookAhead(ctx context.Context, trees []*Assertion) (err error) {
	var all []program
	for _, tree := range trees {
		if tree == nil {
			continue
		}
		for _, cmd := range append(append([]Command(nil), tree.Setup...), tree.Command) {
			p, err := read(cmd.Text)
			if err != nil {
				continue
			}
			for _, prog := range p.programs {
				if lasting(prog.name) {
					all = append(all, prog)
				}
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	s, err := c.box.Open(ctx, c.session())
	if err == nil {
		_, err = c.lookup.find(ctx, s, all)
		err = errors.Join(err, s.Close())
	}
	if err != nil {
		_, err = trouble(ctx, err)
	}
	return err
}

func (c *checker) session() sandbox.SessionSpec {
	return sandbox.SessionSpec{Role: sandbox.RoleSubject, Env: []string{"PATH=" + c.path}}
}

// check decides one assertion: as often as was asked for, and a met one again on programs that do nothing.
func (c *checker) check(ctx context.Context, id string, tree *Assertion) error {
	if time.Until(c.until) <= 0 {
		c.decide(id, verdict.Blocked, "the run's time was used up before it was checked")
		return nil
	}
	r, err := (&trial{checker: c, id: id, tree: tree}).run(ctx)
	for n := 1; err == nil && n < c.options.Repeat; n++ {
		var again result
		if again, err = (&trial{checker: c, id: id, tree: tree}).run(ctx); err == nil && again.status != r.status {
			c.decide(id, verdict.Unverified, flaky(r, again, n+1))
			return nil
		}
	}
	if err != nil {
		if r.status == verdict.Unmet { // the box went after that was seen
			c.decide(id, r.status, r.evidence)
		}
		return err
	}
	if r.status == verdict.Met && r.leans && !r.replaceable {
		r.status = verdict.Unverified
		r.evidence = "it may not be the artifact that does this, and no decoy can take the place of a program that is named by its path; " + r.evidence
	}
	if r.status == verdict.Met && r.replaceable {
		err = c.prove(ctx, id, tree, &r)
	}
	c.decide(id, r.status, r.evidence)
	return err
}

// flaky tells of two results of one assertion that differ, the worse one in full.
func flaky(first, later result, n int) string {
	worse := later
	if weight[first.status] > weight[later.status] {
		worse = first
	}
	return fmt.Sprintf("flaky: %s at first, %s in run %d; %s: %s", first.status, later.status, n, worse.status, worse.evidence)
}

// prove tries a met assertion on programs that do nothing. What one of them meets as well proves nothing: of one
// command, which did run, that is worth a finding; where more ran, nobody knows what was met by whom.
func (c *checker) prove(ctx context.Context, id string, tree *Assertion, r *result) error {
	decoy, err := c.decoy(ctx, id, tree, 0)
	switch {
	case err == nil && decoy == verdict.Met:
		c.provesNothing(id, tree, "does nothing and succeeds")
		if r.leans || !r.simple || demandsFailure(tree) {
			r.status = verdict.Unverified
			r.evidence = "a program in its place that does nothing and succeeds meets it as well, so it is not the artifact that does; " + r.evidence
		}
	case r.leans && (err != nil || decoy != verdict.Unmet):
		r.status = verdict.Unverified
		r.evidence = "it may not be the artifact that does this, and a program in its place that does nothing did not tell; " + r.evidence
	}
	if err != nil || !c.options.Prove {
		return err
	}
	if decoy, err = c.decoy(ctx, id, tree, 1); err == nil && decoy == verdict.Met {
		c.provesNothing(id, tree, "does nothing and fails")
	}
	return err
}

// decoy is what becomes of an assertion whose programs do nothing but exit with a code.
func (c *checker) decoy(ctx context.Context, id string, tree *Assertion, code int) (verdict.Status, error) {
	switch {
	case c.idle(tree) && (code == 0 || len(tree.Setup) == 0):
		return untouched(code).judge(tree.Outcomes).status, nil
	case time.Until(c.until) <= 0:
		return verdict.Blocked, nil
	}
	r, err := (&trial{checker: c, id: id, tree: tree, decoy: true, code: code}).run(ctx)
	return r.status, err
}

func (c *checker) provesNothing(id string, tree *Assertion, what string) {
	severity := verdict.SeverityNote
	if c.options.Blocking {
		severity = verdict.SeverityBlocking
	}
	c.report.Findings = append(c.report.Findings, verdict.Finding{
		Severity: severity, Place: id, Criteria: []string{id}, Text: "a program that " + what + " also satisfies it: " + tree.String(),
	})
}

// idle tells whether nothing but decoys would run: what comes of that is known without running them.
func (c *checker) idle(tree *Assertion) bool {
	if len(tree.Given) > 0 || len(tree.When) > 0 || tree.Dir != "" {
		return false
	}
	for _, cmd := range append(append([]Command(nil), tree.Setup...), tree.Command) {
		p, err := read(cmd.Text)
		if err != nil || p.argv == nil || len(p.programs) != 1 || !replaceable(p.programs, c.task.Programs) {
			return false
		}
	}
	return true
}

// untouched is what a decoy leaves: its exit code, no word, no file.
func untouched(code int) *seen {
	return &seen{ended: ended{exit: sandbox.Exit{Code: code}, stdout: bound.NewBuffer(0, 0), stderr: bound.NewBuffer(0, 0)}, shows: always, least: always}
}

func demandsFailure(tree *Assertion) bool {
	for _, c := range tree.Outcomes {
		switch o := c.Outcome.(type) {
		case Exits:
			if !slices.Contains(o.Codes, 0) {
				return true
			}
		case ExitsNonZero, Fails:
			return true
		}
	}
	return false
}

func (c *checker) decide(id string, status verdict.Status, evidence string) {
	r := verdict.Reported{ID: id, Status: status, Evidence: clip(evidence)}
	c.report.Criteria = append(c.report.Criteria, r)
	if c.task.Reported != nil {
		c.task.Reported(r)
	}
}
