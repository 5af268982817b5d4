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

	"github.com/trkr-dev/trkr-validate/artifact"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/sandboxtest"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// container builds a worktree with the fake engine: tracked files, a git folder, this program's own, and what an earlier
// build left.
func container(t *testing.T, command string) (Container, Request) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"tool": "v1", "other": "o", ".git/HEAD": "ref", ".trkr/runs/x/build.log": "log", ".trkr/validate/7/contract.md": "VAL", ".trkr/tickets/7/contract.md": "VAL",
		"sub/.git": "gitdir: elsewhere", "sub/file": "another worktree's", "cache/old": "kept",
	} {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	tracked := []string{"tool", "other", "dist/shipped", ".trkr/tickets/7/contract.md"}
	c := Container{
		Builder: &sandboxtest.Fake{}, RunID: "r", Image: "img", Cache: "c", Limits: sandbox.Limits{Memory: 64 << 20, Pids: 9},
		Artifacts: artifact.Options{
			Root: dir, Globs: []string{"dist/*"}, MaxBytes: 1 << 20, MaxFiles: 10,
			Tracked: func(p string) bool { return slices.Contains(tracked, p) },
		},
	}
	env, err := c.Environment(os.Environ(), nil, "7", "trkr/7", "c0ffee")
	if err != nil {
		t.Fatal(err)
	}
	return c, Request{Dir: dir, Command: command, Env: env, Timeout: time.Minute}
}

func holds(t *testing.T, dir, name, want string) {
	t.Helper()
	if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
		t.Errorf("%s holds %q, %v; want %q", name, got, err, want)
	}
}

// The build sees the worktree without what is not its business, and only what the globs match comes back.
func TestContainerBuild(t *testing.T) {
	c, r := container(t, `find . | sort; mkdir -p dist/d; echo v2 >dist/tool; cp tool dist/d/copy; chmod 755 dist/tool; ln -s tool dist/link
echo changed >tool; rm other; echo x >elsewhere; rm -rf cache; ln -s /etc dist/etc; echo $TRKR_ISSUE $TRKR_COMMIT >&2`)
	var log bytes.Buffer
	r.Log = &log
	res, err := c.Run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if want := ".\n./.trkr\n./.trkr/tickets\n./.trkr/tickets/7\n./.trkr/tickets/7/contract.md\n./cache\n./cache/old\n./other\n./sub\n./tool\n7 c0ffee\n"; log.String() != want {
		t.Errorf("it saw %q", log.String())
	}
	for name, want := range map[string]string{"dist/tool": "v2\n", "dist/d/copy": "v1", "tool": "v1", "other": "o", "cache/old": "kept", ".git/HEAD": "ref"} {
		holds(t, r.Dir, name, want)
	}
	if info, err := os.Stat(filepath.Join(r.Dir, "dist/tool")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v %v", info, err)
	}
	for name, want := range map[string]string{"dist/link": "tool", "dist/etc": "/etc"} {
		if got, err := os.Readlink(filepath.Join(r.Dir, name)); got != want || err != nil { // for Collect to judge
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(r.Dir, "elsewhere")); err == nil {
		t.Error("what no glob matches came back")
	}
	w := res.Where
	if !slices.Equal(res.Changed, []string{"other", "tool"}) || w.Where != "container" || w.Image != "img" || w.ImageDigest == "" || w.Engine != "fake" || res.Elapsed <= 0 {
		t.Errorf("%+v", res)
	}
}

// A tracked file that the globs match is what the build made of it, also where that is nothing.
func TestContainerTrackedArtifacts(t *testing.T) {
	for command, want := range map[string]string{"true": "as committed", "touch -r dist/shipped t; printf 'AS COMMITTED' >dist/shipped; touch -r t dist/shipped": "AS COMMITTED", "echo new >dist/shipped": "new\n", "rm dist/shipped": ""} {
		c, r := container(t, command)
		if err := errors.Join(os.Mkdir(filepath.Join(r.Dir, "dist"), 0o755), os.WriteFile(filepath.Join(r.Dir, "dist/shipped"), []byte("as committed"), 0o644)); err != nil {
			t.Fatal(err)
		}
		res, err := c.Run(t.Context(), r)
		if err != nil || len(res.Changed) > 0 {
			t.Errorf("%s: %+v %v", command, res, err)
		}
		if got, _ := os.ReadFile(filepath.Join(r.Dir, "dist/shipped")); string(got) != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

// A file that cannot be read to its end does not hold up the run: beside the globs, nor as an artifact, nor where it was
// tracked.
func TestContainerReadsNoMoreThanItTakes(t *testing.T) {
	const huge = "truncate -s 4T huge; truncate -s 4T tool; mkdir dist; echo made >dist/made"
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c, r := container(t, huge)
	res, err := c.Run(ctx, r)
	if err != nil || !slices.Equal(res.Changed, []string{"tool"}) {
		t.Fatalf("%+v %v", res, err)
	}
	holds(t, r.Dir, "dist/made", "made\n")
	c, r = container(t, huge+"; mv huge dist/z")
	if got := refusal(t, second(c.Run(ctx, r)), verdict.ArtifactTooLarge); !strings.Contains(got.Detail, "dist/z") {
		t.Errorf("%+v", got)
	}
}

// Links in the worktree lead nothing elsewhere.
func TestContainerWritesThroughNoLink(t *testing.T) {
	c, r := container(t, "rm -rf dist; mkdir dist; echo made >dist/made")
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(r.Dir, "dist")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("%v", left)
	}
	holds(t, r.Dir, "dist/made", "made\n")
}

func TestContainerRefusals(t *testing.T) {
	for command, c := range map[string]struct {
		reason verdict.Reason
		words  string
	}{
		" ":                        {verdict.BuildMissing, "empty"},
		"echo one; exit 9":         {verdict.BuildFailed, "exit code 9"},
		"no-such-program":          {verdict.BuildFailed, "exit code 127"},
		"kill -SEGV $$":            {verdict.BuildFailed, "segmentation"},
		"kill -9 $PPID; sleep 300": {verdict.BuildFailed, "lost"},
		"mkdir dist; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do : >dist/$i; done": {verdict.ArtifactTooLarge, "10 files"},
		"mkdir dist; head -c 2000000 /dev/zero >dist/big":                      {verdict.ArtifactTooLarge, "1.0 MiB"},
	} {
		place, r := container(t, command)
		got := refusal(t, second(place.Run(t.Context(), r)), c.reason)
		if !strings.Contains(got.Detail, c.words) || len(got.Hints) == 0 {
			t.Errorf("%s: %+v", command, got)
		}
	}
	place, r := container(t, "true")
	place.Builder = answers{err: fmt.Errorf("carrying: %w", sandbox.ErrTooMuch)}
	if got := refusal(t, second(place.Run(t.Context(), r)), verdict.ArtifactTooLarge); !strings.Contains(got.Detail, "within") || len(got.Hints) == 0 {
		t.Errorf("%+v", got)
	}
	place, r = container(t, "echo begun; sleep 300")
	r.Timeout = 300 * time.Millisecond
	if got := refusal(t, second(place.Run(t.Context(), r)), verdict.BuildTimeout); !strings.Contains(got.Detail, "begun") {
		t.Errorf("%+v", got)
	}
}

// answers is an engine that says how a build ended.
type answers struct {
	built sandbox.Built
	err   error
}

func (a answers) RunBuild(context.Context, sandbox.Build) (sandbox.Built, error) {
	return a.built, a.err
}

func TestContainerEnds(t *testing.T) {
	for _, c := range []struct {
		exit        sandbox.Exit
		words, hint string
	}{
		{sandbox.Exit{Code: -1, Cause: sandbox.CauseMemory, Detail: "it used 70 MiB"}, "64 MiB): it used 70 MiB", `"memory"`},
		{sandbox.Exit{Code: 2, Cause: sandbox.CausePids}, "(9)", `"pids"`},
		{sandbox.Exit{Code: -1, Cause: sandbox.CauseUnknown, Detail: "killed"}, "killed", "by itself"},
	} {
		place, r := container(t, "true")
		place.Builder = answers{built: sandbox.Built{Exit: c.exit}}
		if got := refusal(t, second(place.Run(t.Context(), r)), verdict.BuildFailed); !strings.Contains(got.Detail, c.words) || !strings.Contains(strings.Join(got.Hints, ""), c.hint) {
			t.Errorf("%+v", got)
		}
	}
	place, r := container(t, "true")
	place.Builder = answers{built: sandbox.Built{Exit: sandbox.Exit{Code: -1, Cause: sandbox.CauseNotFound, Detail: "the image has no /bin/sh"}}}
	if f := fault.Of(second(place.Run(t.Context(), r))); f == nil || f.Code != "build_unrunnable" || !strings.Contains(f.Hints[0], "build_image") {
		t.Errorf("%v", f)
	}
	place.Builder = answers{err: fault.Envf("image_not_found", nil, "none")}
	if f := fault.Of(second(place.Run(t.Context(), r))); f == nil || f.Code != "image_not_found" {
		t.Errorf("%v", f)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	place.Builder = &sandboxtest.Fake{}
	if err := second(place.Run(ctx, r)); verdict.IsRefusal(err) || !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// A container's environment has its own folders, and of the caller's only what means the same there.
func TestContainerEnvironment(t *testing.T) {
	caller := []string{"PATH=/bin", "HOME=/h", "LANG=de_DE", "XDG_CACHE_HOME=/c", "https_proxy=p", "GOPATH=/g", "GOROOT=/r", "GOFLAGS=-mod=vendor", "CI=true", "CARGO_HOME=/x", "SSL_CERT_FILE=f", "TMPDIR=/t", "TOKEN=t", "GOAUTH=a"}
	got, err := ContainerEnvironment(caller, []string{"TOKEN", "A=b"}, "7", "trkr/7", "c0ffee")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"A=b", "CARGO_HOME=/work/trkr/cache/cargo", "CI=true", "GOFLAGS=-mod=vendor", "GOMODCACHE=/work/trkr/cache/go-mod", "HOME=/work/trkr/home", "LANG=C.UTF-8", "LOGNAME=build", "SHELL=/bin/sh",
		"TMPDIR=/work/trkr/tmp", "TOKEN=t", "TRKR_BRANCH=trkr/7", "TRKR_COMMIT=c0ffee", "TRKR_ISSUE=7", "USER=build", "XDG_CACHE_HOME=/work/trkr/cache", "npm_config_cache=/work/trkr/cache/npm",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestRequired(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(Required("linux/amd64", "linux/amd64", "", dir), Required("darwin/arm64", "linux/arm64", "golang:1", dir)); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	err := Required("darwin/arm64", "linux/arm64", "", dir)
	if f := fault.Of(err); f == nil || !f.Usage || f.Code != "build_image_required" || !strings.Contains(f.Hints[0], `"build_image": "golang:1"`) {
		t.Errorf("%v", err)
	}
}
