package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	Dispatch()
	helper()
	os.Exit(m.Run())
}

// helper is this program when a test needs one to kill, or one with another uid.
func helper() {
	if len(os.Args) < 4 || os.Args[1] != "helper" {
		return
	}
	res, err := Run(context.Background(), Command{Script: os.Args[2], Dir: "/", Env: append(slices.Clone(baseEnv), os.Args[3]), Output: os.Stdout, Timeout: time.Minute})
	fmt.Printf("%+v %v\n", res.Code, err)
	os.Exit(0)
}

var baseEnv = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}

func TestFacts(t *testing.T) {
	for _, c := range []struct {
		name, script string
		want         Result
		output       string
	}{
		{"success", "echo out; echo err >&2", Result{}, "out\nerr\n"},
		{"exit code", "exit 7", Result{Code: 7}, ""},
		{"signal", "kill -SEGV $$", Result{Code: -1, Signal: "segmentation fault"}, ""},
		{"no input", "cat", Result{}, ""},
		{"stdio closed", "exec <&- >&- 2>&-; sleep 0.1; exit 5", Result{Code: 5}, ""},
		{"no terminal", "(exec 3</dev/tty) 2>/dev/null && echo has one; exit 0", Result{}, ""},
		{"signals are not ignored", "trap - HUP; sh -c 'kill -HUP $$'; echo $?", Result{}, "129\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			got, err := Run(t.Context(), Command{Script: c.script, Dir: t.TempDir(), Env: baseEnv, Output: &out, Timeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			if got.Elapsed <= 0 {
				t.Error("no time has passed")
			}
			got.Elapsed = 0
			// The shell's own words about a job that was killed are no fact.
			text := strings.ReplaceAll(out.String(), "Hangup\n", "")
			if got.Code != c.want.Code || got.Signal != c.want.Signal || got.TimedOut || got.Leftovers != nil || text != c.output {
				t.Errorf("got %+v, output %q; want %+v, %q", got, text, c.want, c.output)
			}
		})
	}
}

// Bytes of environment and directory arrive as they are, and nothing else does.
func TestEnvironment(t *testing.T) {
	dir := t.TempDir() + "/a b\n\xff"
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("this file system takes no such name: %v", err)
	}
	t.Setenv("TRKR_TEST_SECRET", "of the caller")
	var out bytes.Buffer
	_, err := Run(t.Context(), Command{Script: `env; pwd`, Dir: dir, Env: append(baseEnv, "ODD=\xfe\n x"), Output: &out})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "ODD=\xfe\n x\n") || !strings.HasSuffix(out.String(), "/a b\n\xff\n") {
		t.Errorf("output %q", out.String())
	}
	if strings.Contains(out.String(), "SECRET") {
		t.Errorf("the caller's environment leaked: %q", out.String())
	}
}

func TestCannotStart(t *testing.T) {
	_, err := Run(t.Context(), Command{Script: "true", Dir: t.TempDir() + "/absent"})
	if err == nil || errors.Is(err, ErrSupervision) || !strings.Contains(err.Error(), "absent") {
		t.Fatalf("err = %v", err)
	}
}

func TestTimeoutThoughAGrandchildHoldsThePipe(t *testing.T) {
	begin := time.Now()
	res, err := Run(t.Context(), Command{Script: "trap '' TERM INT HUP; sleep 300 & sleep 300", Dir: t.TempDir(), Env: baseEnv, Timeout: 200 * time.Millisecond})
	if err != nil || !res.TimedOut {
		t.Fatalf("%+v, %v", res, err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out := onFirst(cancel)
	res, err := Run(ctx, Command{Script: "echo begun; sleep 300", Dir: t.TempDir(), Env: baseEnv, Output: out, Timeout: time.Minute})
	if !errors.Is(err, context.Canceled) || res.TimedOut {
		t.Fatalf("%+v, %v", res, err)
	}
}

// onFirst calls f once something is written.
type onFirst func()

func (f onFirst) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}

type broken struct{}

var errBroken = errors.New("disk full")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

// The command must not learn that its output could not be kept; the caller must.
func TestOutputFails(t *testing.T) {
	res, err := Run(t.Context(), Command{Script: "yes | head -c 1000000; exit 3", Dir: t.TempDir(), Env: baseEnv, Output: broken{}})
	if !errors.Is(err, errBroken) || res.Code != 3 {
		t.Fatalf("%+v, %v", res, err)
	}
}

func TestLargeOutputIsWhole(t *testing.T) {
	var out bytes.Buffer
	_, err := Run(t.Context(), Command{Script: "head -c 20000000 /dev/zero", Dir: t.TempDir(), Env: baseEnv, Output: &out})
	if err != nil || out.Len() != 20000000 {
		t.Fatalf("%d bytes, %v", out.Len(), err)
	}
}

func TestLeftoversAreNamedAndGone(t *testing.T) {
	res, err := Run(t.Context(), Command{Script: "sleep 300 >/dev/null 2>&1 & exit 0", Dir: t.TempDir(), Env: baseEnv})
	if err != nil || len(res.Leftovers) != 1 || slices.Contains(res.Leftovers, "sh") {
		t.Fatalf("%+v, %v", res, err)
	}
}

// What is about to end by itself, like the far end of a pipe, gets the moment it needs.
func TestLateOutputIsKept(t *testing.T) {
	var out bytes.Buffer
	_, err := Run(t.Context(), Command{Script: "(sleep 0.01; echo late) & echo early", Dir: t.TempDir(), Env: baseEnv, Output: &out})
	if err != nil || out.String() != "early\nlate\n" {
		t.Fatalf("%q, %v", out.String(), err)
	}
}

// A program that forgot Dispatch must not start itself over and over.
func TestWithoutDispatch(t *testing.T) {
	dispatched = false
	defer func() { dispatched = true }()
	if _, err := Run(t.Context(), Command{Script: "true", Dir: t.TempDir()}); !errors.Is(err, errNotDispatched) {
		t.Fatalf("err = %v", err)
	}
}
