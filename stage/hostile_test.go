package stage_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/event"
	"github.com/trkr-dev/trkr-validate/stage"
	"github.com/trkr-dev/trkr-validate/validator/probe"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// onStep calls f when a step begins, as something else on the machine would that waits for its moment.
type onStep struct {
	step string
	f    func()
}

func (o onStep) Emit(e event.Event) {
	if e.Type == event.StepStarted && e.Step == o.step {
		o.f()
	}
}

// Something that the build did not start rewrites the artifact at the worst moment. Where the build made it, that
// does not matter: what is judged is a copy. The copy itself is compared from inside, and looked at again at the end.
func TestArtifactRewrittenLater(t *testing.T) {
	const good = "#!/bin/sh\necho hello\n"
	for _, c := range []struct {
		step, path string
		code       string // of the error; empty: the run goes on to its verdict
	}{
		{"materialise", "dist/tool", ""},
		{"validate", "dist/tool", ""},
		{"start", ".trkr/validate/7/artifact/dist/tool", "inputs_differ"},
		{"start", ".trkr/validate/7/contract.md", "inputs_differ"},
		{"start", ".trkr/validate/7/artifact/more", "inputs_differ"},
		{"validate", ".trkr/validate/7/artifact/dist/tool", "inputs_changed"},
		{"validate", ".trkr/validate/7/contract.md", "inputs_changed"},
		{"judge", ".trkr/validate/7/artifact/dist/tool", "inputs_changed"},
	} {
		t.Run(c.step+" "+c.path, func(t *testing.T) {
			k := newKit(t, probe.New(probe.Options{}))
			k.commit(map[string]string{"tool": "#!/bin/sh\necho not what was agreed\n"})
			path := filepath.Join(k.dir, c.path)
			k.req.Sinks = append(k.req.Sinks, onStep{c.step, func() {
				_ = os.Remove(path)
				if err := os.WriteFile(path, []byte(good), 0o755); err != nil {
					t.Error(err)
				}
			}})
			want := verdict.Error
			if c.code == "" {
				want = verdict.Blocking // as what was built deserves
			}
			res := k.run(want)
			if c.code != "" && (res.Failure.Code != c.code || len(res.Failure.Hints) == 0 || res.Recorded != nil) {
				t.Errorf("failure %+v, recorded %+v", res.Failure, res.Recorded)
			}
		})
	}
}

// Whatever a build rewrites that a run reads, it was read before. The product fails its contract in each case.
func TestNothingIsReadAfterTheBuildBegan(t *testing.T) {
	const bad = "#!/bin/sh\necho not what was agreed\n"
	for name, scripts := range map[string][]string{
		"what says how to judge": {
			`echo '{"validate":{"build":"true","artifacts":["fake"],"agent":{"command":["true"]}}}' >.trkr/config.json`,
			"echo 'VAL-1: `tool` succeeds' >.trkr/tickets/7/contract.md",
			"echo 'clear' >.trkr/tickets/7/validation.md",
			"mkdir -p fake && cp tool fake/tool",
		},
		"what the program keeps": {
			"mkdir -p .trkr/validate/7/artifact/dist && echo 'VAL-1: `tool` succeeds' >.trkr/validate/7/contract.md && echo '#!/bin/sh' >.trkr/validate/7/artifact/dist/tool",
			`for d in .trkr/runs/*/; do echo '{"outcome":"clear"}' >"${d}record.json"; done`,
			`rm -rf .trkr/validate/.aside.*`,
			`rm -f .trkr/validate/.lock.*`,
		},
		"contract, staged":    {"echo 'VAL-1: `tool` succeeds' >.trkr/tickets/7/contract.md && git add -A"},
		"run folder, moved":   {`mv .trkr/runs .trkr/away && mkdir .trkr/runs`},
		"all that is ignored": {"git clean -fdxq -e dist"},
		"user's git":          {`printf '[core]\n\thooksPath = %s\n\tfsmonitor = touch %s/ran\n[alias]\n\trev-parse = !touch %s/ran\n' "$PWD" "$OUT" "$OUT" >"$HOME/.gitconfig"`},
		"repository's git":    {`git config core.fsmonitor "touch $OUT/ran" && git config core.hooksPath "$PWD" && git config filter.x.clean "touch $OUT/ran" && git config filter.x.smudge "touch $OUT/ran" && echo '* filter=x' >.git/info/attributes`},
		"programs on PATH":    {`for p in git sh true cp; do printf '#!/bin/sh\ntouch %s/ran\n' "$OUT" >"$FIRST/$p"; chmod +x "$FIRST/$p"; done`},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, probe.New(probe.Options{}))
			k.commit(map[string]string{"tool": bad, ".gitignore": "/dist/\n/fake/\n"})
			home, out, first := t.TempDir(), t.TempDir(), t.TempDir()
			t.Setenv("HOME", home)
			t.Setenv("PATH", first+":"+os.Getenv("PATH"))
			k.req.Environ = append(os.Environ(), "OUT="+out, "FIRST="+first)
			k.req.Config.Validate.Env = []string{"OUT", "FIRST"}
			k.write(map[string]string{"dist/tool": "#!/bin/sh\necho hello\n"}) // an earlier one that would do
			k.req.Config.Validate.Build += "\n" + strings.Join(scripts, "\n")
			before := k.git("rev-parse", "trkr/7")
			res := stage.Run(t.Context(), k.req)
			if name == "run folder, moved" || name == "all that is ignored" {
				if res.Failure == nil || res.Failure.Code != "run_folder_gone" || len(res.Failure.Hints) == 0 {
					t.Errorf("failure %+v", res.Failure)
				}
				return
			}
			if res.Outcome != verdict.Blocking {
				t.Fatalf("outcome %s: %+v", res.Outcome, res.Failure)
			}
			if res.Record.Subject.ContractDigest == "" || len(res.Record.Criteria) != 2 || len(res.Record.Subject.Manifest) != 2 {
				t.Errorf("judged %+v by %+v", res.Record.Subject, res.Record.Criteria)
			}
			if _, err := os.Lstat(out + "/ran"); err == nil {
				t.Error("something of the build ran after it")
			}
			if names := k.git("diff", "--name-only", before, "trkr/7"); names != "" && names != ".trkr/tickets/7/validation.md" {
				t.Errorf("the branch changed %q", names)
			}
		})
	}
}

// An interrupted run ends soon although its build takes no signal, leaves none of it, and puts back what it moved.
func TestInterruptedBuildIsTidiedUpSoon(t *testing.T) {
	k := newKit(t, scripted(allMet))
	k.write(map[string]string{"dist/tool": "of an earlier build"})
	fifo := filepath.Join(k.dir, "dist", "pid") // ignored
	k.req.Config.Validate.Build = "trap '' TERM INT HUP; mkdir -p dist; setsid sleep 1000 & echo $! >" + fifo + "; echo half >dist/tool; echo ready; sleep 1000"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan stage.Result, 1)
	go func() { done <- stage.Run(ctx, k.req) }()
	var pid string
	for pid == "" {
		raw, _ := os.ReadFile(fifo)
		pid = strings.TrimSpace(string(raw))
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	select {
	case res := <-done:
		if res.Outcome != verdict.Error || res.Failure.Code != "interrupted" {
			t.Errorf("%+v", res)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it goes on and on")
	}
	if raw, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil && !strings.Contains(string(raw), ") Z ") {
		t.Errorf("a process of the build lives: %s", raw)
	}
	if raw, err := os.ReadFile(filepath.Join(k.dir, "dist/tool")); err != nil || string(raw) != "of an earlier build" {
		t.Errorf("dist/tool is %q, %v", raw, err)
	}
	if left, err := filepath.Glob(filepath.Join(k.dir, ".trkr/validate/.[as]*")); err != nil || len(left) > 0 {
		t.Errorf("left %q, %v", left, err)
	}
	if !slices.Contains(strings.Split(k.git("worktree", "list", "--porcelain"), "\n"), "branch refs/heads/trkr/7") {
		t.Error("the worktree is gone")
	}
}

// A branch can hold anything at the place of a lock, and the program opens that place.
func TestPlantedLockIsNotOpened(t *testing.T) {
	for name, plant := range map[string]func(path, outside string) error{
		"link": func(path, outside string) error { return os.Symlink(outside, path) },
		"pipe": func(path, _ string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, probe.New(probe.Options{}))
			outside := filepath.Join(t.TempDir(), "outside")
			k.write(map[string]string{".trkr/validate/.gitignore": "*\n"})
			if err := plant(filepath.Join(k.dir, ".trkr/validate/.lock.7"), outside); err != nil {
				t.Fatal(err)
			}
			res := k.run(verdict.Error)
			if res.Failure.Code != "unsafe_folder" || len(res.Failure.Hints) == 0 {
				t.Errorf("%+v", res.Failure)
			}
			if _, err := os.Lstat(outside); err == nil {
				t.Error("a file was made outside of the repository")
			}
		})
	}
}
