package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/bound"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/proc"
	"github.com/trkr-dev/trkr-validate/internal/redact"
	"github.com/trkr-dev/trkr-validate/verdict"
)

func TestMain(m *testing.M) {
	proc.Dispatch()
	os.Exit(m.Run())
}

func request(t *testing.T, command string) Request {
	t.Helper()
	env, err := Environment(os.Environ(), nil, "7", "trkr/7", "c0ffee")
	if err != nil {
		t.Fatal(err)
	}
	return Request{Dir: t.TempDir(), Command: command, Env: env, Timeout: time.Minute}
}

func refusal(t *testing.T, err error, want verdict.Reason) *verdict.Refusal {
	t.Helper()
	r, ok := errors.AsType[*verdict.Refusal](err)
	if !ok || r.Reason != want {
		t.Fatalf("err = %v, want a refusal %s", err, want)
	}
	return r
}

func TestBuilds(t *testing.T) {
	r := request(t, "echo $TRKR_ISSUE $TRKR_BRANCH $TRKR_COMMIT | tee made; echo to stderr >&2")
	var log bytes.Buffer
	r.Log = &log
	res, err := Run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	made, err := os.ReadFile(filepath.Join(r.Dir, "made"))
	if err != nil || string(made) != "7 trkr/7 c0ffee\n" {
		t.Errorf("made %q, %v", made, err)
	}
	if want := "7 trkr/7 c0ffee\nto stderr"; res.Tail != want || log.String() != want+"\n" {
		t.Errorf("tail %q, log %q", res.Tail, log.String())
	}
	if res.Elapsed <= 0 || res.Leftovers != nil {
		t.Errorf("%+v", res)
	}
}

func TestFails(t *testing.T) {
	r := refusal(t, second(Run(t.Context(), request(t, "echo one; echo two >&2; exit 9"))), verdict.BuildFailed)
	if !strings.Contains(r.Detail, "exit code 9") || !strings.HasSuffix(r.Detail, "\none\ntwo") {
		t.Errorf("detail %q", r.Detail)
	}
	r = refusal(t, second(Run(t.Context(), request(t, "no-such-program-here"))), verdict.BuildFailed)
	if !strings.Contains(r.Detail, "exit code 127") || len(r.Hints) != 3 {
		t.Errorf("%+v", r)
	}
	r = refusal(t, second(Run(t.Context(), request(t, "kill -SEGV $$"))), verdict.BuildFailed)
	if !strings.Contains(r.Detail, "segmentation fault") || !strings.Contains(r.Detail, "printed nothing") {
		t.Errorf("detail %q", r.Detail)
	}
}

func second[T any](_ T, err error) error { return err }

func TestTimeout(t *testing.T) {
	r := request(t, "echo begun; sleep 300 & sleep 300")
	r.Timeout = 300 * time.Millisecond
	begin := time.Now()
	got := refusal(t, second(Run(t.Context(), r)), verdict.BuildTimeout)
	if !strings.Contains(got.Detail, "300ms") || !strings.Contains(got.Detail, "begun") {
		t.Errorf("detail %q", got.Detail)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

// A build that exits 0 and leaves a daemon is a success with a warning.
func TestLeftover(t *testing.T) {
	res, err := Run(t.Context(), request(t, "setsid sleep 300 & echo made"))
	if err != nil || !slices.Equal(res.Leftovers, []string{"sleep"}) {
		t.Fatalf("%+v, %v", res, err)
	}
}

func TestKillingTheSupervisorIsNoSuccess(t *testing.T) {
	refusal(t, second(Run(t.Context(), request(t, "kill -9 $PPID; sleep 300"))), verdict.BuildFailed)
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := request(t, "echo begun; sleep 300")
	r.Log = onWrite(cancel)
	_, err := Run(ctx, r)
	if _, ok := errors.AsType[*verdict.Refusal](err); ok || !errors.Is(err, context.Canceled) {
		t.Fatalf("err = %v", err)
	}
}

type onWrite func()

func (f onWrite) Write(p []byte) (int, error) { f(); return len(p), nil }

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestLogThatCannotBeWritten(t *testing.T) {
	r := request(t, "echo made; : >made")
	r.Log = full{}
	_, err := Run(t.Context(), r)
	if f := fault.Of(err); f == nil || f.Usage || f.Code != "build_unrunnable" {
		t.Fatalf("err = %v", err)
	}
	if _, err := os.Lstat(filepath.Join(r.Dir, "made")); err != nil {
		t.Errorf("the build noticed: %v", err)
	}
}

func TestEndlessOutputIsBounded(t *testing.T) {
	r := request(t, "head -c 50000000 /dev/zero | tr '\\0' x; echo; echo last; exit 1")
	var log bytes.Buffer
	w := bound.NewWriter(&log, 1<<20)
	r.Log = w
	got := refusal(t, second(Run(t.Context(), r)), verdict.BuildFailed)
	if log.Len() != 1<<20 || w.Dropped() == 0 {
		t.Errorf("%d bytes logged, %d dropped", log.Len(), w.Dropped())
	}
	if !strings.HasSuffix(got.Detail, "\nlast") || len(got.Detail) > tailBytes+200 {
		t.Errorf("detail of %d bytes", len(got.Detail))
	}
}

// What the caller passed through by name may be secret. Neither where it is cut nor where its lines are made fit for
// people does a part of it get through.
func TestSecretsAreTakenOutOfWhatIsTold(t *testing.T) {
	const secret = "first line of it\n\n\x1b[1msecond\r\nthird-and-last"
	for name, script := range map[string]string{
		"lines":  `printf '%s\n' "$TOKEN"`,
		"base64": `printf 'user:%s' "$TOKEN" | base64 -w0`,
		"cut":    `printf '%s' "$TOKEN"; head -c ` + fmt.Sprint(tailBytes-5) + ` /dev/zero | tr '\0' y`,
		"pieces": `printf 'first line of it\n'; sleep 0.05; printf '\n\033[1msecond\r\nthird-and-last\n'`,
	} {
		r := request(t, script+"; exit 1")
		r.Env, r.Secrets = append(r.Env, "TOKEN="+secret), redact.New(secret)
		detail := refusal(t, second(Run(t.Context(), r)), verdict.BuildFailed).Detail
		for _, part := range []string{"first line", "second", "third", "last", "c2Vjb25k"} {
			_, told, _ := strings.Cut(detail, "the last it printed")
			if strings.Contains(told, part) {
				t.Errorf("%s: %q is in %.300q", name, part, detail)
			}
		}
	}
}

// A build that closes its output is judged by how it ends.
func TestClosedOutput(t *testing.T) {
	r := request(t, "exec <&- >&- 2>&-; : >made; exit 4")
	if got := refusal(t, second(Run(t.Context(), r)), verdict.BuildFailed); !strings.Contains(got.Detail, "exit code 4") || !strings.Contains(got.Detail, "printed nothing") {
		t.Errorf("detail %q", got.Detail)
	}
	if _, err := os.Lstat(filepath.Join(r.Dir, "made")); err != nil {
		t.Error(err)
	}
}

func TestMissing(t *testing.T) {
	dir := t.TempDir()
	r := refusal(t, second(Run(t.Context(), Request{Dir: dir, Command: " \n"})), verdict.BuildMissing)
	if len(r.Hints) != 1 {
		t.Errorf("hints %q", r.Hints)
	}
	for _, file := range []string{"go.mod", "package.json", "Cargo.toml", "Makefile", "GNUmakefile", "pyproject.toml"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		r := refusal(t, second(Run(t.Context(), Request{Dir: dir})), verdict.BuildMissing)
		if len(r.Hints) != 1 || !strings.Contains(r.Hints[0], file) || !strings.Contains(r.Hints[0], "trkr-validate init writes a configuration for it") {
			t.Errorf("%s: hints %q", file, r.Hints)
		}
	}
}

func TestLastLines(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"a\n\n \nb\n", "a\nb"},
		{"1\n2\n3\n4\n", "2\n3\n4"},
		{"10%\r50%\r100%\ndone\r\n", "100%\ndone"},
		{"\x1b[31mred\x1b[0m \x1b]0;title\x07x\x00\x07y\n", "red xy"},
		{"bad \xff byte", "bad \uFFFD byte"},
	} {
		if got := lastLines([]byte(c.in), 3); got != c.want {
			t.Errorf("lastLines(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}
