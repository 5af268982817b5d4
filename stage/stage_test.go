package stage_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/event"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/owner"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/sandboxtest"
	"github.com/trkr-dev/trkr-validate/stage"
	"github.com/trkr-dev/trkr-validate/validator"
	"github.com/trkr-dev/trkr-validate/validator/probe"
	"github.com/trkr-dev/trkr-validate/verdict"
)

func TestProbeThroughTheWholeRun(t *testing.T) {
	k := newKit(t, probe.New(probe.Options{}))
	res := k.run(verdict.Clear)
	if res.Recorded == nil || res.Recorded.Commit == "" || k.git("rev-parse", "trkr/7") != res.Recorded.Commit {
		t.Errorf("recorded %+v, the branch is at %s", res.Recorded, k.git("rev-parse", "trkr/7"))
	}
	rec, err := verdict.ParseMarkdown([]byte(k.git("show", "trkr/7:.trkr/tickets/7/validation.md") + "\n"))
	if err != nil || rec.Outcome != verdict.Clear || len(rec.Criteria) != 2 || rec.Subject.Tree == "" {
		t.Errorf("validation.md holds %+v, %v", rec, err)
	}
	for _, name := range []string{"events.jsonl", "build.log", "transcript.log", "record.json", "junit.xml", "acceptance-review-1.json"} {
		if _, err := os.Stat(filepath.Join(res.RunDir, name)); err != nil {
			t.Error(err)
		}
	}
	if got := k.git("status", "--porcelain"); got != "" {
		t.Errorf("status is %q", got)
	}

	again := k.run(verdict.Clear)
	if again.Recorded == nil || again.Recorded.Commit != "" {
		t.Errorf("the same verdict was committed again: %+v", again.Recorded)
	}
	if again.Record.Subject.Tree != res.Record.Subject.Tree {
		t.Error("recording the verdict changed the tree that it is about")
	}
}

func TestEventsTellTheRunInOrder(t *testing.T) {
	k := newKit(t, scripted(allMet))
	res := k.run(verdict.Clear)
	var steps []string
	reviewed := false
	for i, e := range *k.events {
		reviewed = reviewed || e.Type == event.ReviewReported && e.Step == "record" && e.Detail == "acceptance-review-1.json"
		if e.Seq != int64(i+1) || e.RunID != res.RunID {
			t.Errorf("event %d is numbered %d of run %s", i+1, e.Seq, e.RunID)
		}
		if e.Type == event.StepFinished {
			steps = append(steps, e.Step)
		}
	}
	want := []string{"resolve", "config", "contract", "build", "collect", "materialise", "start", "install", "validate", "judge", "record"}
	if !slices.Equal(steps, want) {
		t.Errorf("steps %v", steps)
	}
	if !reviewed {
		t.Error("nothing told of the acceptance review")
	}
	f, err := os.Open(filepath.Join(res.RunDir, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	kept, err := event.Read(f)
	if err != nil || len(kept) != len(*k.events) || kept[len(kept)-1].Type != event.RunFinished {
		t.Errorf("the run folder holds %d of %d events, %v", len(kept), len(*k.events), err)
	}
}

func TestEveryReasonIsNamedAtOnceAndNothingIsBuilt(t *testing.T) {
	k := newKit(t, scripted(allMet))
	k.commit(map[string]string{".trkr/tickets/7/contract.md": "VAL-1: one\nVAL-1: again\n"})
	k.write(map[string]string{"tool": "changed", "new": "untracked"})
	k.req.Config.Validate.Build, k.req.Config.Validate.Artifacts = "", nil
	before := k.git("rev-parse", "trkr/7")
	res := k.run(verdict.Refused)
	want := []verdict.Reason{verdict.DirtyWorktree, verdict.BuildMissing, verdict.ArtifactMissing, verdict.ContractInvalid}
	if got := reasons(res); !slices.Equal(got, want) {
		t.Errorf("reasons %v, want %v", got, want)
	}
	if res.ExitCode() != 4 || k.git("rev-parse", "trkr/7") != before {
		t.Errorf("exit code %d, and the branch moved to %s", res.ExitCode(), k.git("rev-parse", "trkr/7"))
	}
}

func TestRefusalsOfBuildAndArtifacts(t *testing.T) {
	for name, c := range map[string]struct {
		build     string
		artifacts string
		want      verdict.Reason
	}{
		"build fails":         {"echo oh no; exit 3", "dist/*", verdict.BuildFailed},
		"build takes long":    {"sleep 100", "dist/*", verdict.BuildTimeout},
		"nothing is made":     {"true", "dist/*", verdict.ArtifactMissing},
		"source is named":     {"true", "tool", verdict.ArtifactIsSource},
		"a pipe is made":      {"mkdir -p dist && mkfifo dist/pipe", "dist/*", verdict.ArtifactUnsafe},
		"a link leads away":   {"mkdir -p dist && ln -s /etc/passwd dist/link", "dist/*", verdict.ArtifactUnsafe},
		"everything is named": {"true", "**/*", verdict.ArtifactIsSource},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, scripted(allMet))
			k.req.Config.Validate.Build, k.req.Config.Validate.Artifacts = c.build, []string{c.artifacts}
			if c.want == verdict.BuildTimeout {
				k.req.Config.Validate.BuildTimeout = 500 * time.Millisecond
			}
			res := k.run(verdict.Refused)
			if got := slices.Compact(reasons(res)); !slices.Equal(got, []verdict.Reason{c.want}) {
				t.Errorf("reasons %v, want %s", got, c.want)
			}
		})
	}
}

// A build that makes nothing must not pass with what an earlier one left, and must not lose it either.
func TestStaleArtifactIsNotJudged(t *testing.T) {
	k := newKit(t, scripted(allMet))
	k.run(verdict.Clear)
	k.req.Config.Validate.Build = "true"
	res := k.run(verdict.Refused)
	if len(res.Refusals) != 1 || res.Refusals[0].Reason != verdict.ArtifactMissing || !strings.Contains(res.Refusals[0].Detail, "dist/tool") {
		t.Errorf("refusals %+v", res.Refusals)
	}
	if _, err := os.Stat(filepath.Join(k.dir, "dist/tool")); err != nil {
		t.Errorf("what was moved aside was not put back: %v", err)
	}
}

// A run was killed, and then somebody built by hand: what that made is kept, and the person is told where.
func TestWhatAKilledRunsArtifactsReplacedIsNamed(t *testing.T) {
	k := newKit(t, scripted(allMet))
	dead := owner.Self()
	dead.Boot = "0"
	k.write(map[string]string{".trkr/validate/.aside." + dead.String() + "/files/dist/old": "of before", "dist/old": "by hand"})
	res := k.run(verdict.Clear)
	kept := ".trkr/validate/.kept." + dead.String() + "/files/dist/old"
	if data, err := os.ReadFile(filepath.Join(k.dir, kept)); err != nil || string(data) != "by hand" {
		t.Errorf("kept %q, %v", data, err)
	}
	if data, err := os.ReadFile(filepath.Join(k.dir, "dist/old")); err != nil || string(data) != "of before" {
		t.Errorf("back is %q, %v", data, err)
	}
	if !slices.ContainsFunc(res.Hints, func(h string) bool { return strings.Contains(h, kept) }) {
		t.Errorf("hints %q", res.Hints)
	}
}

// An incremental build makes a part again: the whole was not judged, and a person must learn that.
func TestPartThatWasNotMadeAgainIsHintedAt(t *testing.T) {
	k := newKit(t, probe.New(probe.Options{}))
	k.write(map[string]string{"dist/lib": "of an earlier build", "dist/tool": "of an earlier build"})
	if res := k.run(verdict.Clear); len(res.Hints) > 0 {
		t.Errorf("hints at a clear outcome: %q", res.Hints)
	}
	k.req.Config.Validate.Build = "mkdir -p dist && printf '#!/bin/sh\\ncat ${0%%/*}/lib' >dist/tool && chmod +x dist/tool"
	res := k.run(verdict.Blocking)
	if len(res.Hints) != 1 || !strings.Contains(res.Hints[0], `left "dist/lib", which`) || !strings.Contains(res.Hints[0], "cache") {
		t.Errorf("hints %q", res.Hints)
	}
	if raw, err := os.ReadFile(filepath.Join(k.dir, "dist/lib")); err != nil || string(raw) != "of an earlier build" {
		t.Errorf("%q, %v", raw, err)
	}
}

// A subject can take its box with it on purpose; before any of it ran, or where the engine is gone, it cannot.
func TestLosingTheBoxIsIncompleteWhereTheSubjectCanHaveDoneIt(t *testing.T) {
	lose := func(lost sandbox.LostError) scripted {
		return func(ctx context.Context, box sandbox.Sandbox, task validator.Task) (verdict.Report, error) {
			report, _ := allMet(ctx, box, task)
			return report, &lost
		}
	}
	res := newKit(t, lose(sandbox.LostError{Cause: sandbox.CauseMemory, Started: true})).run(verdict.Incomplete)
	if len(res.Record.Diagnostics) == 0 || res.Record.Diagnostics[0].Code != verdict.BoxLost || res.Recorded == nil {
		t.Errorf("diagnostics %+v, recorded %+v", res.Record.Diagnostics, res.Recorded)
	}
	for _, lost := range []sandbox.LostError{{Engine: true, Started: true}, {Started: false}} {
		res = newKit(t, lose(lost)).run(verdict.Error)
		if res.ExitCode() != 6 || res.Recorded != nil {
			t.Errorf("%+v: exit code %d, recorded %+v", lost, res.ExitCode(), res.Recorded)
		}
	}
}

// An engine that hangs until the time is over is still the engine's fault.
func TestLostEngineIsNotTheDeadline(t *testing.T) {
	k := newKit(t, scripted(func(ctx context.Context, box sandbox.Sandbox, task validator.Task) (verdict.Report, error) {
		<-ctx.Done()
		return verdict.Report{}, &sandbox.LostError{Engine: true, Started: true}
	}))
	k.req.Config.Validate.Timeout = 300 * time.Millisecond
	if res := k.run(verdict.Error); res.ExitCode() != 6 || res.Recorded != nil {
		t.Errorf("exit code %d, recorded %+v", res.ExitCode(), res.Recorded)
	}
}

func TestBuildThatChangesTrackedFilesIsPutBackAndNamed(t *testing.T) {
	k := newKit(t, scripted(allMet))
	k.req.Config.Validate.Build += " && echo changed >tool && rm .gitignore && echo new >left"
	res := k.run(verdict.Clear)
	if got := k.git("status", "--porcelain"); got != "?? left" {
		t.Errorf("status is %q", got)
	}
	if len(res.Record.Findings) != 1 || res.Record.Findings[0].Severity != verdict.SeverityNote || !strings.Contains(res.Record.Findings[0].Text, `".gitignore", "tool"`) {
		t.Errorf("findings %+v", res.Record.Findings)
	}
	if len(res.Hints) != 2 || !strings.Contains(res.Hints[0], `"left"`) || !strings.Contains(res.Hints[1], "/replaced") {
		t.Errorf("hints %q", res.Hints)
	}
	if err := os.Remove(filepath.Join(k.dir, "left")); err != nil {
		t.Fatal(err)
	}
	k.req.Config.Validate.Build = "echo changed >tool; exit 1"
	k.run(verdict.Refused)
	if got := k.git("status", "--porcelain"); got != "" {
		t.Errorf("after a build that failed the status is %q", got)
	}
}

// What a build commits, or somebody else meanwhile, was never agreed to be judged.
func TestBuildThatMovesTheBranchIsAnError(t *testing.T) {
	k := newKit(t, scripted(allMet))
	k.req.NoCommit = true
	k.req.Config.Validate.Build += " && git commit -q --allow-empty -m sneak"
	res := k.run(verdict.Error)
	if res.Failure.Code != "branch_moved" || res.Failure.Step != "collect" {
		t.Errorf("failure %+v", res.Failure)
	}
}

func TestEngineThatCannotBeUsedIsSaidBeforeTheBuild(t *testing.T) {
	k := newKit(t, scripted(allMet))
	k.req.Engine = &sandboxtest.Fake{CheckError: fault.Env("docker_unreachable", errors.New("no daemon"), "start one")}
	k.req.Config.Validate.Build = "touch built; exit 1"
	res := k.run(verdict.Error)
	if res.Failure.Code != "docker_unreachable" || len(res.Failure.Hints) != 1 {
		t.Errorf("failure %+v", res.Failure)
	}
	if _, err := os.Stat(filepath.Join(k.dir, "built")); err == nil {
		t.Error("it was built all the same")
	}
}

func TestTicketsThatShareAWorktreeDoNotRunAtOnce(t *testing.T) {
	k := newKit(t)
	k.git("branch", "trkr/8")
	k.req.Agents = []validator.Agent{scripted(func(ctx context.Context, box sandbox.Sandbox, task validator.Task) (verdict.Report, error) {
		second := k.req
		second.Issue, second.Branch, second.Sinks = "8", "trkr/7", nil
		second.Config.Ticket.Dir = ".trkr/tickets/7"
		if res := stage.Run(ctx, second); res.Failure == nil || res.Failure.Code != "busy" {
			t.Errorf("the second ticket ended with %+v, refusals %+v", res.Failure, res.Refusals)
		}
		return allMet(ctx, box, task)
	})}
	k.run(verdict.Clear)
}

func TestTimePassedIsIncomplete(t *testing.T) {
	k := newKit(t, scripted(func(ctx context.Context, box sandbox.Sandbox, task validator.Task) (verdict.Report, error) {
		<-ctx.Done()
		return verdict.Report{}, ctx.Err()
	}))
	k.req.Config.Validate.Timeout = 300 * time.Millisecond
	res := k.run(verdict.Incomplete)
	if len(res.Record.Diagnostics) == 0 || res.Record.Diagnostics[0].Code != verdict.AgentDeadline {
		t.Errorf("diagnostics %+v", res.Record.Diagnostics)
	}
}

func TestSecondRunOfATicketIsBusy(t *testing.T) {
	k := newKit(t)
	k.req.Agents = []validator.Agent{scripted(func(ctx context.Context, box sandbox.Sandbox, task validator.Task) (verdict.Report, error) {
		second := k.req
		second.Sinks = nil
		res := stage.Run(ctx, second)
		if res.Failure == nil || res.Failure.Code != "busy" || res.ExitCode() != 6 {
			t.Errorf("the second run ended with %+v", res)
		}
		return allMet(ctx, box, task)
	})}
	k.run(verdict.Clear)
}

func TestOnlySomeAssertionsAreNeverClearAndNeverCommitted(t *testing.T) {
	k := newKit(t, probe.New(probe.Options{}))
	k.req.Only = []string{"VAL-2"}
	res := k.run(verdict.Incomplete)
	if res.Recorded != nil || res.Record.Criteria[0].Status != verdict.Unverified || res.Record.Criteria[1].Status != verdict.Met {
		t.Errorf("recorded %+v, criteria %+v", res.Recorded, res.Record.Criteria)
	}
	k.req.Agents = []validator.Agent{scripted(func(ctx context.Context, box sandbox.Sandbox, task validator.Task) (verdict.Report, error) {
		task.Assertions = task.Contract.Assertions // an agent may report on everything
		return allMet(ctx, box, task)
	})}
	k.run(verdict.Incomplete)
	k.req.Only = []string{"VAL-9"}
	if res := k.run(verdict.Error); res.ExitCode() != 5 {
		t.Errorf("exit code %d for an unknown assertion", res.ExitCode())
	}
}

// The branch moves while the run goes on: somebody else's commit stays, and the record is kept.
func TestMovedBranchIsAnErrorAndLosesNothing(t *testing.T) {
	k := newKit(t)
	k.req.Agents = []validator.Agent{scripted(func(ctx context.Context, box sandbox.Sandbox, task validator.Task) (verdict.Report, error) {
		k.commit(map[string]string{"other": "work"})
		return allMet(ctx, box, task)
	})}
	res := k.run(verdict.Error)
	if res.Failure.Code != "branch_moved" || res.Failure.Step != "record" || res.Record == nil || res.Record.Outcome != verdict.Clear {
		t.Errorf("failure %+v, record %+v", res.Failure, res.Record)
	}
	if got := k.git("show", "--format=", "--name-only", "trkr/7"); got != "other" {
		t.Errorf("the branch's head now changes %q", got)
	}
	raw, err := os.ReadFile(filepath.Join(res.RunDir, "record.json"))
	var kept verdict.Record
	if err != nil || json.Unmarshal(raw, &kept) != nil || kept.Outcome != verdict.Clear {
		t.Errorf("the run folder keeps %s, %v", raw, err)
	}
}

func TestInterruptIsNoVerdict(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	k := newKit(t, scripted(func(ctx context.Context, box sandbox.Sandbox, task validator.Task) (verdict.Report, error) {
		cancel(fmt.Errorf("interrupted by a signal: %w", context.Canceled))
		return allMet(ctx, box, task)
	}))
	res := stage.Run(ctx, k.req)
	if res.Outcome != verdict.Error || res.Recorded != nil || res.Failure.Code != "interrupted" {
		t.Errorf("an interrupted run ended %q, recorded %+v", res.Outcome, res.Recorded)
	}
}

// The ticket may plant a link where the program keeps its files.
func TestPlantedLinkIsNotFollowed(t *testing.T) {
	k := newKit(t, scripted(allMet))
	elsewhere := t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(k.dir, ".trkr/runs")); err != nil {
		t.Fatal(err)
	}
	k.git("add", "-A")
	k.git("commit", "-qm", "plant")
	res := k.run(verdict.Error)
	if res.Failure.Code != "unsafe_folder" {
		t.Errorf("failure %+v", res.Failure)
	}
	if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) > 0 {
		t.Errorf("something was written through the link: %v, %v", entries, err)
	}
}

// So may the build, later.
func TestLinkPlantedByTheBuildIsNotFollowed(t *testing.T) {
	for _, dir := range []string{".trkr/validate", ".trkr/runs", ".trkr"} {
		k := newKit(t, scripted(allMet))
		elsewhere, before := t.TempDir(), k.git("rev-parse", "trkr/7")
		k.req.Config.Validate.Build += " && mv " + dir + " " + dir + ".away && ln -s " + elsewhere + " " + dir
		if res := k.run(verdict.Error); res.ExitCode() != 6 || res.Recorded != nil || k.git("rev-parse", "trkr/7") != before {
			t.Errorf("%s: exit code %d, recorded %+v", dir, res.ExitCode(), res.Recorded)
		}
		if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) > 0 {
			t.Errorf("%s: something was written through the link: %v, %v", dir, entries, err)
		}
	}
}

func TestCommittedLinkAtValidationIsReplaced(t *testing.T) {
	k := newKit(t, scripted(allMet))
	if err := os.Symlink("/etc/passwd", filepath.Join(k.dir, ".trkr/tickets/7/validation.md")); err != nil {
		t.Fatal(err)
	}
	k.git("add", "-A")
	k.git("commit", "-qm", "plant")
	res := k.run(verdict.Clear)
	if mode := strings.Fields(k.git("ls-tree", "trkr/7", ".trkr/tickets/7/validation.md"))[0]; mode != "100644" || res.Recorded == nil {
		t.Errorf("validation.md has mode %s", mode)
	}
}

func TestValuesPassedByNameAreRedacted(t *testing.T) {
	k := newKit(t, scripted(func(ctx context.Context, box sandbox.Sandbox, task validator.Task) (verdict.Report, error) {
		report, _ := allMet(ctx, box, task)
		report.Criteria[0].Evidence = "the log says hunter2-hunter2"
		return report, nil
	}))
	k.req.Config.Validate.Env = []string{"TOKEN"}
	k.req.Environ = append(k.req.Environ, "TOKEN=hunter2-hunter2")
	k.req.Config.Validate.Build = `echo "token is $TOKEN" && ` + k.req.Config.Validate.Build
	res := k.run(verdict.Clear)
	err := filepath.WalkDir(res.RunDir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if strings.Contains(string(raw), "hunter2") {
			t.Errorf("%s holds the secret", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(k.git("show", "trkr/7:.trkr/tickets/7/validation.md"), "hunter2") {
		t.Error("validation.md holds the secret")
	}
	k.req.Config.Validate.Build = `echo "token is $TOKEN"; exit 1`
	if res := k.run(verdict.Refused); strings.Contains(fmt.Sprint(res.Refusals, res.Record), "hunter2") {
		t.Errorf("the refusal holds the secret: %+v", res.Refusals)
	}
	log, err := os.ReadFile(filepath.Join(res.RunDir, "build.log"))
	if err != nil || !strings.Contains(string(log), "token is [REDACTED]") {
		t.Errorf("build.log is %q, %v", log, err)
	}
}
