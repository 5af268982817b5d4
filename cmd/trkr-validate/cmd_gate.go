package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/trkr-dev/trkr-validate/attest"
	"github.com/trkr-dev/trkr-validate/config"
	"github.com/trkr-dev/trkr-validate/contract"
	"github.com/trkr-dev/trkr-validate/gate"
	"github.com/trkr-dev/trkr-validate/images"
	"github.com/trkr-dev/trkr-validate/internal/event"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/stage"
	"github.com/trkr-dev/trkr-validate/ticket"
	"github.com/trkr-dev/trkr-validate/verdict"
)

type gateOptions struct {
	run     runOptions // of --rebuild and --rerun
	keys    string
	maxAge  time.Duration
	rebuild bool
	rerun   bool
}

func (a *app) gateCommand() *cobra.Command {
	o := gateOptions{}
	cmd := &cobra.Command{
		Use:   "gate [issue]",
		Short: "Hold a merge on the verdict that a ticket's branch holds",
		Long: `Hold a merge on the verdict that a ticket's branch holds: validation.md as committed there, or at --ref.

What it is bound to is found out anew and compared: the commit's tree without validation.md, the contract and that it
was agreed before the code, the configuration of the trusted source, with --rebuild the artifacts, with --max-age its
age, with --trusted-keys who signed it. The file must be what its record is written as, byte for byte. A verdict that
does not count is refused, with every difference; with --rerun the ticket is then validated again, and that decides.

Without --trusted-keys anybody who can push to the branch could have written the verdict: that is bookkeeping, not a
gate. Without an issue, in CI, it is that of the branch that the job runs for.

Exit codes: that of the recorded outcome where the verdict counts, 0 for clear; 4 where it does not.`,
		Example: `  trkr-validate gate 7 --trusted-keys origin/main:.trkr/keys
  trkr-validate gate 7 --ref HEAD --trusted-keys /etc/trkr/keys --max-age 168h --rerun`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.gate(cmd, o, args) },
	}
	o.run.box.flags(cmd)
	o.run.ticket.flags(cmd)
	o.run.agreed.flags(cmd)
	o.run.sign.flags(cmd)
	o.run.reports.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.run.issueBody, "issue-body", "", "read the issue's body from this `file` (- is stdin) instead of asking issue.command")
	f.StringVar(&o.keys, "trusted-keys", "", "demand a signature by a key of this `folder` (*.pub), or of REV:DIR as committed")
	f.DurationVar(&o.maxAge, "max-age", 0, "refuse a verdict that is older than this `duration`, such as 168h")
	f.BoolVar(&o.rebuild, "rebuild", false, "build again and compare the artifacts; for builds that are reproducible")
	f.BoolVar(&o.rerun, "rerun", false, "where the verdict does not count, validate again; that decides")
	f.BoolVar(&o.run.noCommit, "no-commit", false, "with --rerun: commit nothing")
	return cmd
}

func (a *app) gate(cmd *cobra.Command, o gateOptions, args []string) error {
	if err := a.prepare(cmd, &o.run.reports); err != nil {
		return err
	}
	if o.maxAge < 0 {
		return usage(cmd, fmt.Errorf("--max-age must not be negative, got %s", o.maxAge))
	}
	issue, err := a.oneIssue(cmd, &o.run.ticket, args)
	if err != nil {
		return err
	}
	agreed, err := o.run.agreed.agreed(cmd)
	if err != nil {
		return err
	}
	signer, err := a.signer(cmd, o.run.sign)
	if err != nil {
		return err
	}
	s, err := a.settingsFor(cmd, o.run.ticket, issue)
	if err != nil {
		return err
	}
	if signer != nil {
		if err := stage.Signable(s.Config, o.run.sign.host); err != nil {
			return during("config", err)
		}
	}
	if err := o.run.reports.github.ready(cmd, s); err != nil {
		return err
	}
	r, err := a.gated(cmd, o, s, issue, agreed)
	if err != nil {
		return err
	}
	a.placeIn(cmd.Context(), &r, s.Ticket.Dir)
	if !o.rerun || !onlyTheRecord(r.Refusals) {
		return a.finish(cmd, []result{r})
	}
	return a.gateAgain(cmd, o, r, agreed, signer)
}

// oneIssue is the issue that is named, else that of the branch that CI runs for.
func (a *app) oneIssue(cmd *cobra.Command, o *ticketOptions, args []string) (string, error) {
	if len(args) == 0 {
		return a.issueOfCI(cmd, o)
	}
	return ticket.ParseIssue(args[0])
}

// onlyTheRecord reports whether a verdict was refused, and for nothing that a run would be refused for as well.
func onlyTheRecord(refusals []verdict.Refusal) bool {
	return len(refusals) > 0 && !slices.ContainsFunc(refusals, func(r verdict.Refusal) bool { return !strings.HasPrefix(string(r.Reason), "record_") })
}

// gateAgain validates a ticket whose recorded verdict does not count.
func (a *app) gateAgain(cmd *cobra.Command, o gateOptions, was result, agreed ticket.Agreed, signer *attest.Signer) error {
	request, err := a.request(cmd, o.run.box, o.run.ticket, o.run.issueBody, was.Issue)
	if err != nil {
		return err
	}
	if err := judges(&request, o.run.box.trials); err != nil {
		return err
	}
	p := a.progress()
	request.Agreed, request.Signer, request.SignHost, request.Sinks = agreed, signer, o.run.sign.host, []event.Sink{p}
	request.NoCommit = o.run.noCommit || o.run.ticket.ref != ""
	request.RecordAnew = slices.ContainsFunc(was.Refusals, func(r verdict.Refusal) bool { return r.Reason == verdict.RecordExpired })
	r := result{Result: stage.Run(cmd.Context(), request), gate: &gateJSON{Unchecked: []string{}, Rerun: []string{}}}
	if err := p.Close(); err != nil {
		return err
	}
	a.placeIn(cmd.Context(), &r, request.Config.Ticket.Dir)
	for _, why := range was.Refusals {
		r.gate.Rerun = append(r.gate.Rerun, why.Error())
		r.Hints = append(r.Hints, "it was validated again: "+why.Error())
	}
	return a.finish(cmd, []result{r})
}

// gated compares the verdict that a branch holds with what is there now.
func (a *app) gated(cmd *cobra.Command, o gateOptions, s settings, issue string, agreed ticket.Agreed) (result, error) {
	ctx := cmd.Context()
	repo, err := ticket.Open(ctx, a.directory)
	if err != nil {
		return result{}, during("resolve", err)
	}
	defer repo.Rest()
	t, err := repo.Find(ctx, a.query(s, o.run.ticket, issue))
	if verdict.IsRefusal(err) {
		return refused(issue, nil, "", verdict.Refusals(err)), nil
	} else if err != nil {
		return result{}, during("resolve", err)
	}
	keys, err := a.trusted(ctx, o.keys, t)
	if err != nil {
		return result{}, during("config", err)
	}
	now := gate.Now{
		Issue: issue, Tree: t.Tree, ConfigDigest: s.Digest(), OwnConfig: a.trustBranch, Inside: takesInside(s.Config),
		Keys: keys, Time: time.Now(), MaxAge: o.maxAge,
	}
	root, err := config.Root(a.directory)
	if err != nil {
		return result{}, err
	}
	from := s.ref(root)
	now.ConfigFrom = strings.TrimSpace(from.Source + " " + from.Ref)
	var refusals []verdict.Refusal
	if now.Contract, refusals, err = a.agreedContract(ctx, s, repo, t, o.run.issueBody, agreed); err != nil {
		return result{}, during("contract", err)
	}
	name := path.Join(t.Dir, ticket.RecordName)
	file, err := repo.File(ctx, t.Commit, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		refusals = append(refusals, verdict.Refusal{Reason: verdict.RecordMissing, Detail: fmt.Sprintf("%s is not committed at %s", name, short(t.Commit))})
	case errors.Is(err, ticket.ErrNotRegular):
		refusals = append(refusals, verdict.Refusal{Reason: verdict.RecordInvalid, Detail: err.Error()})
	case err != nil:
		return result{}, during("resolve", err)
	}
	if len(refusals) > 0 { // without a contract or a verdict there is nothing to compare
		return refused(issue, nil, t.Commit, hinted(refusals, o.rerun)), nil
	}
	if o.rebuild {
		repo.Rest()
		sealed, subject := a.rebuilt(cmd, o, issue, agreed)
		switch {
		case subject == nil:
			return result{Result: sealed}, nil
		case subject.Commit != t.Commit:
			return result{}, during("build", fault.Envf("branch_moved", []string{"run it again"}, "%s was at %s and is now at %s", issue, short(t.Commit), short(subject.Commit)))
		}
		now.Manifest = subject.Manifest
	}
	if now.ImageDigest, err = a.imageDigest(ctx, s.Validate.Image); err != nil {
		now.NoImage = err.Error()
	}
	j := gate.Judge(file, now)
	if len(j.Refusals) > 0 {
		r := refused(issue, j.Record, t.Commit, hinted(j.Refusals, o.rerun))
		r.gate = &gateJSON{Unchecked: orEmpty(j.Unchecked), Rerun: []string{}}
		return r, nil
	}
	return result{again: true, commit: t.Commit, gate: &gateJSON{SignedBy: j.SignedBy, Unchecked: orEmpty(j.Unchecked), Rerun: []string{}}, Result: stage.Result{
		Issue: issue, RunID: j.Record.RunID, Outcome: j.Record.Outcome, Record: j.Record, Recorded: &stage.Recorded{Path: name},
	}}, nil
}

// agreedContract is the contract as a run would read it, or why a run would be refused.
func (a *app) agreedContract(ctx context.Context, s settings, repo *ticket.Repo, t *ticket.Ticket, bodyFile string, agreed ticket.Agreed) (c contract.Contract, refusals []verdict.Refusal, err error) {
	var given []byte
	if bodyFile != "" {
		if given, err = a.issueBody(bodyFile); err != nil {
			return c, nil, err
		}
	}
	text, err := repo.Contract(ctx, t, a.bodyOf(s, repo, t.Issue, given))
	if err == nil {
		_, err = repo.Fixed(ctx, t, text, agreed)
	}
	if verdict.IsRefusal(err) {
		return c, verdict.Refusals(err), nil
	}
	return text.Contract, nil, err
}

// rebuilt builds the ticket's commit apart from every worktree and seals what that makes.
func (a *app) rebuilt(cmd *cobra.Command, o gateOptions, issue string, agreed ticket.Agreed) (stage.Result, *verdict.Subject) {
	request, err := a.request(cmd, o.run.box, o.run.ticket, o.run.issueBody, issue)
	if err != nil {
		return unstarted(issue, err), nil
	}
	p := a.progress()
	defer p.Close() //nolint:errcheck // lines of progress that nobody got
	request.Agreed, request.Clean, request.Sinks = agreed, true, []event.Sink{p}
	return stage.Seal(cmd.Context(), request)
}

// imagePatience is how long the gate waits for a registry.
const imagePatience = 30 * time.Second

// imageDigest asks which image a name stands for now; empty where only a build or a run would tell.
func (a *app) imageDigest(ctx context.Context, image string) (string, error) {
	name, err := images.ParseName(image)
	if err != nil || !slices.Contains([]images.Kind{images.KindRegistry, images.KindOCI, images.KindArchive}, name.Kind) {
		return "", err
	}
	dir, err := config.Root(a.directory)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, imagePatience)
	defer cancel()
	found, err := images.NewStore("", runtime.GOARCH).Find(ctx, images.Request{Name: image, Dir: dir})
	if err != nil {
		return "", err
	}
	return found.Digest, found.Close()
}

// takesInside reports whether the configuration takes the word of agents that live in the box: it has some, and says so
// of each.
func takesInside(c config.Config) bool {
	some := false
	for _, a := range c.Validate.Agents {
		if a.Kind == "probe" {
			continue
		}
		if a.Trust != "inside" {
			return false
		}
		some = true
	}
	return some
}

// refused is the result of a verdict that does not count. What was recorded is not part of it: nobody must take its
// outcome for the gate's.
func refused(issue string, found *verdict.Record, commit string, refusals []verdict.Refusal) result {
	record := verdict.Record{SchemaVersion: verdict.SchemaVersion, Issue: issue, Outcome: verdict.Refused, ExitCode: verdict.Refused.ExitCode(), Refusals: refusals}
	record.Subject.Commit = commit
	if found != nil {
		record.RunID, record.StartedAt, record.Tool = found.RunID, found.StartedAt, found.Tool
	}
	return result{Result: stage.Result{Issue: issue, RunID: record.RunID, Outcome: verdict.Refused, Record: &record, Refusals: refusals}}
}

// hinted says what to do about a verdict that does not count.
func hinted(refusals []verdict.Refusal, again bool) []verdict.Refusal {
	if i := len(refusals) - 1; !again && onlyTheRecord(refusals) {
		refusals[i].Hints = append(refusals[i].Hints, "validate the branch as it is now, with --rerun or by a run that records and signs")
	}
	return refusals
}
