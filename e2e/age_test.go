package e2e

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/verdict"
)

const ageVersion = "v1.2.1"

// What a user of age relies on, worded as a ticket would.
const ageContract = "VAL-1: `age --help` succeeds with a usage message\n" +
	"VAL-2: `age` exits 1 with a usage message\n" +
	"VAL-3: `age --no-such-flag` exits 2 with an error message and prints nothing to stdout\n" +
	"VAL-4: `age-keygen -o key.txt` creates the file `key.txt` containing `AGE-SECRET-KEY-1` and prints `Public key: age1` to stderr\n" +
	"VAL-5: after `age-keygen -o key.txt`, `age-keygen -o key.txt` fails with an error message and leaves `key.txt` unchanged\n" +
	"VAL-6: after `age-keygen -o key.txt` and `age-keygen -y -o pub.txt key.txt` and `printf secret | age -R pub.txt -o c.age`, `age -d -i key.txt c.age` succeeds and prints exactly `secret`\n" +
	"VAL-7: after `age-keygen -o key.txt` and `age-keygen -y -o pub.txt key.txt`, `age -R pub.txt -o c.age` with input `secret` creates `c.age` containing `age-encryption.org/v1`\n" +
	"VAL-8: after `age-keygen -o a.txt` and `age-keygen -o b.txt` and `age-keygen -y -o a.pub a.txt` and `printf secret | age -R a.pub -o c.age`, `age -d -i b.txt c.age` exits 1 with an error message and prints nothing to stdout\n" +
	"VAL-9: after `age-keygen -o key.txt` and `age-keygen -y -o pub.txt key.txt`, `age -a -R pub.txt` with input `secret` succeeds and prints a line matching `/^-----BEGIN AGE ENCRYPTED FILE-----$/`\n"

// ageRepo is a Go module that requires age and builds its two programs.
func ageRepo(t *testing.T, contract string) *repo {
	t.Helper()
	r := newRepo(t, map[string]string{
		".gitignore": "/bin/\n",
		".trkr/config.json": `{"validate": {
			"build": "go build -o bin/ filippo.io/age/cmd/age filippo.io/age/cmd/age-keygen",
			"env": ["CGO_ENABLED=0"], "artifacts": ["bin/*"]}}`,
	})
	r.git("checkout", "-q", "-b", "trkr/7")
	r.commit("contract", map[string]string{".trkr/tickets/7/contract.md": contract})
	r.write(map[string]string{
		"go.mod":   "module example.org/keeper\n\ngo 1.24\n",
		"tools.go": "//go:build tools\n\npackage tools\n\nimport (\n\t_ \"filippo.io/age/cmd/age\"\n\t_ \"filippo.io/age/cmd/age-keygen\"\n)\n",
	})
	for _, args := range [][]string{{"get", "filippo.io/age@" + ageVersion}, {"mod", "tidy"}} {
		get := exec.Command("go", args...)
		get.Dir = r.dir
		if out, err := get.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	r.commit("bring age", nil)
	r.git("checkout", "-q", "main")
	return r
}

func TestRealProgramIsClear(t *testing.T) {
	onEngines(t, func(t *testing.T, engine string) {
		r := ageRepo(t, ageContract)
		code, doc := r.validate("--engine", engine, "7")
		rec := expect(t, code, doc, verdict.Clear)
		if len(rec.Criteria) != 9 || rec.Environment.Engine != engine {
			t.Errorf("%d criteria on %q", len(rec.Criteria), rec.Environment.Engine)
		}
	})
}

func TestOneWrongAssertionBlocksWithEvidence(t *testing.T) {
	onEngines(t, func(t *testing.T, engine string) {
		wrong := "VAL-10: `age --no-such-flag` exits 3 with an error message\n"
		r := ageRepo(t, ageContract+wrong)
		code, doc := r.validate("--engine", engine, "7")
		rec := expect(t, code, doc, verdict.Blocking)
		c := statusOf(t, rec, "VAL-10")
		if c.Status != verdict.Unmet {
			t.Errorf("VAL-10 is %s: %s", c.Status, c.Evidence)
		}
		for _, want := range []string{"exit", "3", "2", "no-such-flag", "/validate/artifact/bin/age"} {
			if !strings.Contains(c.Evidence, want) {
				t.Errorf("the evidence does not name %q: %s", want, c.Evidence)
			}
		}
	})
}

func TestJudgementIsIncompleteWithAHint(t *testing.T) {
	onEngines(t, func(t *testing.T, engine string) {
		r := ageRepo(t, ageContract+"VAL-10: the help of `age` is friendly and easy to read\n")
		code, doc := r.validate("--engine", engine, "7")
		rec := expect(t, code, doc, verdict.Incomplete)
		if c := statusOf(t, rec, "VAL-10"); c.Status != verdict.Unverified {
			t.Errorf("VAL-10 is %s: %s", c.Status, c.Evidence)
		}
		code, _, stderr := r.call("--engine", engine, "7")
		if code != 3 || !strings.Contains(stderr, "hint:") || !strings.Contains(stderr, "1 of 10") {
			t.Errorf("exit code %d, no hint that one of ten needs a model:\n%s", code, stderr)
		}
	})
}
