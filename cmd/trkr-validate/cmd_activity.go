package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/trkr-dev/trkr-validate/config"
	"github.com/trkr-dev/trkr-validate/loop"
	"github.com/trkr-dev/trkr-validate/ticket"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// budget is what the configuration allows a loop.
func budget(c config.Loop) loop.Budget {
	return loop.Budget{Turns: c.Turns, Plateau: c.Plateau, Errors: c.Errors, Time: c.Time, Cost: c.Cost}
}

func (a *app) activityCommand() *cobra.Command {
	follow := false
	cmd := &cobra.Command{
		Use:   "activity <issue>",
		Short: "Show the turns of a ticket's loop: what was met when, what regressed, what each turn cost",
		Long: `Show the turns of a ticket's loop: what was met when, what regressed, what each turn cost. With --follow it goes on as the
loop does, until that ends. With --json it prints what was recorded: one document, with --follow one entry a line.`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.activity(cmd, follow, args[0]) },
	}
	cmd.Flags().BoolVar(&follow, "follow", false, "go on until the loop ends")
	return cmd
}

type activityJSON struct {
	SchemaVersion int          `json:"schemaVersion"`
	Issue         string       `json:"issue"`
	Entries       []loop.Entry `json:"entries"`
}

func (a *app) activity(cmd *cobra.Command, follow bool, arg string) error {
	ctx := cmd.Context()
	issue, err := ticket.ParseIssue(arg)
	if err != nil {
		return err
	}
	repo, err := ticket.Open(ctx, a.directory)
	if err != nil {
		return during("resolve", err)
	}
	entries, err := a.loopHistory(ctx, repo, issue)
	if err != nil {
		return err
	}
	if a.json && !follow {
		return a.writeJSON(activityJSON{1, issue, orEmpty(entries)})
	}
	s := story{}
	for told := 0; ; {
		for ; told < len(entries); told++ {
			if err := a.tell(&s, entries[told]); err != nil {
				return err
			}
		}
		if !follow || ended(entries) {
			return nil
		}
		if err := pause(ctx); err != nil {
			return err
		}
		if entries, err = a.loopHistory(ctx, repo, issue); err != nil {
			return err
		}
	}
}

// pause waits for the next look at a history.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(redraw):
		return nil
	}
}

// ended reports whether the last thing that was recorded is an answer that nothing follows.
func ended(entries []loop.Entry) bool {
	if len(entries) == 0 {
		return false
	}
	last := entries[len(entries)-1]
	return last.Type == loop.LoopDecided && last.Decided.Answer != loop.Repair
}

func (a *app) tell(s *story, e loop.Entry) error {
	if a.json {
		if err := json.NewEncoder(a.out).Encode(e); err != nil {
			return fmt.Errorf("writing the result: %w", err)
		}
		return nil
	}
	var b strings.Builder
	s.tell(&b, e)
	return a.printf("%s", b.String())
}

// story remembers how each criterion stood, to tell what was met when and what regressed.
type story struct {
	status map[string]verdict.Status
	met    map[string]int // the turn in which it was met last
}

func (s *story) tell(b io.Writer, e loop.Entry) {
	if e.Type == loop.LoopRestarted || s.status == nil {
		s.status, s.met = map[string]verdict.Status{}, map[string]int{}
	}
	switch e.Type {
	case loop.TurnFinished:
		s.turn(b, e)
	case loop.TurnStarted, loop.ActionStarted, loop.RepairStarted:
	default:
		say(b, "  ", entryLine(e))
	}
}

func (s *story) turn(b io.Writer, e loop.Entry) {
	fmt.Fprintln(b, visible(entryLine(e)+", run "+e.Judged.RunID))
	width := 0
	for _, c := range e.Judged.Criteria {
		width = max(width, len(c.ID))
	}
	for _, c := range e.Judged.Criteria {
		was, known := s.status[c.ID]
		note := ""
		switch {
		case c.Status == verdict.Met && was == verdict.Met:
			note = fmt.Sprintf("since turn %d", s.met[c.ID])
		case c.Status == verdict.Met:
			s.met[c.ID] = e.Turn
			if known {
				note = "new"
			}
		case s.met[c.ID] > 0 && was == verdict.Met:
			note = "regressed"
		case s.met[c.ID] > 0:
			note = fmt.Sprintf("was met in turn %d", s.met[c.ID])
		}
		s.status[c.ID] = c.Status
		if note != "" {
			note = " (" + note + ")"
		}
		prefix := fmt.Sprintf("  %-10s  %-*s  ", c.Status, width, visible(c.ID))
		say(b, prefix, c.Text+note)
		if c.Status != verdict.Met && c.Evidence != "" {
			say(b, strings.Repeat(" ", len(prefix)), c.Evidence)
		}
	}
	var rest strings.Builder
	typedFindings(&rest, e.Judged.Findings)
	details(&rest, verdict.Record{Diagnostics: e.Judged.Diagnostics})
	for _, r := range e.Judged.Refusals {
		say(&rest, "  refused     ", r.Error())
	}
	if e.Judged.Error != "" {
		say(&rest, "  failed      ", e.Judged.Error)
	}
	_, _ = io.WriteString(b, rest.String()) // to memory
}

// entryLine is an entry in one line; empty for what only says that something begins.
func entryLine(e loop.Entry) string {
	switch e.Type {
	case loop.TurnFinished:
		j := e.Judged
		line := fmt.Sprintf("turn %d: %s", e.Turn, j.Outcome)
		if len(j.Criteria) > 0 {
			met := 0
			for _, c := range j.Criteria {
				if c.Status == verdict.Met {
					met++
				}
			}
			line += fmt.Sprintf(", %d of %d met", met, len(j.Criteria))
		}
		return line + ", " + seconds(j.MS)
	case loop.TriageDecided:
		if p := e.Triage.Proposal; p != nil {
			line := fmt.Sprintf("triage: %d to repair, %d tickets, %d dismissed", len(p.Retry), len(p.FixTicket), len(p.Dismiss))
			if p.Block != nil {
				line += ", a person is needed: " + p.Block.Why
			}
			return line
		}
		return "triage changes nothing: " + e.Triage.Rejected
	case loop.ActionFinished:
		if e.Action.Error != "" {
			return fmt.Sprintf("%s failed: %s", e.Action.Key, e.Action.Error)
		}
		return strings.TrimSpace(e.Action.Key + " " + e.Action.Ref)
	case loop.LoopDecided:
		return fmt.Sprintf("%s: %s", e.Decided.Answer, e.Decided.Why)
	case loop.RepairFinished:
		line := fmt.Sprintf("repair: exit %d, %s", e.Repaired.Exit, seconds(e.Repaired.MS))
		if e.Repaired.Cost > 0 {
			line += fmt.Sprintf(", cost %g", e.Repaired.Cost)
		}
		if e.Repaired.Error != "" {
			line += ", " + e.Repaired.Error
		}
		return line
	case loop.LoopRestarted:
		return "restarted: the turns before do not count any more"
	}
	return ""
}

func seconds(ms int64) string {
	return (time.Duration(ms) * time.Millisecond).Round(100 * time.Millisecond).String()
}
