//go:build unix

package sandboxtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/sandbox"
)

func (s *suite) exit(t *testing.T, box sandbox.Sandbox) {
	se := open(t, box, sandbox.SessionSpec{})
	for _, code := range []int{0, 1, 7, 126, 127, 137, 255} {
		if r := subject(t, se, "exit", fmt.Sprint(code)); !r.Exited() || r.Code != code || !r.Ran() || r.Elapsed <= 0 {
			t.Errorf("exit %d: %+v", code, r.Exit)
		}
	}
	for sig, name := range map[syscall.Signal]string{syscall.SIGTERM: "SIGTERM", syscall.SIGHUP: "SIGHUP", syscall.SIGKILL: "SIGKILL"} {
		r := subject(t, se, "signal", fmt.Sprint(int(sig)))
		want := sandbox.Cause("")
		if sig == syscall.SIGKILL { // nobody here sent it: it may have been the kernel
			want = sandbox.CauseUnknown
		}
		if r.Signal != name || r.Code != -1 || r.Exited() || r.Cause != want {
			t.Errorf("%s: %+v", name, r.Exit)
		}
	}
}

func (s *suite) neverRan(t *testing.T, box sandbox.Sandbox) {
	se := open(t, box, sandbox.SessionSpec{})
	cases := map[string]sandbox.Cause{
		"no-such-program":                sandbox.CauseNotFound,
		"/no/such/program":               sandbox.CauseNotFound,
		"./no-such-program":              sandbox.CauseNotFound,
		program + "/below":               sandbox.CauseNotFound,
		sandbox.Artifact + "/dangling":   sandbox.CauseNotFound,
		sandbox.Artifact + "/script.txt": sandbox.CauseNotExecutable,
		sandbox.Artifact + "/broken":     sandbox.CauseNotExecutable,
		sandbox.Artifact:                 sandbox.CauseNotExecutable,
		"":                               sandbox.CauseNotFound,
	}
	for name, cause := range cases {
		r := run(t, se, sandbox.Command{Args: []string{name}})
		if r.Cause != cause || r.Ran() || r.Code != -1 || r.Signal != "" || r.Detail == "" {
			t.Errorf("%q: %+v, want %s", name, r.Exit, cause)
		}
	}
	if r := run(t, se, sandbox.Command{Args: []string{program, "exit", "0"}, Dir: "/no/such/directory"}); r.Cause != sandbox.CauseNotExecutable ||
		!strings.Contains(r.Detail, "directory") {
		t.Errorf("a directory that is not there: %+v", r.Exit)
	}
}

func (s *suite) streams(t *testing.T, box sandbox.Sandbox) {
	se := open(t, box, sandbox.SessionSpec{})
	if r := subject(t, se, "say", "to out", "to err"); r.out != "to out\n" || r.err != "to err\n" {
		t.Errorf("out %q, err %q", r.out, r.err)
	}
	odd := []string{"", "a b", "\xff\xfe", "new\nline", "'\"$`\\", strings.Repeat("x", 100_000)}
	if got, want := says(t, se, append([]string{"words"}, odd...)...), fmt.Sprintf("%q\n", odd); got != want {
		t.Errorf("words came as %.200s", got)
	}
	if got := says(t, se, "cat"); got != "" { // no input is an empty one
		t.Errorf("without input: %q", got)
	}
	want := make([]byte, 3<<20+17)
	for i := range want {
		want[i] = byte(i * i >> 3)
	}
	r := run(t, se, sandbox.Command{Args: []string{program, "cat"}, Stdin: bytes.NewReader(want)})
	if r.out != string(want) || r.Code != 0 {
		t.Errorf("%d bytes of %d came back, %s", len(r.out), len(want), r.Exit)
	}
	r = run(t, se, sandbox.Command{Args: []string{program, "exit", "5"}, Stdin: bytes.NewReader(want)})
	if r.Code != 5 { // input that nobody reads
		t.Errorf("%s", r.Exit)
	}
	pr, pw := io.Pipe()
	defer pw.Close()
	if r := run(t, se, sandbox.Command{Args: []string{program, "exit", "6"}, Stdin: pr}); r.Code != 6 { // input that never comes
		t.Errorf("%s", r.Exit)
	}
	if got := says(t, se, "stdout", "opened again"); got != "opened again\n" {
		t.Errorf("opening stdout by name gave %q", got)
	}
}

func (s *suite) bigOutput(t *testing.T, box sandbox.Sandbox) {
	se := open(t, box, sandbox.SessionSpec{})
	const size = 20_000_000
	h := sha256.New()
	n := &counter{w: h}
	if r := run(t, se, sandbox.Command{Args: []string{program, "big", fmt.Sprint(size)}, Stdout: n}); !r.Exited() || n.n != size {
		t.Errorf("%d bytes of %d, %s", n.n, size, r.Exit)
	}
	want := sha256.New()
	for i := 0; i < size; {
		for j := 0; j < 64<<10 && i < size; i, j = i+1, j+1 {
			want.Write([]byte{'a' + byte(j%26)})
		}
	}
	if !bytes.Equal(h.Sum(nil), want.Sum(nil)) {
		t.Error("the bytes are not those that were written")
	}
}

type counter struct {
	n int
	w io.Writer
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += len(p)
	return c.w.Write(p)
}

func (s *suite) outputLimit(t *testing.T, box sandbox.Sandbox) {
	se := open(t, box, sandbox.SessionSpec{})
	n := &counter{w: io.Discard}
	r := run(t, se, sandbox.Command{Args: []string{program, "big", "1", "for ever"}, Stdout: n})
	if r.Cause != sandbox.CauseOutput || r.Exited() {
		t.Errorf("%+v", r.Exit)
	}
	if int64(n.n) != Limits.Output {
		t.Errorf("%d bytes were kept, the limit is %d", n.n, Limits.Output)
	}
	if got := says(t, se, "say", "next", ""); got != "next\n" {
		t.Errorf("after it: %q", got)
	}
}

func (s *suite) deadline(t *testing.T, box sandbox.Sandbox) {
	se := open(t, box, sandbox.SessionSpec{})
	begin := time.Now()
	r := run(t, se, sandbox.Command{Args: []string{program, "hold", "ticks", "and stay"}, Timeout: 3 * time.Second})
	if r.Cause != sandbox.CauseDeadline || r.Exited() || r.out != "held\n" {
		t.Errorf("%+v %q", r.Exit, r.out)
	}
	if d := time.Since(begin); d > 20*time.Second { // a grandchild holds the pipe for ever
		t.Errorf("it took %s", d)
	}
	still(t, se, "ticks")
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	e, err := se.Run(ctx, sandbox.Command{Args: []string{program, "sleep", "60000"}})
	if err != nil || e.Cause != sandbox.CauseDeadline {
		t.Errorf("the caller's deadline: %v, %v", e, err)
	}
	if _, err := se.Run(ctx, sandbox.Command{Args: []string{program, "exit", "0"}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after the caller's deadline: %v", err)
	}
	if r := run(t, se, sandbox.Command{Args: []string{program, "exit", "3"}, Timeout: time.Minute}); r.Code != 3 || r.Cause != "" {
		t.Errorf("within the deadline: %s", r.Exit)
	}
}

// still fails where something goes on writing the file.
func still(t *testing.T, se sandbox.Session, name string) {
	t.Helper()
	look := func() string {
		files, err := se.Observe(timeout(t), 100, name)
		if err != nil {
			t.Fatal(err)
		}
		if files[0].Type != "file" {
			t.Fatalf("the leftover never lived: %+v", files[0])
		}
		return string(files[0].Content)
	}
	before := look()
	time.Sleep(50 * time.Millisecond) // ten of its ticks
	if after := look(); before != after {
		t.Errorf("something still counts in %q: %q, then %q", name, before, after)
	}
}

func (s *suite) cancel(t *testing.T, box sandbox.Sandbox) {
	se := open(t, box, sandbox.SessionSpec{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	// Cancelled by what it prints: so it is running.
	e, err := se.Run(ctx, sandbox.Command{Args: []string{program, "hold", "ticks", "and stay"}, Stdout: writer(func([]byte) error { cancel(); return nil })})
	if !errors.Is(err, context.Canceled) || e.Cause != sandbox.CauseKilled {
		t.Errorf("%v, %v", e, err)
	}
	still(t, se, "ticks")
}

type writer func([]byte) error

func (w writer) Write(p []byte) (int, error) { return len(p), w(p) }

func (s *suite) writers(t *testing.T, box sandbox.Sandbox) {
	se := open(t, box, sandbox.SessionSpec{})
	full := errors.New("disk full")
	_, err := se.Run(timeout(t), sandbox.Command{Args: []string{program, "big", "1", "for ever"}, Stdout: writer(func([]byte) error { return full })})
	if !errors.Is(err, full) {
		t.Errorf("a writer that fails: %v", err)
	}
	if got := says(t, se, "say", "next", ""); got != "next\n" {
		t.Errorf("after it: %q", got)
	}
}

func (s *suite) leftovers(t *testing.T, box sandbox.Sandbox) {
	se := open(t, box, sandbox.SessionSpec{})
	begin := time.Now()
	if r := subject(t, se, "hold", "ticks"); r.Code != 0 || r.out != "held\n" {
		t.Errorf("%s %q %q", r.Exit, r.out, r.err)
	}
	if d := time.Since(begin); d > 20*time.Second {
		t.Errorf("it took %s although its first process had ended", d)
	}
	still(t, se, "ticks")
}

func (s *suite) terminal(t *testing.T, box sandbox.Sandbox) {
	se := open(t, box, sandbox.SessionSpec{})
	sizes := make(chan [2]uint16, 1)
	pr, pw := io.Pipe()
	defer pw.Close()
	var mu sync.Mutex
	var all strings.Builder
	asked, typed := false, false
	out := writer(func(p []byte) error {
		mu.Lock()
		defer mu.Unlock()
		all.Write(p)
		if !asked && strings.Contains(all.String(), "ready") {
			asked = true
			sizes <- [2]uint16{40, 132}
		}
		if !typed && strings.Contains(all.String(), "40x132") {
			typed = true
			go io.WriteString(pw, "typed\n")
		}
		return nil
	})
	e, err := se.Run(timeout(t), sandbox.Command{
		Args: []string{program, "tty"}, Stdin: pr, Stdout: out, TTY: &sandbox.TTY{Rows: 24, Cols: 80, Resize: sizes},
	})
	got := all.String()
	if err != nil || !e.Exited() || e.Code != 0 {
		t.Fatalf("%v, %v: %q", e, err, got)
	}
	for _, want := range []string{"size 24x80", "size 40x132", "line typed"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
}

func (s *suite) twoSessions(t *testing.T, box sandbox.Sandbox) {
	a, b := open(t, box, sandbox.SessionSpec{Role: sandbox.RoleAgent}), open(t, box, sandbox.SessionSpec{})
	pr, pw := io.Pipe()
	var wg sync.WaitGroup
	var r result
	up := make(chan struct{})
	var once sync.Once
	wg.Go(func() {
		var got bytes.Buffer
		e, err := a.Run(timeout(t), sandbox.Command{Args: []string{program, "cat"}, Stdin: pr, Stdout: writer(func(p []byte) error {
			once.Do(func() { close(up) })
			got.Write(p)
			return nil
		})})
		if err != nil {
			t.Errorf("the first session: %v", err)
		}
		r = result{e, got.String(), ""}
	})
	io.WriteString(pw, "one ")
	<-up
	for range 5 { // ends all of b's uid, five times, while a lives
		if got := says(t, b, "ids"); got == "" {
			t.Error("nothing")
		}
	}
	io.WriteString(pw, "two")
	pw.Close()
	wg.Wait()
	if !r.Exited() || r.out != "one two" {
		t.Errorf("the first session: %s %q", r.Exit, r.out)
	}
	if a.Dir() == b.Dir() || filepath.Dir(a.Home()) == filepath.Dir(b.Home()) {
		t.Errorf("the sessions share a directory: %s and %s", a.Dir(), b.Dir())
	}
}
