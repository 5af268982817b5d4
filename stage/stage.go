// Package stage is one run: the steps in the order in which a ticket goes through them, what refuses it, what is the
// environment's fault, and the record at the end. It decides process; agents decide content.
package stage

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"github.com/trkr-dev/trkr-validate/attest"
	"github.com/trkr-dev/trkr-validate/config"
	"github.com/trkr-dev/trkr-validate/internal/event"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/redact"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/ticket"
	"github.com/trkr-dev/trkr-validate/validator"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// Request says what to validate and with what. All of it is settled before anything of the ticket runs.
type Request struct {
	Issue    string // a valid issue id
	Turn     int    // of a repair loop, from 1; 0: this is none
	Dir      string // where the program was called
	Branch   string // empty: from the config's template
	Worktree string // empty: the one that has the branch checked out, else a temporary one
	Ref      string // judge this commit instead of a branch's head; nothing is committed

	IssueBody  []byte        // the issue's body; nil: FetchBody, else the config's command, if any
	FetchBody  ticket.Body   // asks a tracker for it; nil: none is asked
	Agreed     ticket.Agreed // the contract that was agreed, where the caller knows it; else the branch's history tells
	Only       []string      // assertion ids to check; the others stay unverified and nothing is committed
	NoCommit   bool
	RecordAnew bool          // commit also where the branch holds a record that says the same: it does not count any more
	Clean      bool          // build in a temporary worktree of the commit, whatever stands in the branch's own
	AllowDirty bool          // build what stands in the worktree, committed or not; nothing is committed and the record says so
	VerifyAll  bool          // hash every artifact whole inside the box, also beyond the first 64 MiB
	Wait       time.Duration // how long to wait for another run of the same ticket

	Config       config.Config
	ConfigRef    verdict.ConfigRef
	ConfigNote   string // how the branch's own configuration differs; empty where it does not
	Engine       sandbox.Engine
	EngineReason string // why "auto" chose it; empty where the caller named it
	Agents       []validator.Agent
	Services     []validator.Service // beside each check
	Environ      []string            // the caller's environment
	Secrets      []string            // values that stand in nothing that a run leaves, beside those that the build gets by name
	Signer       *attest.Signer      // signs the record; nil: nobody does. Config has to be Signable
	SignHost     bool                // also where the build runs on this machine and so could read the key
	ToolVersion  string

	Sinks []event.Sink
	Log   zerolog.Logger
}

// Result is what became of a run.
type Result struct {
	Issue    string
	RunID    string
	RunDir   string // the run folder; empty where none could be made
	Outcome  verdict.Outcome
	Record   *verdict.Record   // nil where a shell was all that was asked for
	Refusals []verdict.Refusal // of Outcome Refused
	Failure  *Failure          // of Outcome Error
	Recorded *Recorded         // nil where nothing was committed
	Hints    []string          // what a person can do about an outcome that is not clear
}

// Failure is an error of the call or the environment.
type Failure struct {
	Code    string
	Step    string
	Message string
	Hints   []string
	Usage   bool // exit 5 instead of 6
}

// Recorded says where the verdict stands in the branch. Commit is empty where the last one already says the same.
type Recorded struct {
	Commit string
	Path   string
}

// ExitCode is the exit code of one run.
func (r Result) ExitCode() int {
	if r.Failure != nil && r.Failure.Usage {
		return 5
	}
	return r.Outcome.ExitCode()
}

// The names of the steps. Logs, events and errors use them.
const (
	stepResolve     = "resolve"
	stepConfig      = "config"
	stepContract    = "contract"
	stepBuild       = "build"
	stepCollect     = "collect"
	stepMaterialise = "materialise"
	stepStart       = "start"
	stepInstall     = "install"
	stepValidate    = "validate"
	stepJudge       = "judge"
	stepRecord      = "record"
)

type step struct {
	name string
	do   func(context.Context) error
}

// Run validates one ticket. It always returns a Result; when it returns, the box and everything temporary is gone.
func Run(ctx context.Context, req Request) Result {
	r := newRun(req)
	return r.finish(r.all(ctx, append(r.toInstalled(),
		step{stepValidate, r.validate},
		step{stepJudge, r.judge},
		step{stepRecord, r.keep},
	)))
}

// Seal builds a ticket and seals what the build makes, and goes no further. The subject says what came of it; it is
// that of a run, and nil where the Result says why there is none.
func Seal(ctx context.Context, req Request) (Result, *verdict.Subject) {
	r := newRun(req)
	steps := r.toInstalled()
	res := r.finish(r.all(ctx, steps[:slices.IndexFunc(steps, func(s step) bool { return s.name == stepMaterialise })]))
	if res.Outcome != "" {
		return res, nil
	}
	return res, &r.record.Subject
}

// Inside is what a shell is given.
type Inside struct {
	Box          sandbox.Sandbox
	Path         []string // what to put first on PATH
	NotInstalled string   // why the artifact is not installed; empty where it is
}

// Shell takes a ticket as far as an installed artifact in its box, then hands the box to use. What use returns is the
// run's error; nothing is judged or recorded.
func Shell(ctx context.Context, req Request, use func(context.Context, Inside) error) Result {
	r := newRun(req)
	err := r.all(ctx, append(r.toInstalled(), step{"shell", func(ctx context.Context) error {
		return use(ctx, Inside{Box: r.box, Path: r.path, NotInstalled: r.notInstalled})
	}}))
	return r.finish(err)
}

// toInstalled is the way from an issue id to an artifact that is installed in a box.
func (r *run) toInstalled() []step {
	return []step{
		{stepResolve, r.resolve},
		{stepConfig, r.checkConfig},
		{stepContract, r.readContract},
		{stepBuild, r.build},
		{stepCollect, r.collect},
		{stepMaterialise, r.materialise},
		{stepStart, r.start},
		{stepInstall, r.install},
	}
}

// all does the steps in order. Reasons to refuse that are found before the build are gathered, so that the caller
// hears all of them at once; from the build on the first step that fails ends the run.
func (r *run) all(ctx context.Context, steps []step) error {
	r.events.Emit(event.Event{Type: event.RunStarted})
	var refused []error
	for _, s := range steps {
		if s.name == stepBuild && len(refused) > 0 {
			return errors.Join(refused...)
		}
		r.step = s.name
		began := time.Now()
		r.events.Emit(event.Event{Type: event.StepStarted, Step: s.name})
		err := context.Cause(ctx)
		if err == nil {
			err = s.do(ctx)
			if err != nil && ctx.Err() != nil {
				err = errors.Join(context.Cause(ctx), err) // whatever a step made of being interrupted
			}
		}
		ms := time.Since(began).Milliseconds()
		if s.name != stepRecord { // which kept the record, and signed it: it is handed out as it was then
			r.record.Timings[s.name] = ms
		}
		done := event.Event{Type: event.StepFinished, Step: s.name, MS: ms}
		if err != nil {
			done.Detail = r.redact.String(err.Error())
		}
		r.events.Emit(done)
		switch {
		case err == nil:
		case r.ticket != nil && r.box == nil && verdict.IsRefusal(err):
			refused = append(refused, err)
			if s.name != stepResolve && s.name != stepConfig && s.name != stepContract {
				return errors.Join(refused...)
			}
		default:
			return errors.Join(append(refused, err)...)
		}
	}
	return nil
}

func newRun(req Request) *run {
	now := time.Now().UTC()
	suffix := make([]byte, 3)
	rand.Read(suffix) // never fails
	id := fmt.Sprintf("%s-%s-%s", now.Format("20060102T150405"), req.Issue, hex.EncodeToString(suffix))
	r := &run{req: req, redact: redact.New(append(passedThrough(req.Config.Validate.Env, req.Environ), req.Secrets...)...), events: &event.Stream{RunID: id, Issue: req.Issue}, log: req.Log.With().Str("issue", req.Issue).Str("run", id).Logger()}
	r.events.Add(logSink{r.log})
	for _, s := range req.Sinks {
		r.events.Add(s)
	}
	r.record = verdict.Record{
		SchemaVersion: verdict.SchemaVersion, Issue: req.Issue, Turn: req.Turn, RunID: id, StartedAt: now.Truncate(time.Second),
		Config: req.ConfigRef, Tool: verdict.Tool{Version: req.ToolVersion}, Timings: map[string]int64{},
		Criteria: []verdict.Criterion{}, Findings: []verdict.Finding{}, Diagnostics: []verdict.Diagnostic{}, Refusals: []verdict.Refusal{},
	}
	if req.ConfigNote != "" {
		r.note("config", req.ConfigNote)
	}
	return r
}

// failure puts an error that is no refusal into words.
func failure(step string, err error) *Failure {
	if errors.Is(err, context.Canceled) { // whatever else that made of it
		return &Failure{Code: "interrupted", Step: step, Message: "interrupted during " + step}
	}
	f := fault.Of(err)
	return &Failure{Code: f.Code, Step: step, Message: err.Error(), Hints: f.Hints, Usage: f.Usage}
}
