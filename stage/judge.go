package stage

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/trkr-dev/trkr-validate/artifact"
	"github.com/trkr-dev/trkr-validate/contract"
	"github.com/trkr-dev/trkr-validate/internal/event"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/validator"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// validate asks the agents in order, a later one about what the earlier ones left open.
func (r *run) validate(ctx context.Context) error {
	ctx, cancel := r.within(ctx)
	defer cancel()
	if len(r.reports) > 0 {
		return nil // the artifact did not install, or took the box with it: there is nothing to ask about
	}
	open := r.asked()
	for _, agent := range r.req.Agents {
		if len(open) == 0 {
			break
		}
		r.record.Agents = append(r.record.Agents, verdict.Agent{Name: agent.Name(), Version: agent.Version(), Trust: string(agent.Trust())})
		fmt.Fprintf(r.transcript(), "--- %s\n", agent.Name())
		report, err := agent.Validate(ctx, r.box, validator.Task{
			Contract: r.contract, Assertions: open, Path: r.path, Programs: r.programs, Services: r.req.Services,
			Timeout: time.Until(r.deadline), Output: r.req.Config.Validate.Limits.Output, Transcript: r.transcript(),
			Reported: func(rep verdict.Reported) { r.reported(agent.Name(), rep) }, Ran: r.ran,
		})
		if len(r.req.Only) > 0 { // an agent may report on more than it was asked
			report.Criteria = slices.DeleteFunc(report.Criteria, func(c verdict.Reported) bool { return !slices.Contains(r.req.Only, c.ID) })
		}
		if err != nil {
			return r.cutShort(ctx, agent.Name(), report, err)
		}
		r.reports = append(r.reports, verdict.AgentReport{Agent: agent.Name(), Report: report})
		open = slices.DeleteFunc(open, func(a contract.Assertion) bool { return decided(report, a.ID) })
	}
	later(r, func() (any, error) { return nil, r.box.Close() }) // beside the judgement; finish hears of its error
	return nil
}

// asked are the assertions that this run is about.
func (r *run) asked() []contract.Assertion {
	if len(r.req.Only) == 0 {
		return slices.Clone(r.contract.Assertions)
	}
	return slices.DeleteFunc(slices.Clone(r.contract.Assertions), func(a contract.Assertion) bool { return !slices.Contains(r.req.Only, a.ID) })
}

func decided(report verdict.Report, id string) bool {
	return slices.ContainsFunc(report.Criteria, func(c verdict.Reported) bool { return c.ID == id && c.Status != verdict.Unverified })
}

// reported tells of a criterion as soon as an agent has decided it; the judgement may still weigh it otherwise.
func (r *run) reported(agent string, rep verdict.Reported) {
	a, _ := r.contract.Lookup(rep.ID)
	r.events.Emit(event.Event{Type: event.CriterionReported, Step: r.step, Criterion: &verdict.Criterion{
		ID: rep.ID, Text: a.Text, Status: rep.Status, Evidence: r.redact.String(rep.Evidence), By: agent,
	}})
}

// judge computes the outcome. From here on the record has one. What was judged must be what was sealed, to the end:
// something on this machine that may write there could have rewritten it meanwhile.
func (r *run) judge(context.Context) error {
	if err := r.set.Unchanged(); err != nil {
		return fault.Env("inputs_changed", fmt.Errorf("what was judged is not what was built: %w", err), "find out what writes there, stop it and run again")
	}
	j := verdict.Judge(r.contract, r.reports)
	for i := range j.Criteria {
		j.Criteria[i].Evidence = r.redact.String(j.Criteria[i].Evidence)
	}
	j.Findings = append(j.Findings, r.notes...)
	for i := range j.Findings {
		f := &j.Findings[i]
		f.Place, f.Text = r.redact.String(f.Place), r.redact.String(f.Text)
		r.events.Emit(event.Event{Type: event.FindingReported, Step: r.step, Finding: f})
	}
	for i := range j.Diagnostics {
		d := &j.Diagnostics[i]
		d.Detail = r.redact.String(d.Detail)
		if d.Code == verdict.ReviewInvalid {
			r.events.Emit(event.Event{Type: event.ReviewInvalid, Step: r.step, Detail: d.Detail})
		}
	}
	r.record.Outcome, r.record.ExitCode, r.record.Verdict = j.Outcome, j.Outcome.ExitCode(), j.Verdict
	r.record.Criteria, r.record.Findings, r.record.Diagnostics = j.Criteria, j.Findings, j.Diagnostics
	if j.Outcome != verdict.Clear {
		r.hintAtStale()
	}
	return nil
}

// hintAtStale names what an earlier build left where the globs look and this one did not make again: a build that
// skips what it takes for up to date makes a part of its artifacts, and a part was judged.
func (r *run) hintAtStale() {
	made := map[string]bool{}
	for _, e := range r.record.Subject.Manifest {
		made[e.Path] = true
	}
	stale := slices.DeleteFunc(slices.Clone(r.artifacts.Stale), func(p string) bool { return made[artifact.EscapePath(p)] })
	if len(stale) > 0 {
		r.hints = append(r.hints, fmt.Sprintf("an earlier build left %s, which this one did not make and which was not judged; if it belongs to the product, remove the build's cache in the build command", some(stale)))
	}
}
