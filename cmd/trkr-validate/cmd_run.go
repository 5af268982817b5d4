package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/trkr-dev/trkr-validate/config"
	"github.com/trkr-dev/trkr-validate/internal/event"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/stage"
	"github.com/trkr-dev/trkr-validate/ticket"
	"github.com/trkr-dev/trkr-validate/verdict"
)

type runOptions struct {
	box       boxOptions
	ticket    ticketOptions
	build     buildOptions
	agreed    agreedOptions
	sign      signOptions
	reports   reporting
	jobs      int
	issueBody string
	only      []string
	noCommit  bool
	verifyAll bool
	wait      time.Duration
}

func (a *app) runCommand() *cobra.Command {
	o := runOptions{}
	cmd := &cobra.Command{
		Short: "Validate tickets against their contracts",
		Long: `Validate tickets against their contracts.

For each issue: build its branch, put the artifacts and the contract, and nothing else, into a sandbox without a
network, have every assertion checked there, compute the outcome, and commit validation.md to the branch. Nothing is
pushed or merged.

Without an issue, in GitHub Actions or GitLab CI: the issue is the one whose branch the job runs for, and the head commit
of that branch is judged (as with --ref), never the merge commit that the service made of it.

Exit codes: 0 clear, 1 blocking, 3 incomplete, 4 refused, 5 wrong call or configuration, 6 the environment failed.`,
		Example: `  trkr-validate 7
  trkr-validate 7 8 9 --jobs 2 --json
  trkr-validate 7 --ref HEAD --only VAL-3`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.run(cmd, o, args)
		},
	}
	o.box.flags(cmd)
	o.ticket.flags(cmd)
	o.build.flags(cmd)
	o.agreed.flags(cmd)
	o.sign.flags(cmd)
	o.reports.flags(cmd)
	o.box.trials.flags(cmd)
	f := cmd.Flags()
	f.IntVar(&o.jobs, "jobs", min(runtime.NumCPU(), 8), "how many tickets are validated side by side")
	f.StringVar(&o.issueBody, "issue-body", "", "read the issue's body from this `file` (- is stdin) instead of asking issue.command")
	f.StringSliceVar(&o.only, "only", nil, "check only these `assertions`; the others stay unverified and nothing is committed")
	f.BoolVar(&o.verifyAll, "verify-all", false, "hash every artifact whole inside the box; else beyond 64MiB in total only its first and last MiB")
	f.BoolVar(&o.noCommit, "no-commit", false, "commit nothing; the run folder has everything")
	f.DurationVar(&o.wait, "wait", 0, "how long to wait for another run of the same ticket (default 10m on a terminal, else 0s)")
	return cmd
}

// readyToPublish asks for the settings only where GitHub is to be told anything.
func (a *app) readyToPublish(cmd *cobra.Command, p *publishing, o ticketOptions, issue string) error {
	if !p.check && p.comment == "" {
		return nil
	}
	s, err := a.settingsFor(cmd, o, issue)
	if err != nil {
		return err
	}
	return p.ready(cmd, s)
}

func (a *app) run(cmd *cobra.Command, o runOptions, args []string) error {
	if err := a.prepare(cmd, &o.reports); err != nil {
		return err
	}
	if len(args) == 0 {
		issue, err := a.issueOfCI(cmd, &o.ticket)
		if err != nil {
			return err
		}
		args = []string{issue}
	}
	if err := misspelt(cmd, args[0]); err != nil {
		return err
	}
	issues, err := issuesOf(args)
	if err != nil {
		return err
	}
	if err := o.check(cmd, len(issues)); err != nil {
		return err
	}
	if err := a.readyToPublish(cmd, &o.reports.github, o.ticket, issues[0]); err != nil {
		return err
	}
	agreed, err := o.agreed.agreed(cmd)
	if err != nil {
		return err
	}
	signer, err := a.signer(cmd, o.sign)
	if err != nil {
		return err
	}
	wait := o.wait
	if !cmd.Flags().Changed("wait") && terminal(a.err) {
		wait = 10 * time.Minute
	}
	p := a.progress()
	results := make([]result, len(issues))
	var requests []stage.Request
	for i, issue := range issues {
		request, err := a.request(cmd, o.box, o.ticket, o.issueBody, issue)
		if err == nil {
			err = judges(&request, o.box.trials)
		}
		if _, only := errors.AsType[*issueError](err); only {
			results[i].Result = unstarted(issue, err)
			continue
		} else if err != nil {
			return err
		}
		request.Signer, request.SignHost = signer, o.sign.host
		request.Agreed, request.Sinks = agreed, []event.Sink{p}
		request.Clean, request.AllowDirty, request.VerifyAll = o.build.clean, o.build.allowDirty, o.verifyAll
		request.Only, request.NoCommit, request.Wait = o.only, o.noCommit || o.ticket.ref != "", wait
		requests = append(requests, request)
	}
	for _, r := range validate(cmd.Context(), requests, o.jobs) {
		results[slices.Index(issues, r.Issue)].Result = r
	}
	for i, request := range requests {
		a.placeIn(cmd.Context(), &results[slices.Index(issues, request.Issue)], requests[i].Config.Ticket.Dir)
	}
	if err := p.Close(); err != nil {
		return err
	}
	return a.finish(cmd, results)
}

// unstarted is the result of an issue that nothing was run for.
func unstarted(issue string, err error) stage.Result {
	f := describe(err, "run")
	return stage.Result{Issue: issue, Outcome: verdict.Error, Failure: &stage.Failure{
		Code: f.code, Step: f.step, Message: f.message(), Hints: f.hints(), Usage: f.exit == exitUsage,
	}}
}

// issueOfCI is the issue of the branch that a CI service runs for. Where o names nothing to judge, that becomes what
// was pushed there.
func (a *app) issueOfCI(cmd *cobra.Command, o *ticketOptions) (string, error) {
	p, ok, err := inCI(os.Getenv)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", usage(cmd, errors.New("no issue given"))
	}
	s, err := a.settingsFor(cmd, ticketOptions{ref: p.commit}, "0") // whichever it is: the commit is named
	if err != nil {
		return "", err
	}
	issue, err := ticket.IssueOfBranch(s.Ticket.Branch, p.branch)
	if err != nil {
		return "", err
	}
	if *o == (ticketOptions{}) {
		o.ref = p.commit
	}
	a.log.Info().Str("service", p.service).Str("branch", p.branch).Str("commit", p.commit).Msg("issue " + issue + " it is")
	return issue, nil
}

// issuesOf reads the issues of a command line, each once.
func issuesOf(args []string) ([]string, error) {
	var issues []string
	for _, arg := range args {
		issue, err := ticket.ParseIssue(arg)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(issues, issue) {
			issues = append(issues, issue)
		}
	}
	return issues, nil
}

// misspelt refuses a first word that is nearly a command's name, before anything is built for the issues behind it. An
// issue of such a name is judged by the long form.
func misspelt(cmd *cobra.Command, word string) error {
	if cmd.HasParent() || strings.ContainsAny(word, "0123456789") {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	near := config.Nearest(word, names)
	if near == "" {
		return nil
	}
	return fault.Usagef("usage", []string{"did you mean the command " + near + "?", "an issue of that name is judged by: trkr-validate run " + word}, "%q is no command", word)
}

func (o runOptions) check(cmd *cobra.Command, issues int) error {
	for _, name := range []string{"branch", "worktree", "ref", "issue-body", "only", "contract-digest", "accept-contract", "check", "comment"} {
		if issues > 1 && cmd.Flags().Changed(name) {
			return usage(cmd, fmt.Errorf("--%s goes with one issue, not %d", name, issues))
		}
	}
	if o.jobs < 1 {
		return usage(cmd, fmt.Errorf("--jobs must be at least 1, not %d", o.jobs))
	}
	if o.wait < 0 {
		return usage(cmd, fmt.Errorf("--wait must not be negative, got %s", o.wait))
	}
	if err := o.box.trials.check(cmd); err != nil {
		return err
	}
	return o.build.check(cmd)
}

// request settles everything that a run needs to know before anything of a ticket runs.
func (a *app) request(cmd *cobra.Command, box boxOptions, t ticketOptions, bodyFile, issue string) (stage.Request, error) {
	if t.ref != "" && t.branch != "" {
		return stage.Request{}, usage(cmd, errors.New("--ref judges a commit: it does not go with --branch"))
	}
	s, err := a.settingsFor(cmd, t, issue)
	if err != nil {
		return stage.Request{}, err
	}
	if len(s.Validate.Mounts) > 0 && s.Validate.Image != "host" {
		a.log.Warn().Str("image", s.Validate.Image).Msg("validate.mounts is for the image host and not used")
	}
	root, err := config.Root(a.directory)
	if err != nil {
		return stage.Request{}, err
	}
	req := stage.Request{
		Issue: issue, Dir: a.directory, Branch: t.branch, Ref: t.ref,
		Config: s.Config, ConfigRef: s.ref(root), ConfigNote: s.note,
		Environ: os.Environ(), ToolVersion: toolVersion(), Log: a.log,
	}
	if s.Issue.Source == "github" {
		req.FetchBody = a.gitHubBody(s, issue)
	}
	if t.worktree != "" {
		req.Worktree = a.path(t.worktree)
	}
	if bodyFile != "" {
		if req.IssueBody, err = a.issueBody(bodyFile); err != nil {
			return stage.Request{}, err
		}
	}
	if req.Engine, req.EngineReason, err = a.choose(cmd.Context(), s.Validate.Engine, s.Validate.Image); err != nil {
		return stage.Request{}, during("start", err)
	}
	return req, nil
}

// judges adds who judges, and with what.
func judges(req *stage.Request, trials trialOptions) (err error) {
	v := req.Config.Validate
	req.Services = services(v.Services)
	if req.Agents, req.Secrets, err = agents(v.Agents, req.Environ, trials.options(v.Prove)); err != nil {
		return during("config", err)
	}
	return nil
}

// chosen is an engine, and why it is this one.
type chosen struct {
	engine sandbox.Engine
	reason string
}

// choose is choose for this call: tickets that name the same share one.
func (a *app) choose(ctx context.Context, name, image string) (sandbox.Engine, string, error) {
	key := [2]string{name, image}
	if c, ok := a.engines[key]; ok {
		return c.engine, c.reason, nil
	}
	engine, reason, err := choose(ctx, engines(), name, image)
	if err == nil {
		a.engines[key] = chosen{engine, reason}
	}
	return engine, reason, err
}

// maxBody is far more than any tracker's issue holds.
const maxBody = 4 << 20

func (a *app) issueBody(name string) ([]byte, error) {
	from := a.in
	if name != "-" {
		f, err := os.Open(a.path(name))
		if err != nil {
			return nil, fault.Usage("issue_body", fmt.Errorf("reading the issue's body: %w", err))
		}
		defer f.Close()
		from = f
	}
	body, err := io.ReadAll(io.LimitReader(from, maxBody+1))
	if err != nil {
		return nil, fault.Usage("issue_body", fmt.Errorf("reading the issue's body: %w", err))
	}
	if len(body) > maxBody {
		return nil, fault.Usagef("issue_body", nil, "reading the issue's body: more than %s", config.FormatSize(maxBody))
	}
	if body == nil {
		body = []byte{} // nil would ask the config's command
	}
	return body, nil
}

// validate runs the requests, at most jobs at once, and returns their results in the same order. An issue whose turn had
// not come when ctx was cancelled is an error like the others.
func validate(ctx context.Context, requests []stage.Request, jobs int) []stage.Result {
	results := make([]stage.Result, len(requests))
	turn := make(chan struct{}, jobs)
	var running sync.WaitGroup
	for i, req := range requests {
		turn <- struct{}{}
		if err := context.Cause(ctx); err != nil {
			results[i] = stage.Result{
				Issue: req.Issue, Outcome: verdict.Error,
				Failure: &stage.Failure{Code: "interrupted", Message: "interrupted before it began"},
			}
			<-turn
			continue
		}
		running.Go(func() {
			defer func() { <-turn }()
			results[i] = stage.Run(ctx, req)
		})
	}
	running.Wait()
	return results
}

// finish reports the results and says how the program ends.
func (a *app) finish(cmd *cobra.Command, results []result) error {
	codes := make([]exitCode, len(results))
	for i, r := range results {
		codes[i] = r.exit()
	}
	code := worst(codes)
	if interrupted := a.interrupted.exit(); interrupted != 0 {
		code = interrupted
	}
	unwritten := a.writeReports(results, code)
	if unwritten != nil { // whoever reads them would read nothing, or what is not so
		code = worst([]exitCode{code, exitError})
		say(a.err, "error: ", unwritten.Error())
	}
	if a.json {
		if err := a.writeJSON(documentOf(results, code)); err != nil {
			return err
		}
		return exitWith{code}
	}
	for i, r := range results {
		if i > 0 && !a.quiet {
			if err := a.printf("\n"); err != nil {
				return err
			}
		}
		if err := a.report(r); err != nil {
			return err
		}
		a.explain(r)
	}
	return exitWith{code}
}

// explain says on stderr what kept a ticket from being judged, and what to do.
func (a *app) explain(r result) {
	if f := failureOf(r.Result); f != nil {
		f.print(a.err)
	}
	hints := r.Hints
	if hint := openHint(r.Result); hint != "" {
		hints = append(hints, hint)
	}
	for _, hint := range hints {
		say(a.err, "hint: ", hint)
	}
}

// progress chooses who shows how the runs go on.
func (a *app) progress() printer {
	switch {
	case a.json || a.quiet:
		return silent{}
	case terminal(a.err) && os.Getenv("TERM") != "dumb":
		return newLive(a)
	default:
		return &lineByLine{to: a.err}
	}
}

// printer shows the events of runs while they happen.
type printer interface {
	event.Sink
	Close() error // after the last event
}
