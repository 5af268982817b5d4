package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trkr-dev/trkr-validate/internal/scriptbox"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/validator"
	"github.com/trkr-dev/trkr-validate/validator/gateway"
	"github.com/trkr-dev/trkr-validate/verdict"
)

func files(paths ...string) (list []verdict.Entry) {
	for _, p := range paths {
		list = append(list, verdict.Entry{Path: p, Type: "file", Mode: 0o644})
	}
	return list
}

// play answers every step: lists holds what a tarball's listing prints, programs what the prefix holds afterwards, and
// fail is the step that fails, by its beginning.
type player struct {
	lists    map[string]string
	programs []string
	fail     string
	exit     sandbox.Exit
	stderr   string
}

func (p player) play(c *scriptbox.Call) sandbox.Exit {
	line := strings.Join(c.Args, " ")
	if strings.Contains(line, "walk()") {
		line = "finish"
		if install := c.Session.Box.Sessions[0]; !install.Closed || c.Session == install {
			panic("the install is not over when its programs are listed")
		}
	}
	if p.fail != "" && strings.HasPrefix(strings.TrimPrefix(line, "/bin/sh -c "), p.fail) {
		c.Complain(p.stderr)
		return p.exit
	}
	switch {
	case strings.HasPrefix(line, "tar -tzf "):
		c.Print(p.lists[c.Args[2]])
	case line == "finish":
		for _, f := range p.programs {
			if where := c.Args[5]; where == "all" || strings.HasPrefix(f, sandbox.Prefix+"/bin/") {
				c.Print(f + "\x00")
			}
		}
	}
	return scriptbox.Exit(0)
}

func run(t *testing.T, p player, req Request) (Result, *scriptbox.Box, string) {
	t.Helper()
	var transcript strings.Builder
	box := &scriptbox.Box{Path: "/usr/bin", Play: p.play}
	req.Timeout, req.Transcript = time.Minute, &transcript
	r, err := Run(context.Background(), box, req)
	if err != nil {
		t.Fatal(err)
	}
	for n, s := range box.Sessions {
		role := sandbox.RoleInstall
		if n > 0 { // what was installed is looked at by somebody else
			role = sandbox.RoleSubject
		}
		if !s.Closed || s.Spec.Role != role || n > 1 {
			t.Errorf("session %d: %+v", n, s)
		}
	}
	return r, box, transcript.String()
}

// steps are the commands that did something.
func steps(box *scriptbox.Box) (list []string) {
	for _, s := range box.Sessions {
		for _, c := range s.Calls {
			if line := strings.Join(c.Args, " "); !strings.Contains(line, "walk()") && !strings.Contains(line, "rm -f") {
				list = append(list, line)
			}
		}
	}
	return list
}

const (
	npmList    = "package/package.json\npackage/bin.js\n"
	sdistList  = "app-1.0/\napp-1.0/PKG-INFO\napp-1.0/src/x.py\n"
	binaryList = "./app/bin/app\n./app/package.json\n"
)

func TestKinds(t *testing.T) {
	const root = "/validate/artifact/"
	npm := "npm install --global --prefix /opt/validate --offline --no-audit --no-fund "
	tests := []struct {
		name     string
		manifest []verdict.Entry
		commands []string
		player   player
		steps    []string
		want     Result
	}{
		{name: "a program", manifest: []verdict.Entry{{Path: "app", Type: "file", Mode: 0o755}}, want: Result{Kind: KindPrograms}},
		{name: "nothing that runs", manifest: files("README.md", "index.html"), want: Result{Kind: KindPrograms}},
		{
			name: "a program beside its archives", manifest: append(files("app.tgz"), verdict.Entry{Path: "app", Type: "file", Mode: 0o755}),
			want: Result{Kind: KindPrograms},
		},
		{
			name: "commands", manifest: files("app.tgz"), commands: []string{"make install", "true"},
			player: player{programs: []string{"/opt/validate/bin/app"}},
			steps:  []string{"/bin/sh -c make install", "/bin/sh -c true"},
			want:   Result{Installed: true, Kind: KindCommands, Path: []string{"/opt/validate/bin"}, Programs: []string{"app"}},
		},
		{
			name: "commands that unpack elsewhere", commands: []string{"x"}, player: player{programs: []string{"/opt/validate/x/app"}},
			steps: []string{"/bin/sh -c x"},
			want:  Result{Installed: true, Kind: KindCommands, Path: []string{"/opt/validate/x"}, Programs: []string{"app"}},
		},
		{
			name: "npm", manifest: files("dist/app-1.0.tgz"),
			player: player{lists: map[string]string{root + "dist/app-1.0.tgz": npmList}, programs: []string{"/opt/validate/bin/app", "/opt/validate/lib/x"}},
			steps:  []string{"tar -tzf " + root + "dist/app-1.0.tgz", npm + root + "dist/app-1.0.tgz"},
			want:   Result{Installed: true, Kind: KindNpm, Path: []string{"/opt/validate/bin"}, Programs: []string{"app"}},
		},
		{
			name: "an odd name", manifest: files(`a b\x0a\xff\x5cx41.tgz`),
			player: player{lists: map[string]string{root + "a b\n\xff\\x41.tgz": npmList}},
			steps:  []string{"tar -tzf " + root + "a b\n\xff\\x41.tgz", npm + root + "a b\n\xff\\x41.tgz"},
			want:   Result{Installed: true, Kind: KindNpm},
		},
		{
			name: "a wheel and its source", manifest: files("dist/my_app-1.0-py3-none-any.whl", "dist/my-app-1.0.tar.gz", "other-2-py3-none-any.whl"),
			player: player{
				lists:    map[string]string{root + "dist/my-app-1.0.tar.gz": sdistList},
				programs: []string{"/opt/validate/bin/my-app", "/opt/validate/bin/python3.11"},
			},
			steps: []string{
				"tar -tzf " + root + "dist/my-app-1.0.tar.gz", "python3 -m venv --without-pip /opt/validate",
				"python3 -m pip --python /opt/validate/bin/python install --no-index --find-links /validate/artifact --find-links /validate/artifact/dist my-app other",
			},
			want: Result{Installed: true, Kind: KindPython, Path: []string{"/opt/validate/bin"}, Programs: []string{"my-app"}},
		},
		{
			name: "a source distribution", manifest: files("app-1.0.tar.gz"),
			player: player{lists: map[string]string{root + "app-1.0.tar.gz": sdistList}},
			steps: []string{
				"tar -tzf " + root + "app-1.0.tar.gz", "python3 -m venv --without-pip /opt/validate",
				"python3 -m pip wheel --no-index --no-deps --no-build-isolation --wheel-dir /work/0-home/wheels " + root + "app-1.0.tar.gz",
				"python3 -m pip --python /opt/validate/bin/python install --no-index --find-links /work/0-home/wheels app",
			},
			want: Result{Installed: true, Kind: KindPython},
		},
		{
			name: "archives of programs", manifest: files("a.tar.gz", "b.zip", "c.tar", "d.tar.xz", "SHA256SUMS"),
			player: player{lists: map[string]string{root + "a.tar.gz": binaryList}, programs: []string{"/opt/validate/b/bin/two", "/opt/validate/a/one"}},
			steps: []string{
				"tar -tzf " + root + "a.tar.gz",
				"mkdir -- /opt/validate/a", "tar -z -x -f " + root + "a.tar.gz -C /opt/validate/a",
				"mkdir -- /opt/validate/b", "unzip -q -o " + root + "b.zip -d /opt/validate/b",
				"mkdir -- /opt/validate/c", "tar -x -f " + root + "c.tar -C /opt/validate/c",
				"mkdir -- /opt/validate/d", "tar -J -x -f " + root + "d.tar.xz -C /opt/validate/d",
			},
			want: Result{Installed: true, Kind: KindArchive, Path: []string{"/opt/validate/a", "/opt/validate/b/bin"}, Programs: []string{"one", "two"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var ran []string
			got, box, _ := run(t, tt.player, Request{
				Manifest: tt.manifest, Commands: tt.commands, Path: []string{"/validate/artifact"},
				Ran: func(r validator.Ran) { ran = append(ran, r.Command) },
			})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("result (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(tt.steps, steps(box)); diff != "" {
				t.Errorf("steps (-want +got)\n%s", diff)
			}
			if len(tt.steps) > 0 && len(ran) < len(tt.steps) {
				t.Errorf("told of %q", ran)
			}
			for _, s := range box.Sessions[:min(1, len(box.Sessions))] {
				env, path := s.Spec.Env, "PATH=/validate/artifact:/usr/bin"
				if tt.commands != nil {
					path = "PATH=/validate/artifact:/opt/validate/bin:/usr/bin"
				}
				if env[0] != path || !slices.Contains(env, "npm_config_offline=true") || !slices.Contains(env, "PIP_NO_INDEX=1") {
					t.Errorf("environment %q", env)
				}
				for _, c := range s.Calls {
					if c.Command.Dir != "/validate" || c.Timeout <= 0 || c.Timeout > time.Minute {
						t.Errorf("%s: dir %q, timeout %s", c.Line, c.Command.Dir, c.Timeout)
					}
				}
			}
		})
	}
}

// Several things could be meant: neither the product's fault nor ours to choose.
func TestChoice(t *testing.T) {
	tests := []struct {
		manifest []verdict.Entry
		player   player
	}{
		{files("a.tgz", "b.zip"), player{lists: map[string]string{"/validate/artifact/a.tgz": npmList}}},
		{files("x/a.zip", "y/a.zip"), player{}},
		{files("a-linux.zip", "a-darwin.zip"), player{programs: []string{"/opt/validate/a-linux/a", "/opt/validate/a-darwin/a"}}},
	}
	for _, tt := range tests {
		got, _, _ := run(t, tt.player, Request{Manifest: tt.manifest})
		if f := got.Failure; f == nil || f.Missing != MissingChoice || f.Detail == "" || f.Hint() == "" || f.Evidence() == "" {
			t.Errorf("%v: %+v", tt.manifest, got)
		}
	}
	got, _, _ := run(t, player{programs: []string{"/opt/validate/a/x/run", "/opt/validate/a/y/run"}}, Request{Manifest: files("a.zip")})
	if got.Failure != nil || len(got.Path) != 2 || len(got.Programs) != 1 {
		t.Errorf("one archive with a name twice: %+v", got)
	}
}

func TestFailures(t *testing.T) {
	died := scriptbox.Died
	tests := []struct {
		name    string
		exit    sandbox.Exit
		stderr  string
		missing Missing
		detail  string
	}{
		{"its own fault", scriptbox.Exit(1), "npm error code ELIFECYCLE\n", "", ""},
		{"crash", died(sandbox.CauseUnknown, "SIGSEGV"), "", "", ""},
		{"crash that speaks of a network", died(sandbox.CauseUnknown, "SIGSEGV"), "ENOTFOUND\n", "", ""},
		{"memory", died(sandbox.CauseMemory, "SIGKILL"), "", MissingLimit, "the box's memory limit (validate.limits.memory) was reached"},
		{"memory of a child", sandbox.Exit{Code: 1, Cause: sandbox.CauseMemory}, "npm error signal SIGKILL\n", MissingLimit, "the box's memory limit"},
		{"pids", sandbox.Exit{Code: 2, Cause: sandbox.CausePids}, "sh: 1: Cannot fork\n", MissingLimit, "the box's pids limit (validate.limits.pids) was reached"},
		{"output", died(sandbox.CauseOutput, "SIGKILL"), "ENOTFOUND\n", MissingLimit, "the box's output limit (validate.limits.output) was reached"},
		{"stopped by us", died(sandbox.CauseKilled, "SIGKILL"), "", MissingLimit, "the install was stopped before its end"},
		{"npm offline", scriptbox.Exit(1), "npm error code ENOTCACHED\nnpm error request to https://r.example/left-pad failed\n", MissingNetwork, "npm error code ENOTCACHED"},
		{"pip offline", scriptbox.Exit(1), "ERROR: Could not find a version\nERROR: No matching distribution found for requests\n", MissingNetwork, "ERROR: No matching distribution found for requests"},
		{"resolver", scriptbox.Exit(6), "curl: (6) Could not resolve host: example.com\n", MissingNetwork, "curl: (6) Could not resolve host: example.com"},
		{"go offline", scriptbox.Exit(1), "go: x@v1: module lookup disabled by GOPROXY=off\n", MissingNetwork, ""},
		{"no such tool", died(sandbox.CauseNotFound, ""), "", MissingTool, "the image has no /bin/sh"},
		{"dash", scriptbox.Exit(127), "/bin/sh: 1: npm: not found\n", MissingTool, "the image has no npm"},
		{"bash", scriptbox.Exit(127), "/bin/sh: line 1: npm: command not found\n", MissingTool, "the image has no npm"},
		{"env", scriptbox.Exit(127), "env: ‘node’: No such file or directory\n", MissingTool, "the image has no node"},
		{"the artifact's own script", scriptbox.Exit(127), "/bin/sh: 1: ./artifact/install.sh: not found\n", "", ""},
		{"no venv", scriptbox.Exit(1), "The virtual environment was not created successfully because ensurepip is not available.\n", MissingTool, ""},
		{"another Python", scriptbox.Exit(1), "ERROR: Package 'x' requires a different Python: 3.9 not in '>=3.12'\n", MissingTool, ""},
		{"disk", scriptbox.Exit(1), "tar: x: Cannot write: No space left on device\n", MissingSpace, "tar: x: Cannot write: No space left on device"},
		{"deadline", died(sandbox.CauseDeadline, "SIGKILL"), "", MissingTime, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := player{fail: "setup", exit: tt.exit, stderr: tt.stderr}
			got, box, transcript := run(t, p, Request{Commands: []string{"setup \x1b x", "never"}})
			f := got.Failure
			if f == nil || got.Installed || f.Missing != tt.missing || !strings.HasPrefix(f.Detail, tt.detail) {
				t.Fatalf("%+v, failure %+v", got, f)
			}
			if f.Detail == "" {
				t.Error("no detail")
			}
			if n := len(steps(box)); n != 1 {
				t.Errorf("%d steps", n)
			}
			finding, blames := f.Finding()
			if blames != (tt.missing == "") || blames && (finding.Severity != verdict.SeverityBlocking || !strings.Contains(finding.Text, "artifact does not install")) {
				t.Errorf("finding %+v, %t", finding, blames)
			}
			if (f.Hint() == "") != blames {
				t.Errorf("hint %q", f.Hint())
			}
			for _, s := range []string{f.Evidence(), finding.Text, f.Output, f.Detail, f.Command} {
				if strings.ContainsAny(s, "\x1b\n") || len(s) > 1024 {
					t.Errorf("no bounded safe line: %q", s)
				}
			}
			if strings.Contains(transcript, "\x1b") || !strings.Contains(transcript, `install $ setup \x1b x`) {
				t.Errorf("transcript %q", transcript)
			}
		})
	}
}

// A broken archive is the product's; pip's words for a wheel that does not fit are not a missing network.
func TestFailuresByKind(t *testing.T) {
	p := player{fail: "tar -tzf", exit: scriptbox.Exit(2), stderr: "gzip: stdin: not in gzip format\n"}
	got, _, _ := run(t, p, Request{Manifest: files("a.tgz")})
	if got.Failure == nil || got.Failure.Missing != "" || !strings.Contains(got.Failure.Evidence(), "not in gzip format") {
		t.Errorf("%+v", got.Failure)
	}
	p = player{fail: "tar -tzf", exit: scriptbox.Died(sandbox.CauseNotFound, "")}
	if got, _, _ = run(t, p, Request{Manifest: files("a.tgz")}); got.Failure == nil || got.Failure.Detail != "the image has no tar" {
		t.Errorf("%+v", got.Failure)
	}
	p = player{fail: "python3 -m pip --python", exit: scriptbox.Exit(1), stderr: "ERROR: No matching distribution found for app\n"}
	if got, _, _ = run(t, p, Request{Manifest: files("app-1-cp27-none-any.whl")}); got.Failure == nil || got.Failure.Missing != MissingTool {
		t.Errorf("%+v", got.Failure)
	}
	p.stderr = "ERROR: No matching distribution found for requests\n"
	if got, _, _ = run(t, p, Request{Manifest: files("app-1-py3-none-any.whl")}); got.Failure == nil || got.Failure.Missing != MissingNetwork {
		t.Errorf("%+v", got.Failure)
	}
	p = player{fail: "finish", exit: scriptbox.Died(sandbox.CauseMemory, "SIGKILL"), lists: map[string]string{"/validate/artifact/a.tgz": npmList}}
	if got, _, _ = run(t, p, Request{Manifest: files("a.tgz")}); got.Failure == nil || got.Failure.Missing != MissingLimit || !strings.Contains(got.Failure.Hint(), "validate.limits.memory") {
		t.Errorf("%+v", got)
	}
}

// An image without pip, or with an old one, has Python bring its own.
func TestImageWithoutPip(t *testing.T) {
	const source = "/validate/artifact/app-1.0.tar.gz"
	for _, says := range []string{"/usr/bin/python3: No module named pip\n", "no such option: --python\n"} {
		p := player{lists: map[string]string{source: sdistList}, fail: "python3 -m pip", exit: scriptbox.Exit(2), stderr: says}
		got, box, _ := run(t, p, Request{Manifest: files("app-1.0.tar.gz")})
		want := []string{
			"tar -tzf " + source, "python3 -m venv --without-pip /opt/validate",
			"python3 -m pip wheel --no-index --no-deps --no-build-isolation --wheel-dir /work/0-home/wheels " + source,
			"python3 -m venv --system-site-packages /work/0-home/build",
			"/work/0-home/build/bin/python -m pip wheel --no-index --no-deps --no-build-isolation --wheel-dir /work/0-home/wheels " + source,
			"python3 -m pip --python /opt/validate/bin/python install --no-index --find-links /work/0-home/wheels app",
			"/opt/validate/bin/python -m ensurepip",
			"/opt/validate/bin/python -m pip install --no-index --find-links /work/0-home/wheels app",
		}
		if diff := cmp.Diff(want, steps(box)); diff != "" || got.Failure != nil {
			t.Errorf("%+v, steps (-want +got)\n%s", got.Failure, diff)
		}
	}
}

// A program that the list leaves out could stand in for one of the image's, and nobody would know.
func TestListThatIsCut(t *testing.T) {
	p := player{}
	for n := range maxList / 100 {
		p.programs = append(p.programs, fmt.Sprintf("/opt/validate/bin/%0100d", n))
	}
	got, _, _ := run(t, p, Request{Commands: []string{"x"}})
	if got.Failure == nil || !strings.Contains(got.Failure.Evidence(), "more of them than") {
		t.Errorf("%d programs, %+v", len(got.Programs), got.Failure)
	}
}

func TestLostBox(t *testing.T) {
	lost := &sandbox.LostError{Cause: sandbox.CauseMemory}
	req := Request{Commands: []string{"x"}, Timeout: time.Minute, Transcript: &strings.Builder{}}
	if _, err := Run(context.Background(), &scriptbox.Box{OpenErr: lost}, req); !errors.Is(err, lost) {
		t.Errorf("Open: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	box := &scriptbox.Box{}
	if _, err := Run(ctx, box, req); !errors.Is(err, context.Canceled) || !box.Sessions[0].Closed {
		t.Errorf("Run: %v", err)
	}
}

// An install with a network is not told that there is none; the product comes out of the artifact all the same.
func TestNetwork(t *testing.T) {
	const root = "/validate/artifact/"
	network := Network{Places: []string{"packages.example.com:443"}, Most: 1 << 20, Seen: func(gateway.Seen) {}}
	for _, c := range []struct {
		manifest []verdict.Entry
		player   player
		steps    []string
	}{
		{files("app-1.0.tgz"), player{lists: map[string]string{root + "app-1.0.tgz": npmList}},
			[]string{"tar -tzf " + root + "app-1.0.tgz", "npm install --global --prefix /opt/validate --no-audit --no-fund " + root + "app-1.0.tgz"}},
		{files("app-1.0-py3-none-any.whl"), player{}, []string{
			"python3 -m venv --without-pip /opt/validate",
			"python3 -m pip --python /opt/validate/bin/python install --no-index --no-deps --find-links /validate/artifact app",
			"python3 -m pip --python /opt/validate/bin/python install --find-links /validate/artifact app",
		}},
	} {
		_, box, _ := run(t, c.player, Request{Manifest: c.manifest, Network: network})
		if diff := cmp.Diff(c.steps, steps(box)); diff != "" {
			t.Errorf("steps (-want +got)\n%s", diff)
		}
		install := box.Sessions[0]
		for _, v := range install.Spec.Env {
			if slices.Contains([]string{"npm_config_offline=true", "PIP_NO_INDEX=1", "GOPROXY=off"}, v) {
				t.Errorf("told of %s", v)
			}
		}
		for _, call := range install.Calls {
			if len(call.Env) == 0 || !strings.HasPrefix(call.Env[0], "http_proxy=http://127.0.0.1:") {
				t.Errorf("%q: no way out in %q", call.Args, call.Env)
			}
		}
		for _, call := range box.Sessions[1].Calls { // which looks at what was installed
			if len(call.Env) != 0 {
				t.Errorf("%q: %q", call.Args, call.Env)
			}
		}
	}
}
