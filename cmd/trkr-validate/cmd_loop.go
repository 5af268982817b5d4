package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/loop"
	"github.com/trkr-dev/trkr-validate/ticket"
	"github.com/trkr-dev/trkr-validate/verdict"
)

type loopOptions struct {
	box       boxOptions
	ticket    ticketOptions
	agreed    agreedOptions
	issueBody string
	repair    string
	restart   bool
	wait      time.Duration
}

// flags are those of a validation, for the commands that may start one.
func (o *loopOptions) flags(cmd *cobra.Command) {
	o.box.flags(cmd)
	o.place(cmd)
	o.agreed.flags(cmd)
	o.box.trials.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.issueBody, "issue-body", "", "read the issue's body from this `file` (- is stdin) instead of asking issue.command")
	f.BoolVar(&o.restart, "restart", false, "begin anew: the turns so far do not count any more")
	f.DurationVar(&o.wait, "wait", 0, "how long to wait for another run of the same ticket")
}

// place says where the ticket's code stands. A loop is about a branch, never about a commit.
func (o *loopOptions) place(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.ticket.branch, "branch", "", "the ticket's `branch`, whatever ticket.branch says")
	cmd.Flags().StringVar(&o.ticket.worktree, "worktree", "", "the worktree `folder` to build in")
}

func (a *app) loopCommand() *cobra.Command {
	o := loopOptions{}
	cmd := &cobra.Command{
		Use:   "loop <issue> --repair CMD",
		Short: "Validate and repair a ticket until it is clear, or going on is of no use",
		Long: `Validate and repair a ticket until it is clear, or going on is of no use.

A turn validates the ticket. Where something remains that an implementer can mend, CMD is run with sh in the worktree of the
ticket's branch; TRKR_REMAINS names a file with what remains, TRKR_ISSUE, TRKR_BRANCH and TRKR_TURN say what it is about. It
commits what it does. It ends when the answer is done, human (a person has to look) or stop (a budget of the section "loop" is
spent, or there is not less to do). Killed at any point and started again, it goes on from there. Nothing is merged.

Exit codes: 0 done, 1 stop, 3 human, 5 wrong call or configuration, 6 the environment failed.`,
		Example: `  trkr-validate loop 7 --repair 'claude -p "$(cat "$TRKR_REMAINS")"'`,
		Args:    exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(o.repair) == "" {
				return usage(cmd, errors.New("--repair is missing: a loop needs a command that mends"))
			}
			return a.loop(cmd, o, args[0])
		},
	}
	o.flags(cmd)
	cmd.Flags().StringVar(&o.repair, "repair", "", "the `command` that mends; run with sh in the ticket's worktree")
	turn, next := loopOptions{}, loopOptions{}
	turnCmd := &cobra.Command{
		Use:   "turn <issue>",
		Short: "Validate a ticket once, as a turn of its loop; the exit codes are those of a run",
		Args:  exactly(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return a.loopTurn(cmd, turn, args[0]) },
	}
	turn.flags(turnCmd)
	nextCmd := &cobra.Command{
		Use:   "next <issue>",
		Short: "Say what comes next for a ticket: done, repair, human or stop",
		Long: `Say what comes next for a ticket, from the turns that were recorded: done, repair (with what remains, for the next
implementer), human or stop. Where no turn has judged what the branch holds now, there is no answer: the error's code is
not_judged, and loop turn judges it.

Exit codes: 0 whatever the answer is, 5 where there is none.`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.loopNext(cmd, next, args[0]) },
	}
	next.place(nextCmd)
	cmd.AddCommand(turnCmd, nextCmd)
	return cmd
}

// answered keeps the name Answer for the field of it.
type answered = loop.Answer

type answerJSON struct {
	answered
	ExitCode exitCode `json:"exitCode"`
}

// withLoop settles everything that a loop needs before anything of the ticket runs, and lends it.
func (a *app) withLoop(cmd *cobra.Command, o loopOptions, arg string, use func(context.Context, *loop.Loop, *loopWorld) error) (err error) {
	ctx := cmd.Context()
	issue, err := ticket.ParseIssue(arg)
	if err != nil {
		return err
	}
	if err := o.box.trials.check(cmd); err != nil {
		return err
	}
	req, err := a.request(cmd, o.box, o.ticket, o.issueBody, issue)
	if err != nil {
		return err
	}
	if err := judges(&req, o.box.trials); err != nil {
		return err
	}
	if req.Agreed, err = o.agreed.agreed(cmd); err != nil {
		return err
	}
	req.Wait = o.wait
	repo, err := ticket.Open(ctx, a.directory)
	if err != nil {
		return during("resolve", err)
	}
	defer repo.Rest()
	if err := ownHistory(ctx, repo); err != nil {
		return err
	}
	root, err := os.OpenRoot(repo.Root())
	if err != nil {
		return fault.Env("folder", err)
	}
	defer root.Close() // every file in it is closed by itself
	h, err := loop.OpenHistory(root, issue)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	t, c := req.Config.Ticket, req.Config.Loop
	w := &loopWorld{app: a, repo: repo, request: req, repair: o.repair, query: ticket.Query{
		Issue: issue, Branch: o.ticket.branch, Worktree: req.Worktree, BranchTemplate: t.Branch, DirTemplate: t.Dir, Base: t.Base,
	}}
	l := &loop.Loop{
		History: h, Budget: budget(req.Config.Loop), World: w,
		Triage: req.Config.Orchestrator && strings.TrimSpace(c.Triage) != "",
		Able:   loop.Able{File: strings.TrimSpace(c.FileTicket) != "", Comment: strings.TrimSpace(c.Comment) != ""},
	}
	if !a.json && !a.quiet {
		l.Told = func(e loop.Entry) {
			if line := entryLine(e); line != "" {
				say(a.logTo, "", issue+": "+line)
			}
		}
	}
	if o.restart {
		if err := l.Restart(); err != nil {
			return err
		}
	}
	return use(ctx, l, w)
}

func (a *app) loop(cmd *cobra.Command, o loopOptions, arg string) error {
	return a.withLoop(cmd, o, arg, func(ctx context.Context, l *loop.Loop, _ *loopWorld) error {
		answer, err := l.Run(ctx)
		if err != nil {
			return err
		}
		code := map[loop.Do]exitCode{loop.Done: exitClear, loop.Stop: exitBlocking, loop.Human: exitIncomplete}[answer.Answer]
		return a.sayAnswer(answer, code)
	})
}

func (a *app) loopTurn(cmd *cobra.Command, o loopOptions, arg string) error {
	return a.withLoop(cmd, o, arg, func(ctx context.Context, l *loop.Loop, w *loopWorld) error {
		answer, err := l.Next(ctx)
		if err != nil {
			return err
		}
		if answer.Answer != loop.Validate && answer.Answer != loop.Repair {
			return fault.Usagef("loop_ended", []string{"--restart begins anew, where a person has looked at it"}, "the loop of issue %s has ended: %s, %s", answer.Issue, answer.Answer, answer.Why)
		}
		if err := l.Turn(ctx); err != nil {
			return err
		}
		return a.finish(cmd, []result{{Result: *w.last}})
	})
}

// ownHistory makes sure that no history came with a branch: whoever writes the branch would have written it.
func ownHistory(ctx context.Context, repo *ticket.Repo) error {
	tracked, err := repo.TrackedBelow(ctx, loop.Dir)
	if err == nil && len(tracked) > 0 {
		err = fault.Envf("unsafe_folder", []string{"remove it from git: the program keeps its own files there"}, "git tracks %q", tracked[0])
	}
	return err
}

// loopHistory reads what was recorded of a ticket's loop, without keeping anybody from adding to it.
func (a *app) loopHistory(ctx context.Context, repo *ticket.Repo, issue string) ([]loop.Entry, error) {
	if err := ownHistory(ctx, repo); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(repo.Root())
	if err != nil {
		return nil, fault.Env("folder", err)
	}
	defer root.Close() // only read from
	name := path.Join(loop.Dir, issue+".jsonl")
	data, err := readFile(root, name, maxRecord)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fault.Usagef("not_judged", []string{"trkr-validate loop turn " + issue}, "issue %s has no turn yet", issue)
	} else if err != nil {
		return nil, fault.Env("folder", err)
	}
	entries, err := loop.ReadHistory(strings.NewReader(string(data)), issue)
	if err != nil {
		return nil, fault.Env("history_invalid", fmt.Errorf("reading %s: %w", name, err), "somebody edited it; move it away to begin anew")
	}
	return entries, nil
}

func (a *app) loopNext(cmd *cobra.Command, o loopOptions, arg string) error {
	ctx := cmd.Context()
	issue, err := ticket.ParseIssue(arg)
	if err != nil {
		return err
	}
	s, err := a.settingsFor(cmd, o.ticket, issue)
	if err != nil {
		return err
	}
	repo, err := ticket.Open(ctx, a.directory)
	if err != nil {
		return during("resolve", err)
	}
	defer repo.Rest()
	entries, err := a.loopHistory(ctx, repo, issue)
	if err != nil {
		return err
	}
	q := ticket.Query{Issue: issue, Branch: o.ticket.branch, BranchTemplate: s.Ticket.Branch, DirTemplate: s.Ticket.Dir, Base: s.Ticket.Base}
	if o.ticket.worktree != "" {
		q.Worktree = a.path(o.ticket.worktree)
	}
	w := &loopWorld{app: a, repo: repo, query: q}
	tree, err := w.Tree(ctx)
	if err != nil {
		return err
	}
	answer := loop.Decide(entries, budget(s.Loop), tree)
	answer.Issue = issue
	if answer.Answer == loop.Validate {
		return fault.Usagef("not_judged", []string{"trkr-validate loop turn " + issue}, "issue %s: %s", issue, answer.Why)
	}
	return a.sayAnswer(answer, exitClear)
}

// sayAnswer prints what comes next and ends with the code.
func (a *app) sayAnswer(answer loop.Answer, code exitCode) error {
	if a.json {
		if err := a.writeJSON(answerJSON{answer, code}); err != nil {
			return err
		}
		return exitWith{code}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", answer.Issue, answer.Answer)
	if !a.quiet {
		say(&b, "  why         ", answer.Why)
		for _, r := range answer.Remains.Refusals {
			say(&b, "  refused     ", r.Error())
		}
		details(&b, verdict.Record{Criteria: answer.Remains.Criteria, Diagnostics: answer.Remains.Diagnostics})
		typedFindings(&b, answer.Remains.Findings)
	}
	if err := a.printf("%s", b.String()); err != nil {
		return err
	}
	return exitWith{code}
}
