package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/internal/testengine"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// programs are real ones of different make. testdata/programs holds for each a contract that is right, and a wrong twin,
// each line of which is a near miss of the line with the same id.
var programs = []struct {
	name, needs string
	bring       func(dir string) error // puts the artifact into an empty directory
}{
	{"shfmt", "the module proxy", func(dir string) error {
		return sh("GOBIN="+dir, "go", "install", "mvdan.cc/sh/v3/cmd/shfmt@v3.10.0")
	}},
	{"semver", "npm and its registry", func(dir string) error {
		return sh("npm_config_update_notifier=false", "npm", "pack", "--silent", "--pack-destination", dir, "semver@7.6.3")
	}},
	{"jq", "Debian's jq (apt-get install jq)", func(dir string) error { return sh("", "cp", "/usr/bin/jq", dir) }},
	{"zgrep", "Debian's gzip", func(dir string) error { return sh("", "cp", "/usr/bin/zgrep", dir) }},
	{"columns", "nothing", func(dir string) error { return sh("", "cp", "testdata/programs/columns/columns", dir) }},
	{"files", "nothing", func(dir string) error {
		return sh("", "go", "build", "-o", filepath.Join(dir, "files"), "testdata/programs/files/main.go")
	}},
}

// sh runs a command of this machine with one more variable.
func sh(env string, args ...string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if env != "" {
		cmd.Env = append(cmd.Env, env)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// probed is what `probe --json` prints.
type probed struct {
	Outcome  verdict.Outcome
	ExitCode int
	Criteria []verdict.Criterion
	Findings []verdict.Finding
}

// probeFolder runs `trkr-validate probe` and checks that exit code and document agree.
func probeFolder(t testing.TB, engine, contract, dir string, flags ...string) probed {
	t.Helper()
	cmd := exec.Command(program, append([]string{"probe", "--json", "--engine", engine, contract, dir}, flags...)...)
	out, err := cmd.Output()
	var p probed
	if jsonErr := json.Unmarshal(out, &p); jsonErr != nil {
		t.Fatalf("%v, %v\n%s", err, jsonErr, out)
	}
	if code := cmd.ProcessState.ExitCode(); code != p.ExitCode || code != p.Outcome.ExitCode() {
		t.Errorf("exit code %d, the document says %d and %s", code, p.ExitCode, p.Outcome)
	}
	return p
}

// What is right of a real program is met and what is nearly right is not, line by line.
func TestRealProgramsAndTheirWrongTwins(t *testing.T) {
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			dir := t.TempDir()
			brought := p.bring(dir)
			onEngines(t, func(t *testing.T, engine string) {
				testengine.RequireSubject(t, engine, p.needs, brought)
				for file, want := range map[string]verdict.Status{"contract.md": verdict.Met, "wrong.md": verdict.Unmet} {
					got := probeFolder(t, engine, filepath.Join("testdata", "programs", p.name, file), dir)
					if len(got.Criteria) < 12 || len(got.Findings) > 0 {
						t.Errorf("%s: %d criteria, findings %+v", file, len(got.Criteria), got.Findings)
					}
					for _, c := range got.Criteria {
						if c.Status != want {
							t.Errorf("%s %s is %s, want %s: %s\n%s", file, c.ID, c.Status, want, c.Text, c.Evidence)
						}
					}
				}
			})
		})
	}
}
