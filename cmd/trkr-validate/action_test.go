package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.yaml.in/yaml/v3"
)

// step is one of an action or a job.
type ciStep struct {
	ID, If, Shell, Run, Uses string
	Env                      map[string]string
}

type ciAction struct {
	Inputs  map[string]struct{ Default string }
	Outputs map[string]struct{ Value string }
	Runs    struct{ Steps []ciStep }
}

// runner plays a runner of GitHub Actions: it fills expressions in, runs each step in a bash of its own and reads what
// that says of itself.
type runner struct {
	dir      string
	environ  []string
	contexts map[string]string // "inputs.issue", "steps.gate.outcome"
	log      bytes.Buffer
}

var expression = regexp.MustCompile(`\$\{\{ *([^ }]+) *\}\}`)

// fill puts values in. A context that is not known is a slip of whoever wrote the action.
func (r *runner) fill(text string) (string, error) {
	var err error
	text = expression.ReplaceAllStringFunc(text, func(e string) string {
		name := expression.FindStringSubmatch(e)[1]
		value, ok := r.contexts[name]
		if !ok && !strings.Contains(name, ".outputs.") { // an output that was not set is empty
			err = errors.Join(err, fmt.Errorf("nothing is called %q", name))
		}
		return value
	})
	return text, err
}

// all runs the steps and tells whether the job succeeds. A step named as cancelled does not run, and only those run
// after it that always do.
func (r *runner) all(steps []ciStep, cancelled string) (ok bool, err error) {
	ok = true
	for _, s := range steps {
		outcome := "skipped"
		switch {
		case s.ID == cancelled && cancelled != "":
			outcome, ok = "cancelled", false
		case ok || s.If == "always()":
			outcome = "success"
			if good, err := r.step(s); err != nil {
				return false, err
			} else if !good {
				outcome, ok = "failure", false
			}
		}
		r.contexts["steps."+s.ID+".outcome"] = outcome
	}
	return ok, nil
}

func (r *runner) step(s ciStep) (ok bool, err error) {
	if strings.Contains(s.Run, "${{") {
		return false, fmt.Errorf("%s: an expression stands in the script, where its value is code", s.ID)
	}
	at, err := os.MkdirTemp(r.dir, "step")
	if err != nil {
		return false, err
	}
	script, output := filepath.Join(at, "script.sh"), filepath.Join(at, "output")
	if err := errors.Join(os.WriteFile(script, []byte(s.Run), 0o600), os.WriteFile(output, nil, 0o600)); err != nil {
		return false, err
	}
	cmd := exec.Command("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", script)
	cmd.Env = append(slices.Clone(r.environ), "GITHUB_OUTPUT="+output, "GITHUB_STEP_SUMMARY="+filepath.Join(r.dir, "summary.md"))
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		value, err := r.fill(s.Env[name])
		if err != nil {
			return false, err
		}
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.contexts["github.workspace"], &r.log, &r.log
	err = cmd.Run()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		return false, err
	}
	said, rerr := os.ReadFile(output)
	for line := range strings.Lines(string(said)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		r.contexts["steps."+s.ID+".outputs."+name] = value
	}
	return err == nil, rerr
}

func readYAML(name string, into any) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return yaml.Unmarshal(text, into)
}

// action runs action.yml of this repository in the current folder: action [INPUT=value|cancel=STEP|event=NAME]...
// Negated, it has to fail. What it printed and what it put out stand on stdout.
func action(ts *testscript.TestScript, neg bool, args []string) {
	var a ciAction
	ts.Check(readYAML(filepath.Join(sourceRoot, "action.yml"), &a))
	dir, err := os.MkdirTemp(ts.Getenv("WORK"), ".action")
	ts.Check(err)
	r := &runner{dir: dir, environ: append(os.Environ(), "RUNNER_TEMP="+dir, "GITHUB_ACTIONS=true"), contexts: map[string]string{
		"github.workspace": ts.MkAbs("."), "github.action_path": sourceRoot, "github.event_name": "pull_request",
	}}
	for _, name := range []string{"PATH", "HOME", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_GLOBAL", "GITHUB_EVENT_PATH", "GITHUB_HEAD_REF", "GITHUB_API_URL", "GITHUB_REPOSITORY", "GITHUB_TOKEN"} {
		r.environ = append(r.environ, name+"="+ts.Getenv(name))
	}
	for name, in := range a.Inputs {
		r.contexts["inputs."+name] = in.Default
	}
	cancelled := ""
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		switch _, known := a.Inputs[name]; {
		case name == "cancel":
			cancelled = value
		case name == "event":
			r.contexts["github.event_name"] = value
		case known:
			r.contexts["inputs."+name] = strings.ReplaceAll(value, `\n`, "\n")
		default:
			ts.Fatalf("the action has no input %q", name)
		}
	}
	ok, err := r.all(a.Runs.Steps, cancelled)
	ts.Check(err)
	for _, name := range slices.Sorted(maps.Keys(a.Outputs)) {
		value, err := r.fill(a.Outputs[name].Value)
		ts.Check(err)
		fmt.Fprintf(&r.log, "output %s=%s\n", name, value)
	}
	ts.Check(ts.Exec("printf", "%s", r.log.String()))
	if ok == neg {
		ts.Fatalf("the action succeeds: %v", ok)
	}
}

// sourceRoot is the top of this repository.
var sourceRoot = func() string {
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		panic(err)
	}
	return dir
}()

// The job that branch protection demands passes in one case only: a dependency that was skipped or cancelled, or said
// nothing, fails it.
func TestTheGateJobFailsClosed(t *testing.T) {
	var workflow struct {
		Jobs map[string]struct {
			If    string
			Needs string
			Steps []ciStep
		}
	}
	if err := readYAML(filepath.Join(sourceRoot, "examples", "ci", "github-validate.yml"), &workflow); err != nil {
		t.Fatal(err)
	}
	job := workflow.Jobs["gate"]
	if job.If != "always()" || job.Needs != "validate" {
		t.Fatalf("the job runs if %q and needs %q", job.If, job.Needs)
	}
	for _, result := range []string{"success", "failure", "cancelled", "skipped", ""} {
		for _, outcome := range []string{"clear", "blocking", "incomplete", "refused", "error", "", "clear\nx", "Clear"} {
			r := &runner{dir: t.TempDir(), environ: os.Environ(), contexts: map[string]string{
				"needs.validate.result": result, "needs.validate.outputs.outcome": outcome, "github.workspace": t.TempDir(),
			}}
			ok, err := r.all(job.Steps, "")
			if err != nil {
				t.Fatal(err)
			}
			if want := result == "success" && outcome == "clear"; ok != want {
				t.Errorf("result %q, outcome %q: passes: %v", result, outcome, ok)
			}
		}
	}
}

// The workflows that people copy are what actionlint takes for right.
func TestWorkflowsAreRight(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(sourceRoot, "examples", "ci", "*.yml"))
	if err != nil || len(files) < 4 {
		t.Fatalf("%v: %d files", err, len(files))
	}
	args := []string{"tool", "-modfile=" + filepath.Join(sourceRoot, "tools", "go.mod"), "actionlint", "-no-color", "-ignore", `label "docker" is unknown`}
	for _, f := range files {
		if filepath.Base(f) != "gitlab-ci.yml" {
			args = append(args, f)
		}
	}
	cmd := exec.Command(cmp.Or(os.Getenv("GO"), "go"), args...)
	cmd.Dir = sourceRoot
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	var of map[string]any
	if err := readYAML(filepath.Join(sourceRoot, "examples", "ci", "gitlab-ci.yml"), &of); err != nil || of["validate"] == nil {
		t.Errorf("%v: %v", err, of)
	}
}
