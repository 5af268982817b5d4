package config_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/trkr-dev/trkr-validate/config"
)

func resolve(t *testing.T, settings ...config.Setting) config.Config {
	t.Helper()
	c, err := config.Resolve(settings)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	want := config.Config{
		Ticket: config.Ticket{Branch: "trkr/{issue}", Dir: ".trkr/tickets/{issue}"},
		Issue:  config.Issue{Source: "command"},
		Validate: config.Validate{
			BuildTimeout: 20 * time.Minute, Env: []string{}, Artifacts: []string{}, AllowTracked: []string{},
			Engine: "auto", Image: "host", Mounts: []string{}, Install: []string{}, InstallFrom: []string{}, Services: []config.Service{},
			Agents: []config.Agent{{Kind: "probe"}}, Prove: "note", Timeout: 30 * time.Minute,
			Limits: config.Limits{Memory: 2 << 30, CPUs: 2, Pids: 256, Output: 16 << 20, Tmp: 512 << 20, Artifacts: 4 << 30, Files: 100000},
			Commit: true,
		},
		Loop:         config.Loop{Turns: 5, Plateau: 2, Errors: 3, Time: 6 * time.Hour, TriageTimeout: 10 * time.Minute},
		Orchestrator: true,
	}
	if diff := cmp.Diff(want, resolve(t)); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

// What is shown of a value is what a file may hold.
func TestWhatIsShownCanBeWritten(t *testing.T) {
	c := resolve(t,
		config.Setting{Key: "validate.timeout", Value: "90m", Source: config.FromEnv},
		config.Setting{Key: "validate.limits.memory", Value: "1.5GiB", Source: config.FromEnv},
		config.Setting{Key: "validate.limits.tmp", Value: "10MB", Source: config.FromFlag},
		config.Setting{Key: "validate.agent", Value: `["probe",{"command":["./x"],"trust":"inside"}]`, Source: config.FromEnv},
		config.Setting{Key: "validate.services", Value: `[{"command":"db","ready":"tcp:5432"}]`, Source: config.FromEnv},
	)
	var shown []config.Setting
	for _, k := range config.Keys() {
		shown = append(shown, config.Setting{Key: k.Name, Value: k.Value(c), Source: config.FromFile})
	}
	if got := shown[0].Value; got != "trkr/{issue}" {
		t.Errorf("first value is %v", got)
	}
	if diff := cmp.Diff(c, resolve(t, shown...)); diff != "" {
		t.Errorf("read again (-want +got):\n%s", diff)
	}
}

func TestTextOfVariablesAndFlags(t *testing.T) {
	c := resolve(t,
		config.Setting{Key: "validate.artifacts", Value: "dist/a b,c", Source: config.FromEnv},
		config.Setting{Key: "validate.env", Value: `["A=1","B"]`, Source: config.FromEnv},
		config.Setting{Key: "validate.limits.cpus", Value: "0.5", Source: config.FromEnv},
		config.Setting{Key: "validate.limits.pids", Value: "64", Source: config.FromEnv},
		config.Setting{Key: "validate.commit", Value: "false", Source: config.FromEnv},
		config.Setting{Key: "validate.agent", Value: []string{`{"command":["a,b","c\"d"]}`, "probe"}, Source: config.FromFlag},
	)
	want := resolve(t)
	want.Validate.Artifacts = []string{"dist/a b,c"}
	want.Validate.Env = []string{"A=1", "B"}
	want.Validate.Limits.CPUs, want.Validate.Limits.Pids, want.Validate.Commit = 0.5, 64, false
	want.Validate.Agents = []config.Agent{{Kind: "command", Command: []string{"a,b", `c"d`}}, {Kind: "probe"}}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProblemsOfVariablesNameThem(t *testing.T) {
	_, err := config.Resolve([]config.Setting{
		{Key: "validate.limits.pids", Value: "many", Source: config.FromEnv, At: "TRKR_VALIDATE_LIMITS_PIDS"},
		{Key: "validate.limits.cpus", Value: "NaN", Source: config.FromEnv, At: "TRKR_VALIDATE_LIMITS_CPUS"},
		{Key: "validate.limits.memory", Value: "0", Source: config.FromEnv, At: "TRKR_VALIDATE_LIMITS_MEMORY"},
		{Key: "validate.artifacts", Value: `["a"`, Source: config.FromEnv, At: "TRKR_VALIDATE_ARTIFACTS"},
	})
	want := []string{
		"TRKR_VALIDATE_ARTIFACTS: validate.artifacts: not JSON: unexpected end of JSON input",
		"TRKR_VALIDATE_LIMITS_MEMORY: validate.limits.memory: must not be 0: a limit cannot be switched off",
		`TRKR_VALIDATE_LIMITS_CPUS: validate.limits.cpus: "NaN" is not a number`,
		`TRKR_VALIDATE_LIMITS_PIDS: validate.limits.pids: "many" is not a number`,
	}
	if err == nil {
		t.Fatal("accepted")
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestUnknownEnv(t *testing.T) {
	problems, others := config.UnknownEnv([]string{
		"PATH=/bin", "TRKR_VALIDATE_ENGINE=auto", "TRKR_VALIDATE_LIMIT_MEMORY=1GiB", "TRKR_VALIDATE_RELEASE_CHANNEL=x",
	})
	if len(problems) != 1 || problems[0].Hint != "did you mean TRKR_VALIDATE_LIMITS_MEMORY?" {
		t.Errorf("problems %+v", problems)
	}
	if diff := cmp.Diff([]string{"TRKR_VALIDATE_RELEASE_CHANNEL"}, others); diff != "" {
		t.Errorf("others (-want +got):\n%s", diff)
	}
}

func TestEnvNamesAreDistinct(t *testing.T) {
	seen := map[string]string{}
	for _, k := range config.Keys() {
		if other, again := seen[k.Env()]; again {
			t.Errorf("%s and %s share %s", k.Name, other, k.Env())
		}
		seen[k.Env()] = k.Name
	}
}

func TestDigestBindsWhatBearsOnTheJudgement(t *testing.T) {
	base := resolve(t).Digest()
	if !strings.HasPrefix(base, "sha256:") || len(base) != len("sha256:")+64 {
		t.Fatalf("digest %q", base)
	}
	for _, c := range []struct {
		key, value string
		counts     bool
	}{
		{"validate.engine", "docker", false},
		{"validate.limits.cpus", "1", false},
		{"validate.commit", "false", false},
		{"issue.command", "cat body", false},
		{"issue.source", "github", false},
		{"issue.url", "https://example.com", false},
		{"ticket.base", "main", false}, // CI names it, and a record made elsewhere is about the same
		{"loop.turns", "9", false},     // between runs
		{"orchestrator", "false", false},
		{"validate.timeout", "1800s", false}, // the default in other words
		{"validate.build", "make", true},
		{"validate.image", "debian:12", true},
		{"validate.agent", `{"command":["true"]}`, true},
		{"validate.limits.memory", "1GiB", true},
		{"ticket.dir", "tickets/{issue}", true},
		{"validate.services", `[{"command":"db","ready":"tcp:1"}]`, true},
		{"validate.env", "CI", true},
	} {
		got := resolve(t, config.Setting{Key: c.key, Value: c.value, Source: config.FromEnv}).Digest()
		if (got != base) != c.counts {
			t.Errorf("%s = %s: changes the digest: %v, want %v", c.key, c.value, got != base, c.counts)
		}
	}
	one := resolve(t, config.Setting{Key: "validate.env", Value: "TOKEN=a", Source: config.FromEnv}).Digest()
	two := resolve(t, config.Setting{Key: "validate.env", Value: "TOKEN=b", Source: config.FromEnv}).Digest()
	if one != two {
		t.Error("a variable's value counts")
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{
		"2GiB": 2 << 30, "512MiB": 512 << 20, "1.5G": 3 << 29, "10MB": 10_000_000, "7 kib": 7 << 10, "12B": 12, "1t": 1 << 40,
	} {
		if got, err := config.ParseSize(text); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "12", "GiB", "1e3B", "0x10B", "infB", "nanB", "1__0B", "99999999TiB", "1GiBs", "+1B", "1 2B"} {
		if got, err := config.ParseSize(text); err == nil {
			t.Errorf("ParseSize(%q) = %d, want an error", text, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 1<<50).Draw(t, "bytes")
		if got, err := config.ParseSize(config.FormatSize(n)); err != nil || got != n {
			t.Fatalf("%d is written %s and read as %d, %v", n, config.FormatSize(n), got, err)
		}
	})
}

func TestNearest(t *testing.T) {
	words := []string{"branch", "dir", "base", "allow_tracked", "build_timeout"}
	for word, want := range map[string]string{
		"brnach": "branch", "Branch": "branch", "allowTracked": "allow_tracked", "allow-tracked": "allow_tracked",
		"buildtimeout": "build_timeout", "directory": "", "zzz": "", strings.Repeat("a", 1000): "",
	} {
		if got := config.Nearest(word, words); got != want {
			t.Errorf("Nearest(%.20q) = %q, want %q", word, got, want)
		}
	}
}

func TestErrorsListEveryProblem(t *testing.T) {
	_, err := config.Parse("c", []byte(`{"validate":{"a":1,"b":2}}`))
	if bad, ok := errors.AsType[*config.Error](err); !ok || len(bad.Problems) != 2 || len(strings.Split(err.Error(), "\n")) != 2 {
		t.Errorf("got %v", err)
	}
}
