// Package e2e runs the built program on real repositories, real programs and real engines.
package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/internal/testengine"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// program is the built trkr-validate, readable by every user.
var program string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "trkr-e2e-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "trkr-validate")
	build := exec.Command("go", "build", "-o", program, "../cmd/trkr-validate")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the program: %v\n%s", err, out)
		return 1
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// onEngines runs f for every engine. One that cannot run here is passed over with the reason, unless
// TRKR_REQUIRE_ENGINES names it.
func onEngines(t *testing.T, f func(t *testing.T, engine string)) {
	for _, engine := range []string{"gvisor", "docker"} {
		t.Run(engine, func(t *testing.T) {
			needs(t, engine)
			f(t, engine)
		})
	}
}

// needs passes over a test whose engine cannot run here.
func needs(t testing.TB, engine string) {
	t.Helper()
	out, err := exec.Command(program, "doctor", "--engine", engine).CombinedOutput()
	testengine.Require(t, engine, err, string(out))
}

// repo is a repository with one ticket.
type repo struct {
	t   testing.TB
	dir string
	env []string
}

// newRepo makes a repository whose main branch holds files (by path), among them .trkr/config.json.
func newRepo(t testing.TB, files map[string]string) *repo {
	t.Helper()
	r := &repo{t: t, dir: filepath.Join(t.TempDir(), "a repo"), env: os.Environ()}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.git("init", "-q", "-b", "main")
	r.git("config", "user.name", "Somebody")
	r.git("config", "user.email", "somebody@localhost")
	r.commit("start", files)
	return r
}

func (r *repo) write(files map[string]string) {
	r.t.Helper()
	for name, content := range files {
		path := filepath.Join(r.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(content, "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *repo) commit(message string, files map[string]string) {
	r.t.Helper()
	r.write(files)
	r.git("add", "-A")
	r.git("commit", "-qm", message)
}

// ticket makes the branch trkr/<issue> with its contract and then files, and goes back to main.
func (r *repo) ticket(issue, contract string, files map[string]string) {
	r.t.Helper()
	r.git("checkout", "-q", "-b", "trkr/"+issue, "main")
	r.commit("contract of "+issue, map[string]string{".trkr/tickets/" + issue + "/contract.md": contract})
	if len(files) > 0 {
		r.commit("code of "+issue, files)
	}
	r.git("checkout", "-q", "main")
}

func (r *repo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", r.dir}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// document is what --json prints.
type document struct {
	SchemaVersion int
	ExitCode      int
	Error         *struct {
		Code, Step, Message string
		Hints               []string
	}
	Results []result
}

// result is what it says of one ticket.
type result struct {
	Issue, RunID string
	Outcome      verdict.Outcome
	Record       *verdict.Record
	Refusals     []verdict.Refusal
	Error        *struct {
		Code, Step, Message string
		Hints               []string
	}
	Recorded *struct{ Commit, Path string }
	Stale    bool
}

// validate runs the program with --json in the repository and checks that code and document agree.
func (r *repo) validate(args ...string) (int, document) {
	r.t.Helper()
	code, stdout, stderr := r.call(append([]string{"--json"}, args...)...)
	var doc document
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
		r.t.Fatalf("stdout is not one JSON document: %v\n%s\n%s", err, stdout, stderr)
	}
	if doc.ExitCode != code {
		r.t.Errorf("exit code %d, the document says %d", code, doc.ExitCode)
	}
	return code, doc
}

func (r *repo) call(args ...string) (code int, stdout, stderr string) {
	r.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = r.dir, r.env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// expect fails the test unless the one result of doc has the outcome, and shows what was judged.
func expect(t *testing.T, code int, doc document, outcome verdict.Outcome) *verdict.Record {
	t.Helper()
	if len(doc.Results) != 1 {
		t.Fatalf("%d results: %+v", len(doc.Results), doc)
	}
	res := doc.Results[0]
	if res.Outcome != outcome || code != outcome.ExitCode() {
		t.Errorf("outcome %q with exit code %d, want %q", res.Outcome, code, outcome)
		if res.Record != nil {
			for _, c := range res.Record.Criteria {
				t.Logf("%s %s: %s", c.ID, c.Status, c.Evidence)
			}
			t.Logf("findings %+v\ndiagnostics %+v", res.Record.Findings, res.Record.Diagnostics)
		}
		t.Fatalf("refusals %+v, error %+v", res.Refusals, res.Error)
	}
	return res.Record
}

func statusOf(t *testing.T, rec *verdict.Record, id string) verdict.Criterion {
	t.Helper()
	i := slices.IndexFunc(rec.Criteria, func(c verdict.Criterion) bool { return c.ID == id })
	if i < 0 {
		t.Fatalf("no criterion %s", id)
	}
	return rec.Criteria[i]
}
