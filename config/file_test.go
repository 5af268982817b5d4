package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trkr-dev/trkr-validate/config"
)

// problems parses a file and gives what is wrong with it as a person reads it, hints included.
func problems(t *testing.T, text string) []string {
	t.Helper()
	_, err := config.Parse("c.json", []byte(text))
	if err == nil {
		return nil
	}
	bad, ok := errors.AsType[*config.Error](err)
	if !ok {
		t.Fatalf("not a *config.Error: %v", err)
	}
	var all []string
	for _, p := range bad.Problems {
		s := p.String()
		if p.Hint != "" {
			s += " | " + p.Hint
		}
		all = append(all, s)
	}
	return all
}

func TestEveryProblemIsNamedWithItsLineAtOnce(t *testing.T) {
	got := problems(t, `{
  "other": {"build": 3},
  "ticket": {"brnach": "x", "dir": "/abs/{issue}"},
  "validate": {
    "biuld": "make",
    "memory": "1GiB",
    "artifacts": "*.tgz",
    "timeout": "0s",
    "limits": {"pids": 0, "pids": 5, "memory": 2, "cpus": -1, "tmp": "1potato"},
    "engine": "dokcer",
    "env": ["OK=1", "2BAD=x", 7, "GIT_DIR=x", "GIT_DIR", "GITHUB_SHA"],
    "commit": "yes"
  },
  "loop": {"plateu": 2, "turns": 0, "cost": null}, "orchestrator": {"of": "another program"},
  "issue": []
}`)
	want := []string{
		`c.json:3: ticket.brnach: unknown key | did you mean "branch"?`,
		`c.json:3: ticket.dir: "/abs/0" is not a folder inside the repository | write it relative to the repository's root, such as ".trkr/tickets/{issue}"`,
		`c.json:5: validate.biuld: unknown key | did you mean "build"?`,
		`c.json:6: validate.memory: unknown key | did you mean "validate.limits.memory"?`,
		`c.json:7: validate.artifacts: must be a list of strings, not a string | write ["*.tgz"]`,
		`c.json:8: validate.timeout: must not be 0: a limit cannot be switched off | leave the key out for the default`,
		`c.json:9: validate.limits.pids: must not be 0: a limit cannot be switched off | leave the key out for the default`,
		`c.json:9: validate.limits.pids: stands here again, first in line 9 | keep one of the two`,
		`c.json:9: validate.limits.memory: must be a string, not a number | write a number and a unit: "512MiB", "2GiB"`,
		`c.json:9: validate.limits.cpus: must be positive`,
		`c.json:9: validate.limits.tmp: "1potato" is not a size | write a number and a unit: "512MiB", "2GiB"`,
		`c.json:10: validate.engine: "dokcer" is none of auto, docker, gvisor | did you mean "docker"?`,
		`c.json:11: validate.env[1]: "2BAD" is not a variable's name | write "NAME=value", or "NAME" to take it from the caller's environment`,
		`c.json:11: validate.env[2]: must be a string, not a number`,
		`c.json:11: validate.env[3]: "GIT_DIR" is for git, and a build gets no GIT_ variables | set it in the build command where git needs it`,
		`c.json:11: validate.env[4]: "GIT_DIR" is for git, and a build gets no GIT_ variables | set it in the build command where git needs it`,
		`c.json:12: validate.commit: must be true or false, not a string`,
		`c.json:14: loop.plateu: unknown key | did you mean "plateau"?`,
		`c.json:14: loop.turns: must not be 0: a limit cannot be switched off | leave the key out for the default`,
		`c.json:14: loop.cost: must be a number, not null`,
		`c.json:15: issue: must be an object, not a list`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestWhatIsNotJSONIsSaidWithItsLine(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"comment":        {"{\n  // no\n}", "c.json:2: not JSON: invalid character '/'"},
		"trailing comma": {"{\n\"validate\": {\"build\": \"x\",}\n}", "c.json:2: not JSON: invalid character '}'"},
		"cut short":      {"{\n\"validate\": {", "c.json:2: not JSON: unexpected end of JSON input"},
		"two documents":  {"{}\n{}", "c.json:2: not JSON: invalid character '{' after top-level value"},
		"empty":          {" \n", "c.json: empty"},
		"binary":         {"{\"a\": \"\xff\"}", "c.json: not valid UTF-8"},
		"a list":         {"[1]", "c.json:1: must be an object, not a list"},
		"too deep":       {strings.Repeat("[", 100) + strings.Repeat("]", 100), "c.json:1: nested more than 64 deep"},
	} {
		t.Run(name, func(t *testing.T) {
			got := problems(t, c.text)
			if len(got) != 1 || !strings.HasPrefix(got[0], c.want) {
				t.Errorf("got %q, want one that starts with %q", got, c.want)
			}
		})
	}
}

func TestAgents(t *testing.T) {
	for text, want := range map[string]string{
		`"probe"`:             "",
		`["probe"]`:           "",
		`{"command":["./x"]}`: "",
		`["probe",{"command":["./x","-v"],"trust":"inside"}]`: "",
		`{"command":["./x"],"env":["KEY","MODE=fast"]}`:       "",
		`{"command":["./x"],"env":["2KEY"]}`:                  `validate.agent.env[0]: "2KEY" is not a variable's name`,
		`{"command":["./x"],"env":"KEY"}`:                     `validate.agent.env: must be a list of strings, not a string | write ["KEY"]`,
		`[]`:                                                  "validate.agent: names no agent",
		`"claude"`:                                            `validate.agent: "claude" is no agent`,
		`{"cli":"claude"}`:                                    `validate.agent.cli: agents of the kind "cli" are not in this version | this version knows "probe"`,
		`["probe",{"model":"m"}]`:                             `validate.agent[1].model: agents of the kind "model" are not in this version`,
		`{"command":"./x"}`:                                   `validate.agent.command: must be a list of strings, not a string | write ["./x"]`,
		`{"command":[]}`:                                      `validate.agent.command: names no program`,
		`{"trust":"inside"}`:                                  `validate.agent: names no command`,
		`{"command":["x"],"trust":"outside"}`:                 `validate.agent.trust: "outside" is none of inside`,
		`{"command":["x"],"comand":["y"]}`:                    `validate.agent.comand: unknown key | did you mean "command"?`,
		`{"command":["x"],"command":["y"]}`:                   `validate.agent.command: stands here again`,
		`3`:                                                   `validate.agent: must be "probe", an object or a list of these, not a number`,
		`null`:                                                `validate.agent: must be "probe", an object or a list of these, not null`,
	} {
		got := problems(t, `{"validate":{"agent":`+text+`}}`)
		switch {
		case want == "" && got != nil:
			t.Errorf("%s: %q", text, got)
		case want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], "c.json:1: "+want)):
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestServices(t *testing.T) {
	for text, want := range map[string]string{
		`[]`: "",
		`[{"command":"db --port 1","ready":"tcp:1"},{"command":"./x","ready":"test -e up"}]`: "",
		`{"command":"db","ready":"tcp:1"}`:                                                   `validate.services: must be a list of objects, not an object | write [{"command"`,
		`["db"]`:                                                                             `validate.services[0]: must be an object, not a string | write {"command"`,
		`[{"command":"db"}]`:                                                                 `validate.services[0]: has no ready | write {"command"`,
		`[{"ready":"tcp:1"}]`:                                                                `validate.services[0]: has no command`,
		`[{"command":"","ready":"tcp:1"}]`:                                                   `validate.services[0].command: must not be empty`,
		`[{"command":["db"],"ready":"tcp:1"}]`:                                               `validate.services[0].command: must be a string, not a list`,
		`[{"command":"db","ready":"tcp:x"}]`:                                                 `validate.services[0].ready: "tcp:x" names no port of the box | write "tcp:5432"`,
		`[{"command":"db","ready":"https://[::1]/"}]`:                                        `validate.services[0].ready: "https://[::1]/" is no page of the box | write "tcp:5432"`,
		`[{"command":"db","ready":"tcp:1","redy":1}]`:                                        `validate.services[0].redy: unknown key | did you mean "ready"?`,
		`[{"command":"a","command":"b","ready":"c"}]`:                                        `validate.services[0].command: stands here again`,
	} {
		got := problems(t, `{"validate":{"services":`+text+`}}`)
		switch {
		case want == "" && got != nil:
			t.Errorf("%s: %q", text, got)
		case want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], "c.json:1: "+want)):
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestChecksOfText(t *testing.T) {
	for _, c := range []struct{ section, key, value, want string }{
		{"validate", "artifacts", `["dist/**", ".hidden", "a{b,c}/[xy]?"]`, ""},
		{"validate", "artifacts", `["/etc/passwd"]`, `validate.artifacts[0]: "/etc/passwd" is absolute`},
		{"validate", "artifacts", `["a", "../b"]`, `validate.artifacts[1]: "../b" leaves the worktree`},
		{"validate", "artifacts", `["dist/[a"]`, `validate.artifacts[0]: "dist/[a" is not a glob`},
		{"validate", "artifacts", `["{a"]`, `validate.artifacts[0]: "{a" is not a glob`},
		{"validate", "artifacts", `[""]`, `validate.artifacts[0]: must not be empty`},
		{"validate", "mounts", `["relative"]`, `validate.mounts[0]: "relative" is not the absolute path of a folder`},
		{"validate", "mounts", `["/"]`, `validate.mounts[0]: "/" is not the absolute path of a folder`},
		{"validate", "image", `"debian:12"`, ""},
		{"validate", "image", `"--rm"`, `validate.image: "--rm" names no image`},
		{"validate", "image", `""`, `validate.image: "" names no image`},
		{"validate", "install", `[" "]`, `validate.install[0]: must not be empty`},
		{"validate", "build", `"a\u0000b"`, `validate.build: must not hold a NUL character`},
		{"validate", "build_timeout", `20`, `validate.build_timeout: must be a string, not a number`},
		{"validate", "build_timeout", `"-1m"`, `validate.build_timeout: must be positive`},
		{"ticket", "branch", `"feature"`, `ticket.branch: "feature" does not hold {issue}`},
		{"ticket", "branch", `"t/{issue}"`, ""},
		{"ticket", "branch", `"-{issue}"`, `ticket.branch: "-0" is not a branch's name`},
		{"ticket", "branch", `"a..{issue}"`, `ticket.branch: "a..0" is not a branch's name`},
		{"ticket", "branch", `"refs/heads/{issue}"`, `ticket.branch: "refs/heads/0" is not a branch's name`},
		{"ticket", "base", `""`, ""},
		{"ticket", "base", `"a b"`, `ticket.base: "a b" is not a branch's name`},
		{"ticket", "dir", `"../{issue}"`, `ticket.dir: "../0" is not a folder inside the repository`},
		{"ticket", "dir", `".trkr/runs/{issue}"`, `ticket.dir: ".trkr/runs/0" lies under .trkr/runs`},
		{"ticket", "dir", `".git/{issue}"`, `ticket.dir: ".git/0" lies under .git`},
	} {
		got := problems(t, `{"`+c.section+`":{"`+c.key+`":`+c.value+`}}`)
		switch {
		case c.want == "" && got != nil:
			t.Errorf("%s = %s: %q", c.key, c.value, got)
		case c.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], "c.json:1: "+c.want)):
			t.Errorf("%s = %s: got %q, want %q", c.key, c.value, got, c.want)
		}
	}
}

// Keys of other programs may say what they like, twice even, and nothing of it is read.
func TestOtherProgramsKeysAreLeftAlone(t *testing.T) {
	f, err := config.Parse("c.json", []byte("\xef\xbb\xbf"+`{"$schema":"x","validat":{"build":1},"a":1,"a":{"b":[null,{"c":1e400}]},"validate":{"build":"make"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"validate.build": "make"}, f.Values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestFindStopsAtTheCheckoutsRoot(t *testing.T) {
	top := t.TempDir()
	write := func(name string) {
		t.Helper()
		name = filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(".trkr/config.json") // of a folder above the repository: not ours
	write("repo/.git/HEAD")
	write("repo/sub/deep/file")
	for dir, want := range map[string]string{"repo": "", "repo/sub/deep": ""} {
		if got, err := config.Find(filepath.Join(top, dir)); err != nil || got != want {
			t.Errorf("before there is one, Find(%s) = %q, %v", dir, got, err)
		}
	}
	write("repo/.trkr/config.json")
	want := filepath.Join(top, "repo/.trkr/config.json")
	for _, dir := range []string{"repo", "repo/sub/deep"} {
		if got, err := config.Find(filepath.Join(top, dir)); err != nil || got != want {
			t.Errorf("Find(%s) = %q, %v", dir, got, err)
		}
	}
}

func TestExampleIsValidAndShowsEveryKey(t *testing.T) {
	f, err := config.Load("../config.example.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range config.Keys() {
		if f.Line(k.Name) == 0 {
			t.Errorf("config.example.json does not show %s", k.Name)
		}
	}
}

func FuzzParse(f *testing.F) {
	example, err := os.ReadFile("../config.example.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example)
	f.Add([]byte(`{"validate":{"agent":[{"command":["x"]}],"limits":{"pids":1e3}}}`))
	f.Add([]byte("{\n\"validate\":[]\n}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := config.Parse("f", data)
		if err != nil {
			bad, ok := errors.AsType[*config.Error](err)
			if !ok || len(bad.Problems) == 0 {
				t.Fatalf("an error without problems: %v", err)
			}
			return
		}
		// What a file was accepted with is accepted again as a setting.
		var settings []config.Setting
		for key, value := range file.Values {
			settings = append(settings, config.Setting{Key: key, Value: value, Source: config.FromFile})
		}
		c, err := config.Resolve(settings)
		if err != nil {
			t.Fatalf("accepted as a file, refused as settings: %v", err)
		}
		if l := c.Validate.Limits; l.Memory <= 0 || l.CPUs <= 0 || l.Pids <= 0 || l.Output <= 0 || l.Tmp <= 0 || l.Artifacts <= 0 || l.Files <= 0 || c.Validate.Timeout <= 0 || c.Validate.BuildTimeout <= 0 || len(c.Validate.Agents) == 0 {
			t.Fatalf("a limit is missing: %+v", c.Validate)
		}
	})
}
