package probe

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/contract"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/validator"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// mutant is a fault put into a program: texts of its source, each there once, and what stands in their place.
type mutant struct {
	name    string
	changes []string // old, new, old, new ...
	through string   // why the contract lets it through; empty: it blocks
}

// The contracts of three small programs block what somebody could get wrong in them. Each fault that gets through is
// listed with its reason, here and in docs/probe.md.
func TestContractsBlockMutants(t *testing.T) {
	doc, err := os.ReadFile("../../docs/probe.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, mutants := range map[string][]mutant{"keep": keepMutants, "top": topMutants, "bundle": bundleMutants} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			block(t, name, mutants, string(doc))
		})
	}
}

func block(t *testing.T, name string, mutants []mutant, doc string) {
	data, err := os.ReadFile(filepath.Join("testdata", "mutants", name, "contract.md"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := contract.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if failed := failing(t, c, built(t, name, nil)); failed != "" {
		t.Fatalf("%s itself: %s", name, failed)
	}
	blocked := 0
	for _, m := range mutants {
		failed := failing(t, c, built(t, name, m.changes))
		if failed != "" {
			blocked++
		}
		switch {
		case failed == "" && m.through == "":
			t.Errorf("%s gets through", m.name)
		case failed != "" && m.through != "":
			t.Errorf("%s is blocked by now: %s", m.name, failed)
		case m.through != "":
			if line := fmt.Sprintf("- `%s`, %s: %s.\n", name, m.name, m.through); !strings.Contains(doc, line) {
				t.Errorf("docs/probe.md has no line\n%s", line)
			}
		}
	}
	row := fmt.Sprintf("| `%s` | %d | %d | %d |\n", name, len(c.Assertions), len(mutants), blocked)
	if !strings.Contains(doc, row) {
		t.Errorf("docs/probe.md has no row\n%s", row)
	}
	t.Logf("%d of %d mutants are blocked", blocked, len(mutants))
}

// built makes the program with changes and returns its file.
func built(t *testing.T, name string, changes []string) string {
	t.Helper()
	script := filepath.Join("testdata", "mutants", name, name)
	source := filepath.Join("testdata", "mutants", name, "main.go")
	data, err := os.ReadFile(script)
	inGo := err != nil
	if inGo {
		if data, err = os.ReadFile(source); err != nil {
			t.Fatal(err)
		}
	}
	text := string(data)
	for i := 0; i < len(changes); i += 2 {
		if strings.Count(text, changes[i]) != 1 {
			t.Fatalf("%s holds %d times %q", name, strings.Count(text, changes[i]), changes[i])
		}
		text = strings.Replace(text, changes[i], changes[i+1], 1)
	}
	program := filepath.Join(t.TempDir(), name)
	if !inGo {
		if err := os.WriteFile(program, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return program
	}
	if err := os.WriteFile(program+".go", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, program+".go").CombinedOutput(); err != nil {
		t.Fatalf("%q: %v\n%s", changes, err, out)
	}
	return program
}

// failing returns what blocks a program, the first of it, or nothing where every assertion is met.
func failing(t *testing.T, c contract.Contract, program string) string {
	t.Helper()
	for _, a := range c.Assertions {
		report, err := New(Options{}).Validate(t.Context(), host(t, program), validator.Task{
			Contract: c, Assertions: []contract.Assertion{a}, Path: []string{sandbox.Artifact}, Programs: []string{filepath.Base(program)},
			Timeout: time.Minute, Output: 1 << 20, Transcript: io.Discard,
		})
		if err != nil {
			t.Fatal(err)
		}
		switch got := report.Criteria[0]; got.Status {
		case verdict.Met:
		case verdict.Unmet:
			return got.ID + " " + got.Evidence
		case verdict.Blocked: // by a command before it, which the mutant breaks
		default:
			t.Errorf("%s is %s: %s", got.ID, got.Status, got.Evidence)
		}
	}
	return ""
}
