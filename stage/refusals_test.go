package stage_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/event"
	"github.com/trkr-dev/trkr-validate/stage"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// allReasons reads the reasons from the package that has them: no list here can lag behind.
func allReasons(t *testing.T) (all []verdict.Reason) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../verdict/verdict.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if of, ok := spec.Type.(*ast.Ident); ok && of.Name == "Reason" {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, verdict.Reason(text))
		}
		return true
	})
	return all
}

// Each reason for which a run is refused is one that a run can give, says what was found, and says the next step in
// words that can be typed.
func TestEveryRefusalSaysTheNextStep(t *testing.T) {
	type refusal struct {
		reason       verdict.Reason
		arrange      func(k *kit)
		detail, hint string
	}
	cases := []refusal{
		{verdict.TicketNotFound, func(k *kit) { k.req.Issue = "9" }, `trkr/9`, "--branch"},
		{verdict.BranchAmbiguous, func(k *kit) {
			k.git("branch", "trkr/8-one")
			k.git("branch", "trkr/8-two")
			k.req.Issue = "8"
		}, "trkr/8-two", "--branch"},
		{verdict.DetachedHead, func(k *kit) { k.git("checkout", "-q", "--detach"); k.req.Worktree = k.dir }, "HEAD", "--ref"},
		{verdict.DefaultBranch, func(k *kit) { k.git("checkout", "-q", "main"); k.req.Branch = "main" }, "main", "branch"},
		{verdict.NoContract, func(k *kit) {
			k.git("rm", "-q", ".trkr/tickets/7/contract.md")
			k.git("commit", "-qm", "no contract")
		}, ".trkr/tickets/7/contract.md", "VAL-1: "},
		{verdict.ContractInvalid, func(k *kit) { k.commit(map[string]string{".trkr/tickets/7/contract.md": "VAL-x: no\n"}) }, "contract.md", "VAL-1: "},
		{verdict.ContractChanged, func(k *kit) {
			k.req.IssueBody = []byte("## Validation contract\n- VAL-1: `tool` prints exactly `goodbye`\n")
		}, "goodbye", "agreed"},
		{verdict.DirtyWorktree, func(k *kit) { k.write(map[string]string{"tool": "changed"}) }, `"tool"`, "commit"},
		{verdict.BuildMissing, func(k *kit) { k.req.Config.Validate.Build = "" }, "validate.build", `"build": `},
		{verdict.BuildFailed, func(k *kit) { k.req.Config.Validate.Build = "echo it broke >&2; exit 7" }, "exit code 7", "echo it broke >&2; exit 7"},
		{verdict.BuildFailed, func(k *kit) { k.req.Config.Validate.Build = "kill -SEGV $$" }, "segmentation fault", "build.log"},
		{verdict.BuildFailed, func(k *kit) { k.req.Config.Validate.Build = "kill -9 $PPID; sleep 100" }, "supervis", "by itself"},
		{verdict.BuildTimeout, func(k *kit) {
			k.req.Config.Validate.Build, k.req.Config.Validate.BuildTimeout = "(setsid sleep 100 &); echo begun; sleep 100", 300*time.Millisecond
		}, "begun", `"build_timeout"`},
		{verdict.ArtifactMissing, func(k *kit) { k.req.Config.Validate.Artifacts = []string{"out/*"} }, `"out/*"`, `"artifacts"`},
		{verdict.ArtifactMissing, func(k *kit) { k.req.Config.Validate.Artifacts = nil }, "validate.artifacts", `"artifacts": [`},
		{verdict.ArtifactMissing, func(k *kit) {
			k.write(map[string]string{"dist/tool": "of an earlier build"})
			k.req.Config.Validate.Build = "true"
		}, `"dist/tool"`, "cache"},
		{verdict.ArtifactUnsafe, func(k *kit) { k.req.Config.Validate.Build += " && ln -s /etc dist/etc" }, `"dist/etc" (to "/etc")`, "relative"},
		{verdict.ArtifactUnsafe, func(k *kit) { k.req.Config.Validate.Build += ` && ln -s "$PWD/dist/tool" dist/again` }, `"dist/again"`, "relative"},
		{verdict.ArtifactUnsafe, func(k *kit) { k.req.Config.Validate.Build += " && mkfifo dist/fifo" }, `"dist/fifo" (FIFO)`, "leave them out"},
		{verdict.ArtifactUnsafe, func(k *kit) {
			k.req.Config.Validate.Build += ` && printf 'MZ%58s\100\0\0\0PE\0\0\144\206%14s\360\0\042\0%68s\003\0%100s' | tr ' ' '\0' >dist/tool.exe`
		}, `"dist/tool.exe" (windows/amd64)`, "build for it"},
		{verdict.ArtifactIsSource, func(k *kit) { k.req.Config.Validate.Artifacts = []string{"tool"} }, `"tool"`, `"allow_tracked": ["tool"]`},
		{verdict.ArtifactTooLarge, func(k *kit) { k.req.Config.Validate.Limits.Artifacts = 3 }, `"dist/tool"`, `"limits"`},
		{verdict.ArtifactTooLarge, func(k *kit) {
			k.req.Config.Validate.Limits.Files = 1
			k.req.Config.Validate.Build += " && cp tool dist/more"
		}, "more than 1", `"artifacts"`},
	}
	for _, c := range cases {
		t.Run(string(c.reason)+" "+c.detail, func(t *testing.T) {
			k := newKit(t, scripted(allMet))
			c.arrange(k)
			before := k.git("for-each-ref")
			res := stage.Run(t.Context(), k.req)
			if res.Outcome != verdict.Refused || res.ExitCode() != 4 || len(res.Refusals) != 1 || res.Refusals[0].Reason != c.reason {
				t.Fatalf("outcome %s, refusals %+v, failure %+v", res.Outcome, res.Refusals, res.Failure)
			}
			r := res.Refusals[0]
			if !strings.Contains(r.Detail, c.detail) || !strings.Contains(strings.Join(r.Hints, "\n"), c.hint) {
				t.Errorf("detail %q\nhints %q", r.Detail, r.Hints)
			}
			started := func(e event.Event) bool { return e.Type == event.StepStarted && e.Step == "start" }
			if slices.ContainsFunc(*k.events, started) || k.git("for-each-ref") != before {
				t.Error("something was started or committed")
			}
			if _, err := os.Lstat(filepath.Join(k.dir, ".trkr/validate/7")); err == nil {
				t.Error("there is a folder for a box")
			}
		})
	}
	for _, reason := range allReasons(t) {
		if strings.HasPrefix(string(reason), "record_") {
			continue // the gate's, which tests them; no run has them
		}
		if !slices.ContainsFunc(cases, func(c refusal) bool { return c.reason == reason }) {
			t.Errorf("no case for %s", reason)
		}
	}
}
