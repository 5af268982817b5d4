package stage

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/rs/zerolog"

	"github.com/trkr-dev/trkr-validate/artifact"
	"github.com/trkr-dev/trkr-validate/contract"
	"github.com/trkr-dev/trkr-validate/internal/event"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/redact"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/ticket"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// run is the state of one run; each step adds to it and none takes away.
type run struct {
	req    Request
	events *event.Stream
	log    zerolog.Logger
	step   string

	repo        *ticket.Repo
	root        *os.Root // of the main worktree
	folder      *folder
	redact      *redact.Redactor
	engineWorks func() (sandbox.Version, error) // what the engine says of this machine; waits for it
	ticket      *ticket.Ticket
	contract    contract.Contract
	artifacts   artifact.Options
	dirty       []string // what was not as committed before the build
	settled     bool
	set         *artifact.Set
	input       string
	box         sandbox.Sandbox
	deadline    time.Time // of install and agents together

	notInstalled string            // why
	notes        []verdict.Finding // the program's own, beside those of the agents
	path         []string
	programs     []string
	reports      []verdict.AgentReport

	record   verdict.Record
	recorded *Recorded
	hints    []string
	closers  []func() error // last opened, first closed
}

func (r *run) onClose(f func() error) { r.closers = append(r.closers, f) }

// finish closes what the steps opened and makes the Result.
func (r *run) finish(err error) Result {
	for i := len(r.closers) - 1; i >= 0; i-- {
		if cerr := r.closers[i](); cerr != nil {
			r.hints = append(append(r.hints, "cleaning up: "+cerr.Error()), fault.Of(cerr).Hints...)
		}
	}
	out := Result{Issue: r.req.Issue, RunID: r.record.RunID, Outcome: r.record.Outcome, Recorded: r.recorded, Hints: r.hints}
	if err != nil {
		out.Outcome, out.Refusals = verdict.Refused, r.redactAll(verdict.Refusals(err))
		if !verdict.IsRefusal(err) {
			out.Outcome, out.Failure = verdict.Error, failure(r.step, err)
			out.Failure.Message = r.redact.String(out.Failure.Message)
		}
	}
	if r.record.Outcome == "" && err != nil {
		r.record.Outcome, r.record.ExitCode, r.record.Refusals = out.Outcome, out.Outcome.ExitCode(), out.Refusals
		if r.folder != nil {
			r.keepError(&out, r.writeRecord())
		}
	}
	if r.record.Outcome != "" {
		out.Record = &r.record
	}
	finished := event.Event{Type: event.RunFinished, Outcome: out.Outcome, MS: time.Since(r.record.StartedAt).Milliseconds()}
	if err != nil {
		finished.Detail = r.redact.String(err.Error())
	}
	r.events.Emit(finished)
	if r.folder != nil {
		out.RunDir = r.folder.path
		r.keepError(&out, r.folder.Close())
	}
	return out
}

// keepError makes a run folder that could not be written the run's failure, unless it has one: what it keeps is part of
// the answer.
func (r *run) keepError(out *Result, err error) {
	if err != nil && out.Failure == nil {
		out.Outcome, out.Failure = verdict.Error, failure(stepRecord, err)
	}
}

// writeRecord keeps the record, and what is rendered from it, in the run folder.
func (r *run) writeRecord() error {
	reviews, err := r.folder.writeRecord(r.record)
	for _, name := range reviews {
		r.events.Emit(event.Event{Type: event.ReviewReported, Step: stepRecord, Detail: name})
	}
	return err
}

// redactAll takes secrets out of refusals: what a build printed stands in them.
func (r *run) redactAll(all []verdict.Refusal) []verdict.Refusal {
	for i := range all {
		all[i].Detail = r.redact.String(all[i].Detail)
		for j := range all[i].Hints {
			all[i].Hints[j] = r.redact.String(all[i].Hints[j])
		}
	}
	return all
}

// within bounds ctx by the time that is left for install and agents.
func (r *run) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadlineCause(ctx, r.deadline, errTime)
}

var errTime = errors.New("validate.timeout passed")

// note adds a finding of the program's own.
func (r *run) note(place, text string) {
	f := verdict.Finding{Severity: verdict.SeverityNote, Place: place, Text: text}
	f.ID = verdict.FindingID(f)
	r.notes = append(r.notes, f)
}

// transcript is where everything that happens in the box is kept for people.
func (r *run) transcript() io.Writer { return r.folder.transcript }
