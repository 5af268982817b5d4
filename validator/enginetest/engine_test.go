package enginetest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/contract"
	"github.com/trkr-dev/trkr-validate/internal/install"
	"github.com/trkr-dev/trkr-validate/internal/testengine"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/docker"
	"github.com/trkr-dev/trkr-validate/sandbox/gvisor"
	"github.com/trkr-dev/trkr-validate/validator"
	"github.com/trkr-dev/trkr-validate/validator/command"
	"github.com/trkr-dev/trkr-validate/validator/probe"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// The test binary is its own init and its own gVisor, as the program is.
func TestMain(m *testing.M) {
	gvisor.Dispatch()
	os.Exit(m.Run())
}

// onEngines runs a test on every engine that can be used here.
func onEngines(t *testing.T, test func(t *testing.T, e sandbox.Engine)) {
	for _, e := range []sandbox.Engine{gvisor.New(gvisor.Options{}), docker.New(docker.Options{})} {
		t.Run(e.Name(), func(t *testing.T) {
			_, err := e.Check(t.Context())
			testengine.Require(t, e.Name(), err)
			test(t, e)
		})
	}
}

// artifact is what a box holds: content by path. A path that ends in "!" is executable.
type artifact map[string][]byte

// subject is a box with an artifact, and what was installed of it.
type subject struct {
	box        sandbox.Sandbox
	manifest   []verdict.Entry
	services   []validator.Service
	transcript bytes.Buffer
}

func start(t testing.TB, e sandbox.Engine, a artifact) *subject {
	t.Helper()
	s := &subject{}
	input := t.TempDir()
	write := func(name string, content []byte, mode os.FileMode) {
		path := filepath.Join(input, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, mode); err != nil {
			t.Fatal(err)
		}
	}
	write("contract.md", []byte("VAL-1: works\n"), 0o644)
	for name, content := range a {
		name, executable := strings.CutSuffix(name, "!")
		mode := os.FileMode(0o644)
		if executable {
			mode = 0o755
		}
		write("artifact/"+name, content, mode)
		s.manifest = append(s.manifest, verdict.Entry{Path: name, Type: "file", Mode: uint32(mode), Size: int64(len(content))})
	}
	box, err := e.Start(t.Context(), sandbox.Spec{
		RunID: fmt.Sprintf("enginetest-%d-%d", os.Getpid(), time.Now().UnixNano()), Input: input, Image: "host",
		Limits: sandbox.Limits{Memory: 1 << 30, CPUs: 2, Pids: 128, Output: 4 << 20, Tmp: 128 << 20},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(s.transcript.String())
		}
	})
	s.box = box
	return s
}

func (s *subject) install(t *testing.T, commands ...string) install.Result {
	t.Helper()
	r, err := install.Run(t.Context(), s.box, install.Request{
		Commands: commands, Manifest: s.manifest, Path: []string{sandbox.Artifact}, Timeout: 5 * time.Minute, Transcript: &s.transcript,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (s *subject) ask(t testing.TB, agent validator.Agent, r install.Result, texts ...string) verdict.Report {
	t.Helper()
	var c contract.Contract
	for i, text := range texts {
		c.Assertions = append(c.Assertions, contract.Assertion{ID: fmt.Sprintf("VAL-%d", i+1), Text: text})
	}
	programs := r.Programs
	for _, e := range s.manifest {
		if e.Mode&0o111 != 0 {
			programs = append(programs, e.Path)
		}
	}
	report, err := agent.Validate(t.Context(), s.box, validator.Task{
		Contract: c, Assertions: c.Assertions, Path: append([]string{sandbox.Artifact}, r.Path...), Programs: programs, Services: s.services,
		Timeout: 5 * time.Minute, Output: 1 << 20, Transcript: &s.transcript, Reported: func(verdict.Reported) {}, Ran: func(validator.Ran) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// check holds each assertion against the status that it has to have.
func (s *subject) check(t *testing.T, r install.Result, want []expected) {
	t.Helper()
	texts := make([]string, len(want))
	for i, w := range want {
		texts[i] = w.text
	}
	report := s.ask(t, probe.New(probe.Options{}), r, texts...)
	for i, got := range report.Criteria {
		if got.Status != want[i].status || !strings.Contains(got.Evidence, want[i].why) {
			t.Errorf("%s\n%s: %s\nwant %s: %s", want[i].text, got.Status, got.Evidence, want[i].status, want[i].why)
		}
	}
	if len(report.Criteria) != len(want) {
		t.Errorf("%d criteria of %d", len(report.Criteria), len(want))
	}
}

type expected struct {
	text   string
	status verdict.Status
	why    string
}

// tool does what the probe's assertions ask about.
const tool = `#!/bin/sh
case "$1" in
--help) echo "Usage: tool COMMAND"; echo "  new, upper, crash, hang, spin, args" ;;
new) [ -e "$2" ] && { echo "tool: $2 exists" >&2; exit 1; }; printf 'made\n' >"$2" ;;
clean) rm "$2" ;;
upper) tr a-z A-Z ;;
args) shift; for a; do printf '<%s>' "$a"; done; echo ;;
home) [ -w "$HOME" ] && [ -z "$(ls -A)" ] && echo "$PWD" ;;
crash) kill -SEGV $$ ;;
leave) sleep 300 & echo left ;;
flood) exec yes ;;
gone) rm -rf "$PWD" ;;
open) ln -s /validate/artifact/data d ;;
link) ln -s nowhere out ;;
shut) mkdir d && echo x >d/f && chmod 0 d ;;
moved) rmdir "$PWD" && ln -s /validate/artifact/data "$PWD" ;;
*) echo "usage: tool COMMAND" >&2; exit 2 ;;
esac
`

func TestProbe(t *testing.T) {
	onEngines(t, func(t *testing.T, e sandbox.Engine) {
		s := start(t, e, artifact{"tool!": []byte(tool), "broken!": []byte("\x7fELF no program"), "plain": []byte("echo from a script\n")})
		r := s.install(t)
		if r.Installed || r.Failure != nil || r.Kind != install.KindPrograms {
			t.Errorf("install: %+v", r)
		}
		s.check(t, r, []expected{
			{"`tool --help` succeeds and prints `upper` to stdout, with a usage message", verdict.Met, "/validate/artifact/tool"},
			{"`tool --nope` exits 2 with a usage message to stderr, prints nothing to stdout", verdict.Met, "exit code 2"},
			{"`tool --nope` exits 1", verdict.Unmet, "expected exit code 1, got 2"},
			{"`tool new a.txt` creates the file `a.txt` containing `made`", verdict.Met, ""},
			{"after `tool new a.txt`, `tool new a.txt` fails with an error message, leaves `a.txt` unchanged", verdict.Met, "exists"},
			{"after `tool new a.txt`, `tool clean a.txt` removes the file `a.txt`", verdict.Met, ""},
			{"`tool upper` with input \"a\\nb\\n\" prints exactly \"A\\nB\\n\"", verdict.Met, ""},
			{"`tool args 'a b' \"c\" '' $((1+1))` prints exactly `<a b><c><><2>`", verdict.Met, ""},
			{"`tool args 'a b' '$X'` prints exactly `<a b><$X>`", verdict.Met, ""},
			{"`echo hi | tool upper` prints a line matching `/^HI$/` within 20s", verdict.Met, ""},
			{"`tool home` prints 1 line", verdict.Met, ""},
			{"`tool crash` fails", verdict.Unmet, "SIGSEGV"},
			{"`tool crash; true` does not print `x`", verdict.Unverified, "hides"},
			{"`A=1 tool crash` fails", verdict.Unmet, "signal 11"},
			{"`tool leave` exits 0 within 20s", verdict.Met, ""},
			{"`tool flood` fails", verdict.Unmet, "output limit"},
			{"`tool <missing.txt` exits 0", verdict.Unmet, ""},
			{"`broken` fails", verdict.Unmet, "not executable"},
			{"`nosuchprogram` fails", verdict.Blocked, "not found"},
			{"`sort --version` succeeds", verdict.Unverified, "only the image's programs"},
			{"`sh /validate/artifact/plain` prints `from a script`", verdict.Met, "/validate/artifact/plain"},
			{"`sh /validate/artifact/missing` fails", verdict.Blocked, "was not found"},
			{"`tool` is easy to use", verdict.Unverified, "is easy to use"},
		})
	})
}

// What only looks as if the artifact did it, on real engines with a real shell.
func TestDoubt(t *testing.T) {
	const byPath = "/validate/artifact/tool"
	yes := []byte("#!/bin/sh\nexit 0\n")
	onEngines(t, func(t *testing.T, e sandbox.Engine) {
		s := start(t, e, artifact{"tool!": []byte(tool), "data/report.txt": []byte("x\n"), "grep!": yes, "cmp!": yes})
		s.check(t, s.install(t), []expected{
			{"`tool --help | grep nonsense` succeeds", verdict.Unverified, "own \"grep\""},
			{"after `tool new a` and `tool new b`, `cmp a b` exits 0", verdict.Unverified, "own \"cmp\""},

			{"`set -e; cd missing; " + byPath + " bad` fails", verdict.Unverified, ""},
			{"`set -u; " + byPath + " $UNSET` fails with an error message", verdict.Unverified, ""},
			{"`" + byPath + " ${X:?}` exits 2", verdict.Unverified, ""},
			{"`" + byPath + " $((1/0))` fails", verdict.Unverified, ""},
			{"`" + byPath + " <&9` fails", verdict.Unverified, ""},
			{"`tool ${X:?}` exits 2", verdict.Unverified, "meets it as well"},
			{"`sh -c 'exit 3; " + byPath + "'` exits 3", verdict.Unverified, ""},
			{"`true || tool` succeeds", verdict.Unverified, ""},
			{"`true || " + byPath + "` prints nothing", verdict.Unverified, ""},
			{"`exit 0; tool` succeeds", verdict.Unverified, ""},
			{"`trap 'exit 0' EXIT; tool bad` succeeds", verdict.Unverified, ""},

			{"`" + byPath + " < missing` prints an error message", verdict.Unverified, "the shell's"},
			{"`tool < missing` prints an error message", verdict.Unverified, "the shell's"},
			{"`f() { " + byPath + "; }; echo hi` prints `hi`", verdict.Unverified, ""},
			{"`tool; printf bye` prints `bye`", verdict.Unverified, "meets it as well"},
			{"`tool --help; printf bye` prints `upper`", verdict.Met, ""},
			{"`cd / && tool --help` prints `upper`", verdict.Met, ""},
			{"`read PATH; tool` fails", verdict.Unverified, "PATH"},

			{"`tool link` creates `out`", verdict.Unverified, "is a link"},
			{"`tool open` creates the file `d/report.txt`", verdict.Unverified, "could not be looked at"},
			{"`tool moved` creates the file `report.txt`", verdict.Unverified, "could not be looked at"},
			{"`tool shut` creates the file `d/f`", verdict.Unverified, "could not be looked at"},
			{"after `tool new a`, `tool gone` leaves `a` unchanged", verdict.Unmet, "is gone"},
			{"`tool gone` creates the file `a`", verdict.Unmet, "nothing is there"},
			{"after `tool new a`, `tool gone` removes `a`", verdict.Met, ""},
			{"after `tool gone`, `tool --help` exits 0", verdict.Unmet, "working directory"},
		})
	})
}

// A package of npm is installed as it is packed, and one that lacks a dependency says so at once.
func TestNpm(t *testing.T) {
	pack := func(t *testing.T, manifest string) []byte {
		t.Helper()
		dir := t.TempDir()
		for name, content := range map[string]string{
			"package.json": manifest,
			"bin.js":       "#!/usr/bin/env node\nif (process.argv[2]) { console.error('greet: too many words'); process.exit(2) }\nconsole.log('hello')\n",
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("npm", "pack", "--silent", "--offline")
		cmd.Dir = dir
		out, err := cmd.Output()
		testengine.Require(t, "npm", err, "npm pack")
		data, err := os.ReadFile(filepath.Join(dir, strings.TrimSpace(string(out))))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	onEngines(t, func(t *testing.T, e sandbox.Engine) {
		s := start(t, e, artifact{"dist/greet-1.0.0.tgz": pack(t, `{"name":"greet","version":"1.0.0","bin":{"greet":"bin.js"}}`)})
		r := s.install(t)
		if !r.Installed || r.Failure != nil || r.Kind != install.KindNpm || !slices.Equal(r.Programs, []string{"greet"}) {
			t.Fatalf("%+v, %+v", r, r.Failure)
		}
		s.check(t, r, []expected{
			{"`greet` prints exactly `hello`", verdict.Met, "/opt/validate/"},
			{"`greet x` exits 2 with an error message", verdict.Met, ""},
			{"`greet x` exits 0", verdict.Unmet, "too many words"},
			{"`node --version` succeeds", verdict.Unverified, "only the image's programs"},
			{"`touch /opt/validate/bin/x && greet` succeeds", verdict.Unmet, ""},
		})

		s = start(t, e, artifact{"greet-1.0.0.tgz": pack(t, `{"name":"greet","version":"1.0.0","bin":"bin.js","dependencies":{"left-pad":"1.3.0"}}`)})
		began := time.Now()
		r = s.install(t)
		if r.Failure == nil || r.Failure.Missing != install.MissingNetwork || r.Failure.Hint() == "" {
			t.Errorf("%+v, %+v", r, r.Failure)
		}
		t.Logf("a missing dependency was told after %s: %s", time.Since(began).Round(time.Millisecond), r.Failure.Evidence())
		if r.Failure.Exit.Elapsed > 30*time.Second {
			t.Errorf("it took %s to tell", r.Failure.Exit.Elapsed)
		}
	})
}

func zipped(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, content := range files {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(0o755)
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarball(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, content := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o700, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []interface{ Close() error }{w, z} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func wheel(t *testing.T, requires string) []byte {
	const dir = "greet-1.0.dist-info/"
	return zipped(t, map[string]string{
		"greet.py":               "def main():\n    print('hello from a wheel')\n",
		dir + "METADATA":         "Metadata-Version: 2.1\nName: greet\nVersion: 1.0\n" + requires,
		dir + "WHEEL":            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		dir + "entry_points.txt": "[console_scripts]\ngreet = greet:main\n",
		dir + "RECORD":           "",
	})
}

func TestWheel(t *testing.T) {
	const file = "greet-1.0-py3-none-any.whl"
	onEngines(t, func(t *testing.T, e sandbox.Engine) {
		s := start(t, e, artifact{file: wheel(t, "")})
		r := s.install(t)
		if r.Failure != nil || r.Kind != install.KindPython || !slices.Equal(r.Programs, []string{"greet"}) {
			t.Fatalf("%+v, %+v", r, r.Failure)
		}
		s.check(t, r, []expected{
			{"`greet` prints exactly `hello from a wheel`", verdict.Met, "/opt/validate/bin/greet"},
			{"`python3 --version` succeeds", verdict.Unverified, "only the image's programs"},
			{"`pip --version` succeeds", verdict.Unverified, ""},
		})
		s = start(t, e, artifact{file: wheel(t, "Requires-Dist: no-such-thing\n")})
		if r = s.install(t); r.Failure == nil || r.Failure.Missing != install.MissingNetwork {
			t.Errorf("%+v, %+v", r, r.Failure)
		}
		s = start(t, e, artifact{"greet-1.0-cp27-cp27m-macosx_10_9_x86_64.whl": wheel(t, "")})
		if r = s.install(t); r.Failure == nil || r.Failure.Missing != install.MissingTool {
			t.Errorf("%+v, %+v", r, r.Failure)
		}
	})
}

func TestArchive(t *testing.T) {
	onEngines(t, func(t *testing.T, e sandbox.Engine) {
		s := start(t, e, artifact{
			"tool-1.0.tar.gz": tarball(t, map[string]string{"tool-1.0/bin/tool": tool, "tool-1.0/README": "x"}),
			"more.zip":        zipped(t, map[string]string{"other": "#!/bin/sh\necho other\n"}),
		})
		r := s.install(t)
		if r.Failure != nil || r.Kind != install.KindArchive || !slices.Contains(r.Programs, "tool") || !slices.Contains(r.Programs, "other") {
			t.Fatalf("%+v, %+v", r, r.Failure)
		}
		s.check(t, r, []expected{
			{"`tool --help` prints `Usage`", verdict.Met, "/opt/validate/tool-1.0/tool-1.0/bin/tool"},
			{"`other` prints exactly `other`", verdict.Met, "/opt/validate/more/other"},
		})
		s = start(t, e, artifact{"tool.tgz": []byte("this is no archive")})
		r = s.install(t)
		if r.Failure == nil {
			t.Fatalf("%+v", r)
		}
		if f, blames := r.Failure.Finding(); !blames {
			t.Errorf("%+v, %+v", f, r.Failure)
		}
	})
}

func TestCommands(t *testing.T) {
	onEngines(t, func(t *testing.T, e sandbox.Engine) {
		s := start(t, e, artifact{"plain": []byte(tool)})
		r := s.install(t, `mkdir -p "$PREFIX/bin" && cp artifact/plain "$PREFIX/bin/tool"`, `chmod 700 "$PREFIX/bin/tool"`)
		if r.Failure != nil || !slices.Equal(r.Programs, []string{"tool"}) {
			t.Fatalf("%+v, %+v", r, r.Failure)
		}
		s.check(t, r, []expected{{"`tool --help` prints `Usage`", verdict.Met, "/opt/validate/bin/tool"}})

		s = start(t, e, artifact{"plain": []byte(tool)})
		if r = s.install(t, "nosuchtool x"); r.Failure == nil || r.Failure.Missing != install.MissingTool || !strings.Contains(r.Failure.Detail, "nosuchtool") {
			t.Errorf("%+v, %+v", r, r.Failure)
		}
		if r = s.install(t, "dd if=/dev/zero of=$PREFIX/big bs=1M count=200"); r.Failure == nil || r.Failure.Missing != install.MissingSpace {
			t.Errorf("%+v, %+v", r, r.Failure)
		}
	})
}

// A command in the box sees the contract and the artifact, runs it, and its word is read.
func TestCommandAgent(t *testing.T) {
	onEngines(t, func(t *testing.T, e sandbox.Engine) {
		const judge = `cat contract.md >/dev/null || exit 9
echo looking >&2
[ -w . ] && exit 8
out=$(tool --help) && echo "CRITERION: pass — VAL-1: tool --help printed: $out" | head -1
echo "VERDICT: CLEAR"
`
		s := start(t, e, artifact{"tool!": []byte(tool)})
		var c contract.Contract
		c.Assertions = []contract.Assertion{{ID: "VAL-1", Text: "works"}}
		for script, want := range map[string]verdict.Outcome{judge: verdict.Clear, judge + "exit 3\n": verdict.Incomplete, judge + "kill -9 $$\n": verdict.Incomplete} {
			agent := command.New(command.Options{Argv: []string{"sh", "-c", script}})
			report := s.ask(t, agent, install.Result{}, "works")
			if j := verdict.Judge(c, []verdict.AgentReport{{Agent: "command", Report: report}}); j.Outcome != want {
				t.Errorf("%s\n%+v", script, j)
			}
		}
		if !strings.Contains(s.transcript.String(), "err| looking") {
			t.Error("stderr is not in the transcript")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		report, err := command.New(command.Options{Argv: []string{"sleep", "100"}}).Validate(ctx, s.box, validator.Task{Contract: c, Timeout: 200 * time.Millisecond, Transcript: &s.transcript})
		late := func(d verdict.Diagnostic) bool { return d.Code == verdict.AgentDeadline }
		if err != nil || !slices.ContainsFunc(report.Diagnostics, late) {
			t.Errorf("%+v, %v", report, err)
		}
	})
}
