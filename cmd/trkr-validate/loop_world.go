package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/bound"
	"github.com/trkr-dev/trkr-validate/internal/event"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/proc"
	"github.com/trkr-dev/trkr-validate/loop"
	"github.com/trkr-dev/trkr-validate/stage"
	"github.com/trkr-dev/trkr-validate/ticket"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// loopWorld is what a loop acts on: runs, the ticket's branch, and the commands that the configuration and the caller name.
// All settings were read before anything of the ticket ran.
type loopWorld struct {
	*app
	repo    *ticket.Repo
	query   ticket.Query
	request stage.Request
	repair  string

	last *stage.Result // of this call
}

// locate finds the ticket as it stands now; nil where there is no branch.
func (w *loopWorld) locate(ctx context.Context) (*ticket.Ticket, error) {
	t, err := w.repo.Locate(ctx, w.query)
	if verdict.IsRefusal(err) {
		return nil, nil
	}
	return t, during("resolve", err)
}

func (w *loopWorld) Tree(ctx context.Context) (string, error) {
	defer w.repo.Rest()
	t, err := w.locate(ctx)
	if t == nil || err != nil {
		return "", err
	}
	return w.repo.Tree(ctx, t)
}

func (w *loopWorld) Judge(ctx context.Context, turn int) (loop.Judged, error) {
	began := time.Now()
	p := w.progress()
	req := w.request
	req.Turn, req.Sinks = turn, []event.Sink{p}
	res := stage.Run(ctx, req)
	err := p.Close()
	w.last = &res
	switch {
	case ctx.Err() != nil:
		return loop.Judged{}, context.Cause(ctx)
	case err != nil:
		return loop.Judged{}, err
	case res.Failure != nil && res.Failure.Usage:
		return loop.Judged{}, during(res.Failure.Step, fault.Usagef(res.Failure.Code, res.Failure.Hints, "%s", res.Failure.Message))
	}
	j := loop.Judged{
		RunID: res.RunID, Outcome: res.Outcome, Refusals: orEmpty(res.Refusals),
		Criteria: []verdict.Criterion{}, Findings: []loop.Finding{}, Diagnostics: []verdict.Diagnostic{},
	}
	if res.Failure != nil {
		j.Error = res.Failure.Message
	}
	if r := res.Record; r != nil {
		j.Commit, j.Tree, j.Criteria, j.Diagnostics = r.Subject.Commit, r.Subject.Tree, orEmpty(r.Criteria), orEmpty(r.Diagnostics)
		for _, f := range r.Findings {
			j.Findings = append(j.Findings, loop.Typed(f, loop.FromValidation))
		}
		j.Inside = slices.ContainsFunc(r.Agents, func(a verdict.Agent) bool { return a.Trust == "inside" }) && !takesInside(req.Config)
	}
	if res.Outcome != verdict.Error {
		found, err := w.handoff(ctx)
		if err != nil {
			return loop.Judged{}, err
		}
		j.Findings = append(j.Findings, found...)
	}
	j.MS = time.Since(began).Milliseconds()
	return j, nil
}

// handoff checks the implementation.md of the ticket where there is one, or where there has to be.
func (w *loopWorld) handoff(ctx context.Context) ([]loop.Finding, error) {
	defer w.repo.Rest()
	t, err := w.locate(ctx)
	if t == nil || err != nil {
		return nil, err
	}
	s := settings{Config: w.request.Config}
	text, err := w.repo.Contract(ctx, t, w.bodyOf(s, w.repo, t.Issue, w.request.IssueBody))
	if verdict.IsRefusal(err) {
		return nil, nil // the run said so
	} else if err != nil {
		return nil, during("contract", err)
	}
	handed, err := loop.CheckHandoff(ctx, w.repo, t, text.Contract)
	if err != nil {
		return nil, during("handoff", err)
	}
	if !handed.Present && !w.request.Config.Loop.Handoff {
		return nil, nil
	}
	return append(handed.Blocking(), handed.Findings...), nil
}

func (w *loopWorld) Mend(ctx context.Context, a loop.Answer, left loop.Budget) (loop.Repaired, error) {
	t, err := w.locate(ctx)
	w.repo.Rest()
	switch {
	case err != nil:
		return loop.Repaired{}, err
	case t == nil || t.Worktree == "":
		return loop.Repaired{}, fault.Usagef("no_worktree", []string{"check the ticket's branch out: git worktree add ../" + a.Issue + " BRANCH"},
			"the repair command works in the worktree of the ticket's branch, and no worktree has it checked out")
	}
	root, err := os.OpenRoot(w.repo.Root())
	if err != nil {
		return loop.Repaired{}, fault.Env("folder", err)
	}
	defer root.Close() // every file in it is closed by itself
	input, err := json.MarshalIndent(a, "", "  ")
	if err != nil {
		return loop.Repaired{}, err
	}
	remains, cost, log := path.Join(loop.Dir, a.Issue+".remains.json"), path.Join(loop.Dir, a.Issue+".cost"), path.Join(loop.Dir, a.Issue+".repair.log")
	for name, content := range map[string][]byte{remains: append(input, '\n'), cost: nil} {
		if err := root.WriteFile(name, content, 0o644); err != nil {
			return loop.Repaired{}, fault.Env("folder", fmt.Errorf("writing %s: %w", name, err))
		}
	}
	kept, err := root.OpenFile(log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return loop.Repaired{}, fault.Env("folder", fmt.Errorf("opening %s: %w", log, err))
	}
	output := io.Writer(bound.NewWriter(kept, repairLog))
	if !w.quiet && !w.json {
		output = io.MultiWriter(output, w.logTo)
	}
	res, err := proc.Run(ctx, proc.Command{
		Script: w.repair, Dir: t.Worktree, Output: output, Timeout: left.Time,
		Env: w.environ("TRKR_BRANCH="+t.Branch, "TRKR_TURN="+strconv.Itoa(a.Turn),
			"TRKR_REMAINS="+filepath.Join(root.Name(), filepath.FromSlash(remains)), "TRKR_COST="+filepath.Join(root.Name(), filepath.FromSlash(cost))),
	})
	if cerr := kept.Close(); cerr != nil && err == nil {
		err = fault.Env("folder", cerr)
	}
	r := loop.Repaired{Exit: res.Code, MS: res.Elapsed.Milliseconds(), Cost: costOf(root, cost)}
	switch {
	case ctx.Err() != nil:
		return r, context.Cause(ctx)
	case errors.Is(err, proc.ErrSupervision):
		r.Exit, r.Error = -1, err.Error()
	case err != nil:
		return r, err
	case res.TimedOut:
		r.Exit, r.Error = -1, "the repair command was stopped: loop.time was spent"
	case res.Signal != "":
		r.Exit, r.Error = -1, "the repair command was ended by a signal: "+res.Signal
	}
	return r, nil
}

// repairLog bounds what is kept of what one repair command prints.
const repairLog = 16 << 20

// costOf is the number that a repair command left; 0 where it left none.
func costOf(root *os.Root, name string) float64 {
	data, err := readFile(root, name, 1<<10)
	if err != nil {
		return 0
	}
	cost, err := strconv.ParseFloat(strings.TrimSpace(string(data)), 64)
	if err != nil || !(cost > 0) || cost > 1e9 {
		return 0
	}
	return cost
}

// environ is the caller's environment without what leads git elsewhere.
func (w *loopWorld) environ(more ...string) []string {
	env := slices.DeleteFunc(slices.Clone(w.request.Environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return name == "GIT_DIR" || name == "GIT_WORK_TREE" || name == "GIT_INDEX_FILE" || name == "GIT_COMMON_DIR"
	})
	return append(append(env, "TRKR_ISSUE="+w.request.Issue), more...)
}

func (w *loopWorld) Ask(ctx context.Context, q loop.Question) ([]byte, string, error) {
	in, err := json.Marshal(q)
	if err != nil {
		return nil, "", err
	}
	return w.say(ctx, w.request.Config.Loop.Triage, in, w.request.Config.Loop.TriageTimeout, "TRKR_TURN="+strconv.Itoa(q.Turn))
}

// trackerTimeout is how long a command that tells a tracker something may take.
const trackerTimeout = 2 * time.Minute

func (w *loopWorld) File(ctx context.Context, key string, f loop.FixTicket, body string) (string, string, error) {
	blocks := "0"
	if f.Blocks {
		blocks = "1"
	}
	out, trouble, err := w.say(ctx, w.request.Config.Loop.FileTicket, []byte(body), trackerTimeout, "TRKR_KEY="+key, "TRKR_TITLE="+strings.TrimSpace(f.Title), "TRKR_BLOCKS="+blocks)
	return firstLine(strings.TrimSpace(string(out))), trouble, err
}

func (w *loopWorld) Comment(ctx context.Context, key, text string) (string, string, error) {
	out, trouble, err := w.say(ctx, w.request.Config.Loop.Comment, []byte(text), trackerTimeout, "TRKR_KEY="+key)
	return firstLine(strings.TrimSpace(string(out))), trouble, err
}

// say runs a command that the configuration names, with text on its stdin, and returns its stdout. How it failed is trouble.
func (w *loopWorld) say(ctx context.Context, command string, text []byte, limit time.Duration, env ...string) (out []byte, trouble string, err error) {
	dir, err := os.MkdirTemp("", "trkr-loop-")
	if err != nil {
		return nil, "", fault.Env("temporary", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, "", fault.Env("temporary", err)
	}
	defer root.Close() // only read from below
	if err := root.WriteFile("in", text, 0o600); err != nil {
		return nil, "", fault.Env("temporary", err)
	}
	said := bound.NewBuffer(0, 4<<10)
	res, err := proc.Run(ctx, proc.Command{
		Script: "{ " + command + "\n} <\"$TRKR_IN\" >\"$TRKR_OUT\"", Dir: w.repo.Root(), Output: said, Timeout: limit,
		Env: w.environ(append(env, "TRKR_IN="+filepath.Join(dir, "in"), "TRKR_OUT="+filepath.Join(dir, "out"))...),
	})
	switch {
	case ctx.Err() != nil:
		return nil, "", context.Cause(ctx)
	case err != nil:
		return nil, err.Error(), nil
	case res.TimedOut:
		return nil, fmt.Sprintf("it was still running after %s and was stopped", limit), nil
	case res.Code != 0:
		return nil, strings.TrimSpace(fmt.Sprintf("it ended with %d: %s", res.Code, said.Tail())), nil
	}
	out, err = readFile(root, "out", loop.MaxProposal)
	if err != nil {
		return nil, "what it printed cannot be read: " + err.Error(), nil
	}
	return out, "", nil
}
