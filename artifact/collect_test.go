package artifact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/owner"
	"github.com/trkr-dev/trkr-validate/verdict"
)

func TestGlobs(t *testing.T) {
	root := tree(t, "pkg-1.tgz", "dist/app", "dist/.env", "dist/js/a.js", "dist/js/b.js", "dist/empty/", "build/out.so", "src/main.go", ".hidden/x",
		"dist/.git/config", ".git/HEAD", ".trkr/validate/7/artifact/x", ".trkr/runs/1/x", ".trkr/tickets/7/contract.md", "a/b/c/d.js", "lib -> dist", "we[i]rd/*.js")
	for _, c := range []struct {
		globs []string
		want  []string
	}{
		{[]string{"*.tgz"}, []string{"pkg-1.tgz"}},
		{[]string{"./pkg-1.tgz"}, []string{"pkg-1.tgz"}},
		{[]string{"dist/app"}, []string{"dist/", "dist/app"}},
		{[]string{"dist"}, []string{"dist/", "dist/.env", "dist/app", "dist/empty/", "dist/js/", "dist/js/a.js", "dist/js/b.js"}},
		{[]string{"dist/"}, []string{"dist/", "dist/.env", "dist/app", "dist/empty/", "dist/js/", "dist/js/a.js", "dist/js/b.js"}},
		{[]string{"dist/*"}, []string{"dist/", "dist/.env", "dist/app", "dist/empty/", "dist/js/", "dist/js/a.js", "dist/js/b.js"}},
		{[]string{"dist/*/*.js"}, []string{"dist/", "dist/js/", "dist/js/a.js", "dist/js/b.js"}},
		{[]string{"**/*.js"}, []string{"a/", "a/b/", "a/b/c/", "a/b/c/d.js", "dist/", "dist/js/", "dist/js/a.js", "dist/js/b.js", "we[i]rd/", "we[i]rd/*.js"}},
		{[]string{"a/**/d.js"}, []string{"a/", "a/b/", "a/b/c/", "a/b/c/d.js"}},
		{[]string{"{dist/js,a/b/c}/*.js"}, []string{"a/", "a/b/", "a/b/c/", "a/b/c/d.js", "dist/", "dist/js/", "dist/js/a.js", "dist/js/b.js"}},
		{[]string{`we\[i\]rd/\*.js`}, []string{"we[i]rd/", "we[i]rd/*.js"}},
		{[]string{"dist/.env", ".hidden/*"}, []string{".hidden/", ".hidden/x", "dist/", "dist/.env"}},
		{[]string{"build/**", "dist/js/a.js", "dist/js/*"}, []string{"build/", "build/out.so", "dist/", "dist/js/", "dist/js/a.js", "dist/js/b.js"}},
		{[]string{".trkr/**"}, []string{".trkr/", ".trkr/tickets/", ".trkr/tickets/7/", ".trkr/tickets/7/contract.md"}},
		{[]string{".hidden", "lib", "dist"}, []string{".hidden/", ".hidden/x", "dist/", "dist/.env", "dist/app", "dist/empty/", "dist/js/", "dist/js/a.js", "dist/js/b.js", "lib"}},
	} {
		if got := paths(sealed(t, options(t, root, c.globs...))); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.globs, got, c.want)
		}
	}
	// Everything, but neither history nor our own folders.
	for _, all := range []string{".", "**", "**/*"} {
		for _, p := range paths(sealed(t, options(t, root, all))) {
			if strings.Contains(p, ".git/") || strings.HasPrefix(p, ".trkr/validate") || strings.HasPrefix(p, ".trkr/runs") {
				t.Errorf("%q took %q", all, p)
			}
		}
	}
}

func TestGlobsThatAreNone(t *testing.T) {
	root := tree(t, "a")
	for _, g := range []string{"", "/", "/etc/passwd", "../a", "a/../../b", "a/..", "[", "{a"} {
		for _, o := range []Options{{Globs: []string{g}}, {Globs: []string{"a"}, AllowTracked: []string{g}}} {
			o.Root, o.Staging = root, t.TempDir()
			_, err := Collect(t.Context(), o)
			if f, ok := errors.AsType[*fault.Error](err); !ok || !f.Usage || f.Code != "glob_invalid" || len(f.Hints) == 0 {
				t.Errorf("%q: %v", g, err)
			}
		}
	}
}

func TestMissing(t *testing.T) {
	root := tree(t, "build/App.js", "build/other", "out/mypkg-2.tar.gz", "src/app.js", "empty/", "full/a", "link -> build", "file", ".git/config")
	for _, c := range []struct {
		glob         string
		detail, hint string
	}{
		{"dist/app.js", `there is no "dist"`, `there is "build/App.js", "src/app.js"`},
		{"build/app.js", `"build" holds "App.js", "other"`, `"build/App.js"`},
		{"*.tar.gz", "matches", `"out/mypkg-2.tar.gz"`},
		{"empty/*", `"empty" is empty`, "build's output"},
		{"empty", "matches", "build's output"},
		{"link/App.js", `"link" is a link to "build"`, `"build/App.js"`},
		{"file/x", `"file" is no directory`, "build's output"},
		{".git/config", "matches", "nothing is taken from .git"},
	} {
		o := options(t, root, "full/a", c.glob)
		o.Tracked = func(p string) bool { return strings.HasPrefix(p, "src/") }
		r := refused(t, o, verdict.ArtifactMissing)[0]
		if !strings.Contains(r.Detail, fmt.Sprintf("%q", c.glob)) || !strings.Contains(r.Detail, c.detail) || !strings.Contains(strings.Join(r.Hints, "\n"), c.hint) {
			t.Errorf("%q: %q, hints %q", c.glob, r.Detail, r.Hints)
		}
	}
	refused(t, options(t, root), verdict.ArtifactMissing)
	refused(t, options(t, root, "x", "full/a", "y"), verdict.ArtifactMissing, verdict.ArtifactMissing)
}

func TestSource(t *testing.T) {
	root := tree(t, "dist/app", "bin/run me.sh", "bin/[x]", "src/main.go", "link -> bin/run me.sh")
	o := options(t, root, "dist", "bin", "link")
	o.Tracked = func(p string) bool { return p != "dist/app" }
	r := refused(t, o, verdict.ArtifactIsSource)[0]
	if !strings.Contains(r.Detail, `3 of the matches`) || !strings.Contains(r.Detail, `"bin/[x]", "bin/run me.sh", "link"`) {
		t.Errorf("detail %q", r.Detail)
	}
	// The line of the hint, taken over as it stands, is what helps.
	_, line, ok := strings.Cut(r.Hints[0], `"allow_tracked": `)
	if !ok || json.Unmarshal([]byte(line), &o.AllowTracked) != nil {
		t.Fatalf("hint %q", r.Hints)
	}
	sealed(t, o)
	o.Globs, o.Staging = append(o.Globs, "src"), t.TempDir()
	r = refused(t, o, verdict.ArtifactIsSource)[0]
	if !strings.Contains(r.Detail, `1 of the matches`) || !strings.Contains(r.Hints[0], `"bin/run me.sh","link","src/main.go"]`) {
		t.Errorf("%q, %q", r.Detail, r.Hints)
	}
	// A glob that takes in the whole source needs another hint than a long line.
	for i := range 30 {
		grow(t, root, fmt.Sprintf("src/f%02d.go", i))
	}
	r = refused(t, o, verdict.ArtifactIsSource)[0]
	if !strings.Contains(r.Detail, "and 11 more") || strings.Contains(r.Hints[0], "allow_tracked") {
		t.Errorf("%q, %q", r.Detail, r.Hints)
	}
}

// What arrives is what was there: bytes, modes, names, links, emptiness.
func TestSealsAsItIs(t *testing.T) {
	root := tree(t, "d/plain", "d/exec", "d/private", "d/setuid", "d/shut/x", "d/empty/", "d/ok -> plain", "d/up -> ../d/shut/x", "d/dangling -> nowhere/at/all",
		"d/circle -> circle", "d/deep -> shut/../up", "d/a b", "d/new\nline", "d/non-utf8-\xff", `d/back\slash`, `d/back\x5cslash`, "d/conftest.py", "d/.bashrc", "d/CLAUDE.md", "d/report.json")
	must(t, os.WriteFile(root+"/d/none", nil, 0o644))
	must(t, os.WriteFile(root+"/d/big", bytes.Repeat([]byte("0123456789abcdef"), 700_000), 0o644))
	for p, m := range map[string]uint32{"exec": 0o711, "private": 0o600, "setuid": 0o6755, "none": 0o666, "shut": 0o1700, "empty": 0o555} {
		must(t, unix.Chmod(root+"/d/"+p, m))
	}
	when := time.Unix(1_000_000_000, 123_456_789)
	must(t, os.Chtimes(root+"/d/plain", when, when))

	o := options(t, root, "d")
	s := sealed(t, o)
	want := map[string]verdict.Entry{
		"d":                  {Type: "dir", Mode: 0o755},
		"d/plain":            {Type: "file", Mode: 0o644},
		"d/exec":             {Type: "file", Mode: 0o755},
		"d/private":          {Type: "file", Mode: 0o644},
		"d/setuid":           {Type: "file", Mode: 0o755},
		"d/none":             {Type: "file", Mode: 0o666},
		"d/big":              {Type: "file", Mode: 0o644},
		"d/shut":             {Type: "dir", Mode: 0o755},
		"d/shut/x":           {Type: "file", Mode: 0o644},
		"d/empty":            {Type: "dir", Mode: 0o755},
		"d/ok":               {Type: "link", Mode: 0o777, Target: "plain"},
		"d/up":               {Type: "link", Mode: 0o777, Target: "../d/shut/x"},
		"d/dangling":         {Type: "link", Mode: 0o777, Target: "nowhere/at/all"},
		"d/circle":           {Type: "link", Mode: 0o777, Target: "circle"},
		"d/deep":             {Type: "link", Mode: 0o777, Target: "shut/../up"},
		"d/a b":              {Type: "file", Mode: 0o644},
		`d/new\x0aline`:      {Type: "file", Mode: 0o644},
		`d/non-utf8-\xff`:    {Type: "file", Mode: 0o644},
		`d/back\x5cslash`:    {Type: "file", Mode: 0o644},
		`d/back\x5cx5cslash`: {Type: "file", Mode: 0o644},
		"d/conftest.py":      {Type: "file", Mode: 0o644},
		"d/.bashrc":          {Type: "file", Mode: 0o644},
		"d/CLAUDE.md":        {Type: "file", Mode: 0o644},
		"d/report.json":      {Type: "file", Mode: 0o644},
	}
	dir := filepath.Join(o.Staging, "7")
	must(t, s.Materialise(dir, []byte("VAL-1: it works\n")))
	for _, e := range s.Manifest() {
		raw, err := UnescapePath(e.Path)
		must(t, err)
		w, ok := want[e.Path]
		delete(want, e.Path)
		here, there := filepath.Join(root, raw), filepath.Join(dir, "artifact", raw)
		info, err := os.Lstat(there)
		must(t, err)
		if w.Type == "file" {
			original, err := os.ReadFile(here)
			must(t, err)
			copied, err := os.ReadFile(there)
			must(t, err)
			sum := sha256.Sum256(original)
			w.Size, w.SHA256 = int64(len(original)), hex.EncodeToString(sum[:])
			if !bytes.Equal(original, copied) {
				t.Errorf("%s: other bytes", e.Path)
			}
		}
		w.Path = e.Path
		if !ok || e != w {
			t.Errorf("entry %+v\nwant  %+v", e, w)
		}
		if info.Mode()&os.ModeSymlink == 0 && uint32(info.Mode().Perm()) != e.Mode || info.Mode()&(os.ModeSetuid|os.ModeSetgid|os.ModeSticky) != 0 {
			t.Errorf("%s: mode %v, manifest says %04o", e.Path, info.Mode(), e.Mode)
		}
	}
	for p := range want {
		t.Errorf("%s is not in the manifest", p)
	}
	info, err := os.Stat(dir + "/artifact/d/plain")
	must(t, err)
	if !info.ModTime().Equal(when) {
		t.Errorf("modified at %v", info.ModTime())
	}
}

func TestSpecialFilesAreRefusedByName(t *testing.T) {
	root := tree(t, "d/ok")
	must(t, syscall.Mkfifo(root+"/d/fifo", 0o644))
	old, err := os.Getwd()
	must(t, err)
	must(t, os.Chdir(root)) // the path of a socket is short
	l, err := net.Listen("unix", "d/sock")
	must(t, os.Chdir(old))
	must(t, err)
	defer l.Close()
	want := `"d/fifo" (FIFO), "d/sock" (socket)`
	if os.Getuid() == 0 {
		must(t, unix.Mknod(root+"/d/a-device", unix.S_IFCHR|0o644, int(unix.Mkdev(1, 3))))
		want = `"d/a-device" (device), ` + want
	}
	r := refused(t, options(t, root, "d"), verdict.ArtifactUnsafe)[0]
	if !strings.Contains(r.Detail, want) {
		t.Errorf("detail %q", r.Detail)
	}
}

func TestLinksThatLeaveAreRefusedByName(t *testing.T) {
	root := tree(t, "d/ok", "e/x", "d/absolute -> /etc/passwd", "d/climbs -> ../../etc/passwd", "d/root -> ../..", "d/in/through -> ../jump/../../x", "d/jump -> in/deep/er", "d/in/deep/er/",
		"d/outside -> ../e/x", "d/chain -> absolute", "d/into -> ../.git/config", ".git/config", "d/fine -> ./in//deep/../../ok")
	rs := refused(t, options(t, root, "d"), verdict.ArtifactUnsafe, verdict.ArtifactUnsafe)
	for i, want := range [][]string{
		{`"d/absolute"`, `"d/chain"`, `"d/climbs"`, `"d/root"`},
		{`"d/into" (to ".git")`, `"d/outside" (to "e")`},
	} {
		for _, w := range want {
			if !strings.Contains(rs[i].Detail, w) {
				t.Errorf("detail %q lacks %s", rs[i].Detail, w)
			}
		}
		if strings.Contains(rs[i].Detail, "fine") || strings.Contains(rs[i].Detail, "through") {
			t.Errorf("detail %q", rs[i].Detail)
		}
	}
}

func TestTooLarge(t *testing.T) {
	root := tree(t, "d/a", "d/b", "d/c")
	// 3 TiB that take no room: refused at once by what they pretend to be.
	must(t, os.Truncate(root+"/d/b", 3<<40))
	r := refused(t, options(t, root, "d"), verdict.ArtifactTooLarge)[0]
	if !strings.Contains(r.Detail, "3072.0 GiB") || !strings.Contains(r.Detail, `"d/b"`) {
		t.Errorf("detail %q", r.Detail)
	}
	must(t, os.Remove(root+"/d/b"))
	o := options(t, root, "d")
	o.MaxFiles = 2
	r = refused(t, o, verdict.ArtifactTooLarge)[0]
	if !strings.Contains(r.Detail, "more than 2") {
		t.Errorf("detail %q", r.Detail)
	}
	o.MaxFiles = 3
	sealed(t, o)
}

func TestSparseStaysSparse(t *testing.T) {
	const length = 24 << 20
	root := tree(t, "d/end", "d/hole", "d/middle")
	for name, at := range map[string]int64{"end": 0, "hole": -1, "middle": 10 << 20} {
		f, err := os.OpenFile(root+"/d/"+name, os.O_RDWR|os.O_TRUNC, 0)
		must(t, err)
		must(t, f.Truncate(length))
		if at >= 0 {
			_, err = f.WriteAt([]byte("data"), at)
			must(t, err)
		}
		must(t, f.Close())
	}
	must(t, os.WriteFile(root+"/d/tail", append(make([]byte, 5<<20), 1), 0o644))
	o := options(t, root, "d")
	s := sealed(t, o)
	must(t, s.Materialise(o.Staging+"/set", nil))
	for _, e := range s.Manifest()[1:] {
		there := o.Staging + "/set/artifact/" + e.Path
		b, err := os.ReadFile(there)
		must(t, err)
		here, err := os.ReadFile(filepath.Join(root, e.Path))
		must(t, err)
		if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != e.SHA256 || !bytes.Equal(b, here) {
			t.Errorf("%s: %d bytes with other content", e.Path, len(b))
		}
		var st unix.Stat_t
		must(t, unix.Stat(there, &st))
		if e.Size == length && st.Blocks*512 > 1<<20 {
			t.Errorf("%s takes %d bytes on disk", e.Path, st.Blocks*512)
		}
	}
}

func TestEveryReasonAtOnce(t *testing.T) {
	root := tree(t, "dist/app", "src/a.go", "dist/l -> /etc", "dist/o -> ../src/b", "src/b", "dist/prog")
	must(t, syscall.Mkfifo(root+"/dist/fifo", 0o644))
	must(t, os.WriteFile(root+"/dist/prog", programHeader("darwin/arm64"), 0o755))
	o := options(t, root, "dist", "src/a.go", "*.tgz", "nothing/*")
	o.Tracked = func(p string) bool { return strings.HasPrefix(p, "src/") }
	o.MaxBytes = 10
	rs := refused(t, o, verdict.ArtifactMissing, verdict.ArtifactMissing, verdict.ArtifactIsSource, verdict.ArtifactTooLarge,
		verdict.ArtifactUnsafe, verdict.ArtifactUnsafe, verdict.ArtifactUnsafe, verdict.ArtifactUnsafe)
	if last := rs[len(rs)-1]; !strings.Contains(last.Detail, `"dist/prog" (darwin/arm64)`) || !strings.Contains(last.Hints[0], "linux/amd64") {
		t.Errorf("%+v", last)
	}
}

// An ordinary user meets what root does not: what is not readable, and directories that nobody may write to.
func TestOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("running as an ordinary user already")
	}
	top, err := os.MkdirTemp("", "trkr-artifact-")
	must(t, err)
	defer removeTree(top)
	root, staging := top+"/root", top+"/staging"
	grow(t, root, "d/ok", "d/secret", "e/x")
	must(t, os.Chmod(root+"/d/secret", 0))
	must(t, os.Mkdir(staging, 0o777))
	must(t, os.Chmod(top, 0o755))
	if os.Getuid() == 0 {
		must(t, os.Chown(staging, 65534, 65534))
	}
	as := func() string { return asOrdinaryUser(t, "collect", root, staging) }
	if out := as(); !strings.Contains(out, `artifact_unsafe: not readable: "d/secret" (permission denied)`) {
		t.Errorf("got %q", out)
	}
	must(t, os.Chmod(root+"/d/secret", 0o444))
	must(t, os.Chmod(root+"/d", 0o555))
	for range 2 { // the second one replaces what the first one made
		if out := as(); out != "<nil>\n" {
			t.Errorf("got %q", out)
		}
	}
	if left, _ := filepath.Glob(staging + "/.*"); left != nil {
		t.Errorf("left: %q", left)
	}
}

// asOrdinaryUser runs this test's program with args as somebody who is not root.
func asOrdinaryUser(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Dir = "/"
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// Some tools shut the folders that they fill; their owner can move files out of them and back all the same.
func TestAsideOutOfShutFolders(t *testing.T) {
	root, err := os.MkdirTemp("", "trkr-artifact-")
	must(t, err)
	defer removeTree(root)
	grow(t, root, "dist/app", "dist/made", "dist/sub/x")
	must(t, os.Chmod(root+"/dist/sub", 0o555))
	must(t, os.Chmod(root+"/dist", 0o755))
	must(t, filepath.WalkDir(root, func(p string, _ fs.DirEntry, err error) error {
		if err != nil || os.Getuid() != 0 {
			return err
		}
		return os.Lchown(p, 65534, 65534)
	}))
	before := everything(t, root)
	if out := asOrdinaryUser(t, "aside", root, "makes nothing"); out != "" {
		t.Errorf("got %q", out)
	}
	if after := everything(t, root); !slices.Equal(after, before) {
		t.Errorf("after %q", after)
	}
	if info, err := os.Stat(root + "/dist/sub"); err != nil || info.Mode().Perm() != 0o555 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := options(t, tree(t, "d/a"), "d")
	o.Tracked = func(string) bool { cancel(); return false }
	_, err := Collect(ctx, o)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("err = %v", err)
	}
	nothingStaged(t, o)
}

func TestStagingThatCannotBe(t *testing.T) {
	o := options(t, tree(t, "d/a", "file"), "d")
	o.Staging = o.Root + "/file/x"
	_, err := Collect(t.Context(), o)
	if f := fault.Of(err); f == nil || f.Usage || f.Code != "staging_failed" {
		t.Fatalf("err = %v", err)
	}
}

// What a killed program left is removed by the next one; what a live one makes is not.
func TestSweepsWhatTheDeadLeft(t *testing.T) {
	o := options(t, tree(t, "d/a"), "d")
	dead := owner.Self()
	dead.Boot = "0"
	other := dead
	other.UID++
	gone := filepath.Join(o.Staging, stagingPrefix+dead.String()+".123")
	kept := []string{stagingPrefix + owner.Self().String() + ".123", stagingPrefix + other.String() + ".123", "7", stagingPrefix + "x"}
	grow(t, gone, "artifact/shut/x", "l -> "+o.Root)
	must(t, os.Chmod(gone+"/artifact/shut", 0))
	for _, k := range kept {
		grow(t, filepath.Join(o.Staging, k), "x")
	}
	s, err := Collect(t.Context(), o)
	must(t, err)
	must(t, s.Close())
	must(t, s.Close())
	left, err := os.ReadDir(o.Staging)
	must(t, err)
	var names []string
	for _, e := range left {
		names = append(names, e.Name())
	}
	slices.Sort(kept)
	if !slices.Equal(names, kept) {
		t.Errorf("left %q, want %q", names, kept)
	}
	if _, err := os.Lstat(o.Root + "/d/a"); err != nil {
		t.Errorf("a link was followed: %v", err)
	}
}
