package ticket

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// TestMain gives git a home without any configuration: what a test needs it sets itself. With a task named, the
// program is a child that some test started.
func TestMain(m *testing.M) {
	if task := os.Getenv("TICKET_TEST_TASK"); task != "" {
		os.Exit(childTask(task))
	}
	home, err := os.MkdirTemp("", "ticket-test-*")
	if err != nil {
		panic(err)
	}
	if home, err = filepath.EvalSymlinks(home); err != nil {
		panic(err)
	}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "GIT_") || name == "XDG_CONFIG_HOME" {
			os.Unsetenv(name)
		}
	}
	os.Setenv("HOME", home)
	code := m.Run()
	os.RemoveAll(home)
	os.Exit(code)
}

// git runs git as a user would, with an identity and otherwise untouched.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := tryGit(dir, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func tryGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "user.name=Ada", "-c", "user.email=ada@example.org"}, args...)...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", errors.New("git " + strings.Join(args, " ") + ": " + stderr.String())
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

func write(t testing.TB, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

const contractText = "VAL-1: `app` prints `hello`\n"

// fixture makes a repository in dir: main with some files, and trkr/7 with a contract, checked out. Without arguments
// for git init it is a copy of one that was made once.
func fixture(t testing.TB, dir string, initArgs ...string) string {
	t.Helper()
	if len(initArgs) > 0 {
		makeFixture(t, dir, initArgs...)
		return dir
	}
	original := filepath.Join(os.Getenv("HOME"), "original")
	once.Do(func() { makeFixture(t, original) })
	if err := os.CopyFS(dir, os.DirFS(original)); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "update-index", "-q", "--refresh")
	return dir
}

var once sync.Once

func makeFixture(t testing.TB, dir string, initArgs ...string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, dir, append([]string{"init", "-q", "--template=", "-b", "main"}, initArgs...)...)
	write(t, filepath.Join(dir, ".gitignore"), "*.md\n/build/\n")
	write(t, filepath.Join(dir, "src/a.go"), "package a\n")
	write(t, filepath.Join(dir, "src/b.go"), "package a\n\nvar B int\n")
	write(t, filepath.Join(dir, "docs/x/y.txt"), "text\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "one")
	git(t, dir, "checkout", "-qb", "trkr/7")
	write(t, filepath.Join(dir, ".trkr/tickets/7/contract.md"), contractText)
	git(t, dir, "add", "-f", ".trkr")
	git(t, dir, "commit", "-qm", "contract")
}

func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func open(t testing.TB, dir string) *Repo {
	t.Helper()
	r, err := Open(context.Background(), dir)
	if err != nil {
		t.Fatalf("Open(%q): %v", dir, err)
	}
	return r
}

func resolve(t testing.TB, r *Repo, q Query) *Ticket {
	t.Helper()
	if q.Issue == "" {
		q.Issue = "7"
	}
	tk, err := r.Resolve(context.Background(), q)
	if err != nil {
		t.Fatalf("Resolve(%+v): %v", q, err)
	}
	t.Cleanup(func() {
		if err := tk.Close(); err != nil {
			t.Error(err)
		}
	})
	return tk
}

// reasons lists the refusals in an error, and fails where it holds anything else.
func reasons(t testing.TB, err error) []verdict.Reason {
	t.Helper()
	var all []verdict.Reason
	for _, r := range refusals(t, err) {
		all = append(all, r.Reason)
	}
	return all
}

func refusals(t testing.TB, err error) []*verdict.Refusal {
	t.Helper()
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*verdict.Refusal
		for _, e := range joined.Unwrap() {
			all = append(all, refusals(t, e)...)
		}
		return all
	}
	r, ok := errors.AsType[*verdict.Refusal](err)
	if !ok {
		t.Fatalf("%v (%T) is no refusal", err, err)
	}
	return []*verdict.Refusal{r}
}

func wantReasons(t testing.TB, err error, want ...verdict.Reason) []*verdict.Refusal {
	t.Helper()
	if got := reasons(t, err); !slices.Equal(got, want) {
		t.Fatalf("refused for %v (%v), want %v", got, err, want)
	}
	return refusals(t, err)
}

func codeOf(err error) string { return fault.Of(err).Code }

func wantFault(t testing.TB, err error, code string) {
	t.Helper()
	f := fault.Of(err)
	if f == nil || f.Code != code || len(f.Hints) == 0 {
		t.Fatalf("got %v (%+v), want a fault %s with a hint", err, f, code)
	}
}
