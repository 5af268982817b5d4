package stage_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/trkr-dev/trkr-validate/config"
	"github.com/trkr-dev/trkr-validate/internal/event"
	"github.com/trkr-dev/trkr-validate/internal/proc"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/sandboxtest"
	"github.com/trkr-dev/trkr-validate/stage"
	"github.com/trkr-dev/trkr-validate/validator"
	"github.com/trkr-dev/trkr-validate/verdict"
)

func TestMain(m *testing.M) {
	proc.Dispatch()
	os.Exit(m.Run())
}

// scripted is an agent that does what a test says.
type scripted func(ctx context.Context, box sandbox.Sandbox, task validator.Task) (verdict.Report, error)

func (scripted) Name() string           { return "scripted" }
func (scripted) Version() string        { return "1" }
func (scripted) Trust() validator.Trust { return validator.Outside }
func (s scripted) Validate(ctx context.Context, box sandbox.Sandbox, task validator.Task) (verdict.Report, error) {
	return s(ctx, box, task)
}

// allMet reports that everything it was asked is met.
func allMet(_ context.Context, _ sandbox.Sandbox, task validator.Task) (verdict.Report, error) {
	report := verdict.Report{Verdicts: []string{"CLEAR"}}
	for _, a := range task.Assertions {
		report.Criteria = append(report.Criteria, verdict.Reported{ID: a.ID, Status: verdict.Met, Evidence: "seen"})
		task.Reported(report.Criteria[len(report.Criteria)-1])
	}
	return report, nil
}

type events []event.Event

func (e *events) Emit(one event.Event) { *e = append(*e, one) }

type kit struct {
	t   *testing.T
	dir string
	req stage.Request
	*events
}

const contract = "VAL-1: `tool` prints exactly `hello`\nVAL-2: `tool` succeeds\n"

// newKit makes a repository whose ticket 7 builds a shell script, checked out, and a request that validates it.
func newKit(t *testing.T, agents ...validator.Agent) *kit {
	t.Helper()
	k := &kit{t: t, dir: t.TempDir(), events: &events{}}
	k.git("init", "-q", "-b", "main")
	k.git("config", "user.name", "Somebody")
	k.git("config", "user.email", "somebody@localhost")
	k.commit(map[string]string{".gitignore": "/dist/\n"})
	k.git("checkout", "-q", "-b", "trkr/7")
	k.commit(map[string]string{".trkr/tickets/7/contract.md": contract})
	k.commit(map[string]string{"tool": "#!/bin/sh\necho hello\n"})
	k.req = stage.Request{
		Issue: "7", Dir: k.dir, Environ: os.Environ(), Engine: &sandboxtest.Fake{}, Agents: agents, Log: zerolog.Nop(), ToolVersion: "test",
		Sinks: []event.Sink{k.events},
		Config: config.Config{
			Ticket: config.Ticket{Branch: "trkr/{issue}", Dir: ".trkr/tickets/{issue}"},
			Validate: config.Validate{
				Build: "mkdir -p dist && cp tool dist/tool && chmod +x dist/tool", BuildTimeout: time.Minute, Artifacts: []string{"dist/*"},
				Image: "host", Timeout: time.Minute, Commit: true,
				Limits: config.Limits{Memory: 1 << 30, CPUs: 1, Pids: 64, Output: 1 << 20, Tmp: 64 << 20, Artifacts: 1 << 30, Files: 1000},
			},
		},
	}
	return k
}

func (k *kit) git(args ...string) string {
	k.t.Helper()
	out, err := exec.Command("git", append([]string{"-C", k.dir}, args...)...).CombinedOutput()
	if err != nil {
		k.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (k *kit) write(files map[string]string) {
	k.t.Helper()
	for name, content := range files {
		path := filepath.Join(k.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			k.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			k.t.Fatal(err)
		}
	}
}

func (k *kit) commit(files map[string]string) {
	k.t.Helper()
	k.write(files)
	k.git("add", "-A")
	k.git("commit", "-qm", "change")
}

func (k *kit) run(want verdict.Outcome) stage.Result {
	k.t.Helper()
	res := stage.Run(k.t.Context(), k.req)
	if res.Outcome != want {
		k.t.Fatalf("outcome %q, want %q: refusals %+v, failure %+v, record %+v", res.Outcome, want, res.Refusals, res.Failure, res.Record)
	}
	return res
}

func reasons(res stage.Result) []verdict.Reason {
	var out []verdict.Reason
	for _, r := range res.Refusals {
		out = append(out, r.Reason)
	}
	return out
}
