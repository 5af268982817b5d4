package artifact

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/verdict"
)

// TestMain lets a test run a collection under another uid.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "collect" {
		s, err := Collect(context.Background(), Options{Root: os.Args[2], Staging: os.Args[3], Globs: []string{"**"}, MaxBytes: 1 << 30, MaxFiles: 1000})
		if err == nil {
			err = s.Materialise(filepath.Join(os.Args[3], "set"), nil)
		}
		fmt.Println(err)
		os.Exit(0)
	}
	if len(os.Args) == 4 && os.Args[1] == "aside" {
		cycle(os.Args[2], os.Args[3])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// cycle is what TestMain does for the test below: earlier artifacts go aside, a build makes one of them again and
// removes a folder, the others come back.
func cycle(root, build string) {
	a, err := SetAside(context.Background(), Options{Root: root, Globs: []string{"dist", "*.tgz"}, MaxFiles: 100})
	if err == nil && build == "builds" {
		err = errors.Join(os.WriteFile(root+"/dist/made", []byte("new\n"), 0o644), os.RemoveAll(root+"/dist/sub"), a.Built())
	}
	if err = errors.Join(err, a.Restore()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// tree makes files in a new directory: "a/b": content; "a/": a directory; "l -> t": a link.
func tree(t testing.TB, files ...string) string {
	t.Helper()
	root := t.TempDir()
	grow(t, root, files...)
	return root
}

func grow(t testing.TB, root string, files ...string) {
	t.Helper()
	for _, f := range files {
		name, target, link := strings.Cut(f, " -> ")
		p := filepath.Join(root, name)
		must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		switch {
		case link:
			must(t, os.Symlink(target, p))
		case strings.HasSuffix(name, "/"):
			must(t, os.MkdirAll(p, 0o755))
		default:
			must(t, os.WriteFile(p, []byte("this is "+name+"\n"), 0o644))
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func options(t testing.TB, root string, globs ...string) Options {
	t.Helper()
	return Options{Root: root, Globs: globs, Staging: filepath.Join(t.TempDir(), "staging"), MaxBytes: 1 << 30, MaxFiles: 1000, Platform: "linux/amd64"}
}

// sealed collects and closes with the test; nothing may be left in the staging directory then.
func sealed(t testing.TB, o Options) *Set {
	t.Helper()
	s, err := Collect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		nothingStaged(t, o)
	})
	return s
}

func nothingStaged(t testing.TB, o Options) {
	t.Helper()
	left, _ := filepath.Glob(filepath.Join(o.Staging, stagingPrefix+"*"))
	if left != nil {
		t.Errorf("left in the staging directory: %q", left)
	}
}

// refused collects and returns the reasons; nothing may be left.
func refused(t testing.TB, o Options, want ...verdict.Reason) []*verdict.Refusal {
	t.Helper()
	s, err := Collect(t.Context(), o)
	if err == nil {
		s.Close()
		t.Fatalf("sealed %q", paths(s))
	}
	nothingStaged(t, o)
	rs := reasonsOf(t, err)
	var got []verdict.Reason
	for _, r := range rs {
		got = append(got, r.Reason)
		if len(r.Hints) == 0 {
			t.Errorf("no hint with %v", r)
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("refused with %q, want %q: %v", got, want, err)
	}
	return rs
}

// reasonsOf takes a joined error apart; anything in it that is no refusal is fatal.
func reasonsOf(t testing.TB, err error) []*verdict.Refusal {
	t.Helper()
	if joined, ok := err.(interface{ Unwrap() []error }); ok { // the parts are wanted, not one of them
		var rs []*verdict.Refusal
		for _, e := range joined.Unwrap() {
			rs = append(rs, reasonsOf(t, e)...)
		}
		return rs
	}
	r, ok := errors.AsType[*verdict.Refusal](err)
	if !ok {
		t.Fatalf("no refusal: %v", err)
	}
	return []*verdict.Refusal{r}
}

func paths(s *Set) (ps []string) {
	for _, e := range s.Manifest() {
		p := e.Path
		if e.Type == "dir" {
			p += "/"
		}
		ps = append(ps, p)
	}
	return ps
}
