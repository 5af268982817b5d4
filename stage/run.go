package stage

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/rs/zerolog"

	"github.com/trkr-dev/trkr-validate/artifact"
	"github.com/trkr-dev/trkr-validate/contract"
	"github.com/trkr-dev/trkr-validate/internal/event"
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

	repo      *ticket.Repo
	folder    *folder
	redact    *redact.Redactor
	ticket    *ticket.Ticket
	contract  contract.Contract
	artifacts artifact.Options
	set       *artifact.Set
	input     string
	box       sandbox.Sandbox
	deadline  time.Time // of install and agents together

	path     []string
	programs []string
	reports  []verdict.AgentReport

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
			r.log.Warn().Err(cerr).Msg("cleaning up")
		}
	}
	out := Result{Issue: r.req.Issue, RunID: r.record.RunID, Outcome: r.record.Outcome, Recorded: r.recorded, Hints: r.hints}
	switch {
	case err == nil:
	case isRefusal(err):
		out.Outcome, out.Refusals = verdict.Refused, refusals(err)
	default:
		out.Outcome, out.Failure = verdict.Error, failure(r.step, err)
	}
	if out.Outcome == verdict.Refused || (out.Outcome == verdict.Error && r.record.Outcome == "") {
		r.record.Outcome = out.Outcome
		r.record.Refusals = out.Refusals
	}
	if r.record.Outcome != "" {
		r.record.ExitCode = r.record.Outcome.ExitCode()
		out.Record = &r.record
	}
	if r.folder != nil {
		out.RunDir = r.folder.path
	}
	if r.folder != nil && out.Record != nil { // a shell judges nothing
		reviews, werr := r.folder.writeRecord(r.record)
		if werr != nil && out.Failure == nil {
			out.Outcome, out.Failure = verdict.Error, failure(stepRecord, werr)
		}
		for _, name := range reviews {
			r.events.Emit(event.Event{Type: event.ReviewReported, Detail: name})
		}
	}
	finished := event.Event{Type: event.RunFinished, Outcome: out.Outcome, MS: time.Since(r.record.StartedAt).Milliseconds()}
	if err != nil {
		finished.Detail = err.Error()
	}
	r.events.Emit(finished)
	if r.folder != nil {
		if cerr := r.folder.Close(); cerr != nil {
			r.log.Warn().Err(cerr).Msg("closing the run folder")
		}
	}
	return out
}

// within bounds ctx by the time that is left for install and agents.
func (r *run) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadlineCause(ctx, r.deadline, errTime)
}

var errTime = errors.New("validate.timeout passed")

// transcript is where everything that happens in the box is kept for people.
func (r *run) transcript() io.Writer { return r.folder.transcript }
