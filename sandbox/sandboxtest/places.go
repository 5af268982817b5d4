//go:build unix

package sandboxtest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trkr-dev/trkr-validate/sandbox"
)

func (s *suite) check(t *testing.T) {
	v, err := s.engine.Check(timeout(t))
	if err != nil || v.Version == "" {
		t.Errorf("%+v, %v", v, err)
	}
}

func (s *suite) info(t *testing.T, box sandbox.Sandbox) {
	i := box.Info()
	if i.Engine != s.engine.Name() {
		t.Errorf("the box is %q's, the engine is %q", i.Engine, s.engine.Name())
	}
	for _, l := range []string{"memory", "cpus", "pids", "tmp", "output"} {
		if i.Limits[l] == "" {
			t.Errorf("nothing is said of the limit %q: %v", l, i.Limits)
		}
	}
}

func (s *suite) inputs(t *testing.T, box sandbox.Sandbox) {
	for _, full := range []int64{1 << 30, 0} {
		got, err := box.Inputs(timeout(t), full)
		if err != nil {
			t.Fatal(err)
		}
		want := listed(t, s.input, full)
		slices.SortFunc(got, func(a, b sandbox.File) int { return strings.Compare(a.Path, b.Path) })
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("hashing %d bytes whole (-host +box):\n%s", full, d)
		}
	}
}

// listed is what Inputs must answer, made from the host's side. With full 0 no file that is larger than two MiB is
// hashed whole.
func listed(t *testing.T, dir string, full int64) []sandbox.File {
	t.Helper()
	var files []sandbox.File
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		i, err := d.Info()
		if err != nil {
			return err
		}
		f := sandbox.File{Path: strings.TrimPrefix(p, dir+"/"), Mode: uint32(i.Mode().Perm())}
		switch {
		case i.IsDir():
			f.Type = "dir"
		case i.Mode()&fs.ModeSymlink != 0:
			f.Type, f.Size = "link", i.Size()
			f.Target, err = os.Readlink(p)
		default:
			f.Type, f.Size = "file", i.Size()
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			if full == 0 && len(b) > 2<<20 {
				f.Partial = true
				b = append(b[:1<<20:1<<20], b[len(b)-1<<20:]...)
			}
			h := sha256.Sum256(b)
			f.Digest = hex.EncodeToString(h[:])
		}
		files = append(files, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(files, func(a, b sandbox.File) int { return strings.Compare(a.Path, b.Path) })
	return files
}

func (s *suite) sessions(t *testing.T, box sandbox.Sandbox) {
	a := open(t, box, sandbox.SessionSpec{})
	for _, dir := range []string{a.Dir(), a.Home()} {
		if !filepath.IsAbs(dir) {
			t.Errorf("%q is not absolute", dir)
		}
		if got := says(t, a, "ls", dir); got != "\n" {
			t.Errorf("%s is not empty: %q", dir, got)
		}
	}
	says(t, a, "write", "mine", "secret")
	says(t, a, "write", a.Home()+"/mine", "secret")
	if got := says(t, a, "read", "mine"); got != "secret" { // the next command of the session finds it
		t.Errorf("%q", got)
	}
	b := open(t, box, sandbox.SessionSpec{})
	if s.traits.Isolates {
		if x, y := says(t, a, "ids"), says(t, b, "ids"); x == y || strings.HasPrefix(x, "0 ") || strings.HasPrefix(y, "0 ") {
			t.Errorf("ids of two sessions: %q and %q", x, y)
		}
		for _, f := range []string{a.Dir() + "/mine", a.Home() + "/mine"} {
			if r := subject(t, b, "read", f); r.Code == 0 {
				t.Errorf("another session reads %s", f)
			}
		}
		shared := "/tmp/left-" + filepath.Base(filepath.Dir(a.Dir()))
		says(t, a, "mkdir", shared, "0")
		says(t, a, "mkdir", "shut", "0")
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		c := open(t, box, sandbox.SessionSpec{})
		if got := says(t, c, "ls", "/tmp", "/dev/shm"); got != "\n" {
			t.Errorf("a closed session left %q", got)
		}
	}
	dir := a.Dir()
	for range 2 {
		if err := a.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	}
	if r := subject(t, b, "ls", dir); r.Code == 0 && strings.TrimSpace(r.out) != "" {
		t.Errorf("a closed session left %q", r.out)
	}
}

func (s *suite) environment(t *testing.T, box sandbox.Sandbox) {
	se := open(t, box, sandbox.SessionSpec{Env: []string{"ONE=of the session", "TWO=of the session", "LANG=C"}})
	r := run(t, se, sandbox.Command{Args: []string{program, "env"}, Env: []string{"TWO=of the command", "ODD=\xff\n"}})
	env := "\n" + r.out
	for _, want := range []string{"ONE=of the session", "TWO=of the command", "LANG=C\n", "ODD=\xff\n", "TERM=dumb", "HOME=", "PATH=", "TMPDIR=", "USER="} {
		if !strings.Contains(env, "\n"+want) {
			t.Errorf("%q is not in %q", want, env)
		}
	}
	for _, no := range []string{s.planted.secret, "TWO=of the session", "LANG=C.UTF-8"} {
		if strings.Contains(env, no) {
			t.Errorf("%q is in %q", no, env)
		}
	}
	if got := strings.TrimSpace(run(t, se, sandbox.Command{Args: []string{program, "pwd"}, Dir: sandbox.Artifact}).out); !strings.HasSuffix(got, "/artifact") {
		t.Errorf("the directory asked for is %q", got)
	}
	if got := strings.TrimSpace(says(t, se, "pwd")); !strings.HasSuffix(got, se.Dir()) {
		t.Errorf("the directory is %q, the session's %q", got, se.Dir())
	}
}

func (s *suite) install(t *testing.T, box sandbox.Sandbox) {
	in := open(t, box, sandbox.SessionSpec{Role: sandbox.RoleInstall})
	says(t, in, "mkdir", sandbox.Prefix+"/bin", "493") // 0755
	says(t, in, "write", sandbox.Prefix+"/bin/data", "installed")
	says(t, in, "mkdir", sandbox.Prefix+"/open", "493")
	says(t, in, "write", sandbox.Prefix+"/open/data", "installed")
	says(t, in, "mkdir", sandbox.Prefix+"/shut", "493")
	says(t, in, "write", sandbox.Prefix+"/shut/data", "installed")
	if s.traits.Isolates { // careless installs leave such modes
		says(t, in, "chmod", "777", sandbox.Prefix, sandbox.Prefix+"/open", sandbox.Prefix+"/open/data")
		says(t, in, "chmod", "0", sandbox.Prefix+"/shut/data", sandbox.Prefix+"/shut")
	}
	if _, err := box.Open(timeout(t), sandbox.SessionSpec{Role: sandbox.RoleInstall}); err == nil {
		t.Error("two install sessions at once")
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	se := open(t, box, sandbox.SessionSpec{})
	for _, p := range []string{"/bin/data", "/open/data", "/shut/data"} {
		if got := says(t, se, "read", sandbox.Prefix+p); got != "installed" {
			t.Errorf("the subject reads %q in %s", got, p)
		}
	}
	if s.traits.Isolates {
		if got := says(t, se, "touch", sandbox.Prefix+"/new", sandbox.Prefix+"/open/data", sandbox.Prefix+"/open/new", sandbox.Prefix+"/shut/data"); got != "" {
			t.Errorf("after the install the subject %s", got)
		}
	}
	again := open(t, box, sandbox.SessionSpec{Role: sandbox.RoleInstall})
	says(t, again, "write", sandbox.Prefix+"/bin/data", "again")
	if s.traits.Isolates {
		for _, p := range []string{"/bin/data", "/bin/new", "/new"} {
			if r := subject(t, se, "write", sandbox.Prefix+p, "changed"); r.Code == 0 {
				t.Errorf("the subject writes %s", p)
			}
		}
	}
}

func (s *suite) observe(t *testing.T, box sandbox.Sandbox) {
	se := open(t, box, sandbox.SessionSpec{})
	says(t, se, "write", "file", "0123456789")
	says(t, se, "mkdir", "shut", "0")
	os := func(paths ...string) []sandbox.File {
		t.Helper()
		f, err := se.Observe(timeout(t), 4, paths...)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	got := os("file", "nothing", "shut", "file/below", sandbox.Artifact+"/link", sandbox.Artifact+"/empty", "odd\xff")
	sum := func(s string) string { h := sha256.Sum256([]byte(s)); return hex.EncodeToString(h[:]) }
	want := []sandbox.File{
		{Path: "file", Type: "file", Mode: 0o644, Size: 10, Digest: sum("0123456789"), Content: []byte("0123")},
		{Path: "nothing"},
		{Path: "shut", Type: "dir"},
		{Path: "file/below"},
		{Path: sandbox.Artifact + "/link", Type: "link", Mode: 0o777, Size: 11, Target: "bin/subject"},
		{Path: sandbox.Artifact + "/empty", Type: "file", Mode: 0o644, Digest: sum("")},
		{Path: "odd\xff"},
	}
	for i := range got {
		if len(got[i].Content) == 0 {
			got[i].Content = nil
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if f := os(); len(f) != 0 {
		t.Errorf("of no paths: %v", f)
	}
}

func (s *suite) lookPath(t *testing.T, box sandbox.Sandbox) {
	se := open(t, box, sandbox.SessionSpec{Env: []string{"PATH=/no/such/dir:" + sandbox.Artifact + ":" + sandbox.Artifact + "/bin"}})
	got, err := se.LookPath(timeout(t), "link", "subject", "script.txt", "nothing", program, "dangling")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{program, program, "", "", program, ""}, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if r := run(t, se, sandbox.Command{Args: []string{"subject", "exit", "4"}}); r.Code != 4 {
		t.Errorf("from PATH: %s", r.Exit)
	}
	if r := run(t, se, sandbox.Command{Args: []string{"./bin/subject", "exit", "4"}, Dir: sandbox.Artifact}); r.Code != 4 {
		t.Errorf("from the command's directory: %s", r.Exit)
	}
	if r := run(t, se, sandbox.Command{Args: []string{"subject", "exit", "4"}, Env: []string{"PATH=/no/such/dir"}}); r.Cause != sandbox.CauseNotFound {
		t.Errorf("with a PATH of the command's own: %s", r.Exit)
	}
}

func (s *suite) decoys(t *testing.T, box sandbox.Sandbox) {
	for _, code := range []int{0, 1} {
		se := open(t, box, sandbox.SessionSpec{
			Env: []string{"PATH=" + sandbox.Artifact + "/bin"}, Decoys: []string{"subject", "another"}, DecoyExit: code,
		})
		for _, c := range []sandbox.Command{
			{Args: []string{"subject", "say", "words", "words"}},
			{Args: []string{"another"}},
			{Args: []string{"subject", "say", "words", "words"}, Env: []string{"PATH=" + sandbox.Artifact + "/bin"}},
		} {
			if r := run(t, se, c); !r.Exited() || r.Code != code || r.out+r.err != "" {
				t.Errorf("%q: %s %q %q", c.Args, r.Exit, r.out, r.err)
			}
		}
		if got := says(t, se, "say", "the program itself", ""); got != "the program itself\n" {
			t.Errorf("by its path: %q", got)
		}
	}
	for _, bad := range []string{"", "..", "a/b"} {
		if se, err := box.Open(timeout(t), sandbox.SessionSpec{Role: sandbox.RoleSubject, Decoys: []string{bad}}); err == nil {
			se.Close()
			t.Errorf("a decoy is called %q", bad)
		}
	}
}

func (s *suite) closing(t *testing.T, box sandbox.Sandbox) {
	se := open(t, box, sandbox.SessionSpec{})
	for range 2 {
		if err := box.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	}
	if _, err := se.Run(timeout(t), sandbox.Command{Args: []string{program, "exit", "0"}}); !isLost(err) {
		t.Errorf("a command in a closed box: %v", err)
	}
	if _, err := box.Open(timeout(t), sandbox.SessionSpec{Role: sandbox.RoleSubject}); !isLost(err) {
		t.Errorf("a session in a closed box: %v", err)
	}
	if _, err := box.Inputs(timeout(t), 0); !isLost(err) {
		t.Errorf("the inputs of a closed box: %v", err)
	}
}

func (s *suite) lost(t *testing.T) {
	box, run := s.startNamed(t, Limits)
	se := open(t, box, sandbox.SessionSpec{})
	up := make(chan struct{}, 100)
	ended := make(chan error, 1)
	go func() {
		e, err := se.Run(timeout(t), sandbox.Command{Args: []string{program, "hold", "ticks", "and stay"}, Stdout: writer(func([]byte) error {
			up <- struct{}{}
			return nil
		})})
		ended <- fmt.Errorf("%s: %w", e, err)
	}()
	<-up
	s.traits.Kill(t, run)
	if err := <-ended; !isLost(err) {
		t.Errorf("a command whose box was killed: %v", err)
	}
	if _, err := se.Run(timeout(t), sandbox.Command{Args: []string{program, "exit", "0"}}); !isLost(err) {
		t.Errorf("a command in a box that is gone: %v", err)
	}
	if err := se.Close(); !isLost(err) {
		t.Errorf("closing its session: %v", err)
	}
	if err := box.Close(); err != nil {
		t.Errorf("closing it: %v", err)
	}
}
