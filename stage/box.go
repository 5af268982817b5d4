package stage

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/trkr-dev/trkr-validate/artifact"
	"github.com/trkr-dev/trkr-validate/contract"
	"github.com/trkr-dev/trkr-validate/internal/event"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/install"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/validator"
	"github.com/trkr-dev/trkr-validate/validator/gateway"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// verifyWhole is how many bytes of inputs are hashed whole inside the box; beyond, their first and last MiB.
const verifyWhole = 64 << 20

// askEngine has the engine say whether it works here, and remove what boxes of programs that are gone left behind. It
// does so while git looks for the ticket: both take their time, and neither needs the other.
func (r *run) askEngine(ctx context.Context) {
	r.engineWorks = later(r, func() (sandbox.Version, error) {
		version, err := r.req.Engine.Check(ctx)
		if err == nil {
			r.sweepBoxes(ctx)
		}
		return version, err
	})
}

func (r *run) sweepBoxes(ctx context.Context) {
	if swept, err := r.req.Engine.Sweep(ctx, false); err != nil {
		r.log.Warn().Err(err).Msg("removing boxes that were left behind")
	} else if len(swept) > 0 {
		r.log.Info().Strs("boxes", swept).Msg("removed what was left behind")
	}
}

// start boots the box and proves from inside that it holds the sealed set and nothing else.
func (r *run) start(ctx context.Context) error {
	v := r.req.Config.Validate
	dir, err := r.imageDir()
	if err != nil {
		return err
	}
	mounts := v.Mounts
	if v.Image != "host" { // the caller was warned: folders of this machine would not go with another's programs
		mounts = nil
	}
	box, err := r.req.Engine.Start(ctx, sandbox.Spec{
		RunID: r.record.RunID, Input: r.input, Image: v.Image, ImageDir: dir, Mounts: mounts,
		Hidden: []string{r.repo.Root(), r.ticket.Worktree},
		Limits: r.limits(),
	})
	if err = r.productImage(err); err != nil {
		return fmt.Errorf("starting the box: %w", err)
	}
	r.box = box
	r.onClose(box.Close)
	info := box.Info()
	r.record.Environment = verdict.Environment{
		Engine: info.Engine, EngineVersion: info.EngineVersion, EngineReason: r.req.EngineReason,
		Image: info.Image, ImageDigest: info.ImageDigest, Userland: info.Userland, Limits: info.Limits,
		InstallFrom: v.InstallFrom,
	}
	if err := r.lookInside(ctx); err != nil {
		return err
	}
	r.deadline = time.Now().Add(v.Timeout)
	return nil
}

// limits are those of the box, and of a build in a container.
func (r *run) limits() sandbox.Limits {
	l := r.req.Config.Validate.Limits
	return sandbox.Limits{Memory: l.Memory, CPUs: l.CPUs, Pids: l.Pids, Output: l.Output, Tmp: l.Tmp}
}

// lookInside compares what arrived with what was sealed, and sees how the box is isolated.
func (r *run) lookInside(ctx context.Context) error {
	whole := int64(verifyWhole)
	if r.req.VerifyAll {
		whole = math.MaxInt64
	}
	seen, err := r.box.Inputs(ctx, whole)
	if err != nil {
		return fmt.Errorf("listing the box's inputs: %w", err)
	}
	if err := r.set.Verify(seen, r.contract.Format()); err != nil {
		return fault.Env("inputs_differ", fmt.Errorf("what arrived in the box is not what was sealed: %w", err), "run again; if it stays, the engine's file sharing is at fault: try the other engine")
	}
	l := r.req.Config.Validate.Limits
	env := &r.record.Environment
	isolation, limits, err := sandbox.SelfCheck(ctx, r.box, sandbox.Limits{Memory: l.Memory, CPUs: l.CPUs, Pids: l.Pids, Output: l.Output, Tmp: l.Tmp})
	if isolation != nil {
		env.Isolation, env.Limits = isolation, limits
		env.Isolation["contents"] = contents(seen)
	}
	return err
}

// contents says what of the inputs was proved from inside.
func contents(seen []sandbox.File) string {
	var whole int64
	partial := 0
	for _, f := range seen {
		if f.Partial {
			partial++
		} else if f.Type == "file" {
			whole += f.Size
		}
	}
	s := fmt.Sprintf("%d paths as sealed, %d bytes hashed", len(seen), whole)
	if partial > 0 {
		s += fmt.Sprintf("; of %d large files the first and last MiB", partial)
	}
	return s
}

// install puts the artifact in place the way a user would. An artifact that does not install leaves nothing to ask
// an agent: every criterion is blocked by it.
func (r *run) install(ctx context.Context) error {
	ctx, cancel := r.within(ctx)
	defer cancel()
	dirs, names := artifact.Programs(r.record.Subject.Manifest)
	res, err := install.Run(ctx, r.box, install.Request{
		Commands: r.req.Config.Validate.Install, Manifest: r.installed(), Path: dirs,
		Timeout: time.Until(r.deadline), Transcript: r.transcript(), Ran: r.ran,
		Network: install.Network{Places: r.req.Config.Validate.InstallFrom, Most: r.req.Config.Validate.Limits.Artifacts, Seen: r.reached},
	})
	if err != nil {
		return r.cutShort(ctx, stepInstall, verdict.Report{}, err)
	}
	r.path, r.programs = slices.Concat(dirs, res.Path), slices.Concat(names, res.Programs)
	if res.Failure != nil {
		r.notInstalled = r.redact.String(res.Failure.Evidence())
		r.reports = append(r.reports, verdict.AgentReport{Agent: stepInstall, Report: notInstalled(r.contract, res.Failure)})
		if hint := res.Failure.Hint(); hint != "" {
			r.hints = append(r.hints, hint)
		}
	}
	return nil
}

// notInstalled says of every criterion that it could not be checked. Only where the product itself is at fault is
// that held against it.
func notInstalled(c contract.Contract, f *install.Failure) verdict.Report {
	var report verdict.Report
	for _, a := range c.Assertions {
		report.Criteria = append(report.Criteria, verdict.Reported{ID: a.ID, Status: verdict.Blocked, Evidence: f.Evidence()})
	}
	if finding, ok := f.Finding(); ok {
		report.Findings = []verdict.Finding{finding}
	}
	report.Conclude()
	return report
}

// ran tells of a command that ended in the box.
func (r *run) ran(c validator.Ran) {
	r.events.Emit(event.Event{Type: event.CommandFinished, Step: r.step, Command: &event.Command{
		Criterion: c.Criterion, Text: r.redact.String(c.Command), Code: c.Exit.Code, Signal: c.Exit.Signal, Cause: string(c.Exit.Cause), MS: c.Exit.Elapsed.Milliseconds(),
	}})
}

// reached tells of what came out of the box.
func (r *run) reached(s gateway.Seen) {
	r.events.Emit(event.Event{Type: event.GatewayRequest, Step: r.step, Detail: r.redact.String(s.Detail), MS: s.Elapsed.Milliseconds(), Gateway: &event.Gateway{
		Route: s.Route, Method: s.Method, Host: r.redact.String(s.Host), Status: s.Status, Bytes: s.Bytes,
	}})
}

// cutShort turns the loss of the box, or of the time, into a diagnostic of what was reported so far: the subject could
// do either on purpose. It returns err where the subject cannot be the cause, or the caller interrupted.
func (r *run) cutShort(ctx context.Context, agent string, report verdict.Report, err error) error {
	lost, isLost := errors.AsType[*sandbox.LostError](err)
	switch {
	case isLost && (lost.Engine || !lost.Started):
		return err
	case isLost:
		report.Diagnose(verdict.BoxLost, lost.Error())
	case errors.Is(context.Cause(ctx), errTime) && errors.Is(err, ctx.Err()):
		report.Diagnose(verdict.AgentDeadline, fmt.Sprintf("validate.timeout (%s) passed during %s", r.req.Config.Validate.Timeout, r.step))
	default:
		return err
	}
	r.reports = append(r.reports, verdict.AgentReport{Agent: agent, Report: report})
	return nil
}
