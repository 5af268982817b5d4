package stage_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/stage"
	"github.com/trkr-dev/trkr-validate/validator"
	"github.com/trkr-dev/trkr-validate/validator/probe"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// Eight tickets at once, each built in a worktree of its own: each verdict is about the ticket's own program, stands
// on the ticket's own branch alone, and nothing of any of them is left.
func TestEightTicketsAtOnce(t *testing.T) {
	k := newKit(t, probe.New(probe.Options{}))
	t.Setenv("TMPDIR", t.TempDir())
	k.req.Environ = os.Environ()
	k.req.Sinks = nil
	k.git("checkout", "-q", "main")
	before := map[string]string{}
	for i := range 8 {
		issue := fmt.Sprint(10 + i)
		k.git("checkout", "-q", "-b", "trkr/"+issue, "main")
		says := issue
		if i == 5 {
			says = "10" // another ticket's program would do
		}
		k.commit(map[string]string{".trkr/tickets/" + issue + "/contract.md": "VAL-1: `tool` prints exactly `I am " + issue + "`\n"})
		k.commit(map[string]string{"tool": "#!/bin/sh\necho I am " + says + "\n"})
		before[issue] = k.git("rev-parse", "trkr/"+issue)
	}
	k.git("checkout", "-q", "main")
	results := map[string]stage.Result{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for issue := range before {
		req := k.req
		req.Issue = issue
		wg.Go(func() {
			res := stage.Run(t.Context(), req)
			mu.Lock()
			defer mu.Unlock()
			results[issue] = res
		})
	}
	wg.Wait()
	for issue, res := range results {
		want := verdict.Clear
		if issue == "15" {
			want = verdict.Blocking
		}
		if res.Outcome != want || res.Recorded == nil || res.Record.Issue != issue {
			t.Errorf("%s: %s, recorded %+v, refusals %+v, failure %+v", issue, res.Outcome, res.Recorded, res.Refusals, res.Failure)
			continue
		}
		if got := k.git("diff", "--name-only", before[issue], "trkr/"+issue); got != ".trkr/tickets/"+issue+"/validation.md" {
			t.Errorf("%s: the branch changed %q", issue, got)
		}
		for _, hint := range res.Hints {
			if strings.HasPrefix(hint, "cleaning up") {
				t.Errorf("%s: %s", issue, hint)
			}
		}
		if got := k.git("rev-list", "--count", before[issue]+"..trkr/"+issue); got != "1" {
			t.Errorf("%s: %s commits", issue, got)
		}
		contract, err := os.ReadFile(filepath.Join(k.dir, ".trkr/validate", issue, "contract.md"))
		if err != nil || !strings.Contains(string(contract), "I am "+issue) {
			t.Errorf("%s: the box's folder holds the contract %q, %v", issue, contract, err)
		}
	}
	if got := k.git("worktree", "list"); strings.Contains(got, "\n") {
		t.Errorf("worktrees left:\n%s", got)
	}
	if left, err := filepath.Glob(os.Getenv("TMPDIR") + "/*"); err != nil || len(left) > 0 {
		t.Errorf("left in the temporary folder: %q, %v", left, err)
	}
}

// A second run of a ticket that was told to wait goes on when the first has ended, and gives up when its time is over
// or when it is interrupted.
func TestSecondRunWaits(t *testing.T) {
	k := newKit(t)
	other := k.req
	other.Sinks, other.Agents = nil, []validator.Agent{scripted(allMet)}
	waited := make(chan stage.Result, 1)
	k.req.Agents = []validator.Agent{scripted(func(ctx context.Context, box sandbox.Sandbox, task validator.Task) (verdict.Report, error) {
		short := other
		short.Wait = 150 * time.Millisecond
		if res := stage.Run(ctx, short); res.Failure == nil || res.Failure.Code != "busy" {
			t.Errorf("after its time was over the second run ended with %+v", res)
		}
		impatient, stop := context.WithTimeout(ctx, 150*time.Millisecond)
		defer stop()
		interrupted, cancel := context.WithCancel(context.WithoutCancel(ctx))
		context.AfterFunc(impatient, cancel)
		long := other
		long.Wait = time.Hour
		if res := stage.Run(interrupted, long); res.Failure == nil || res.Failure.Code != "interrupted" {
			t.Errorf("interrupted, the second run ended with %+v", res.Failure)
		}
		go func() { waited <- stage.Run(context.WithoutCancel(ctx), long) }()
		return allMet(ctx, box, task)
	})}
	before := k.git("rev-parse", "trkr/7")
	k.run(verdict.Clear)
	select {
	case res := <-waited:
		if res.Outcome != verdict.Clear {
			t.Errorf("the one that waited: %s, %+v", res.Outcome, res.Failure)
		}
	case <-time.After(time.Minute):
		t.Error("it waits for ever")
	}
	if got := k.git("rev-list", "--count", before+"..trkr/7"); got != "1" {
		t.Errorf("%s commits of one verdict", got)
	}
}
