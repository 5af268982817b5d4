package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/trkr-dev/trkr-validate/internal/testengine"
)

// TestMain makes this test's program the command trkr-validate as well, with everything that it starts itself to be.
func TestMain(m *testing.M) {
	dispatch()
	testscript.Main(m, map[string]func(){"trkr-validate": main, "stubborn": stubborn})
}

// TestScripts runs every file of testdata/script: a txtar archive whose comment is the script and whose files are the
// repository. docs of the language: https://pkg.go.dev/github.com/rogpeppe/go-internal/testscript. Beside its commands
// there are:
//
//	code N PROGRAM ARG...   run it and demand this exit code
//	repo                    make the folder a repository: everything in it committed to main
//	branch NAME FILE...     on a branch NAME from main, commit the archive's files FILE, given as path=source, and in front
//	                        of the others in a commit of its own a contract.md
//	json PATH VALUE         stdout is exactly one JSON document, and it holds VALUE at PATH (error.hints.0, results.len)
//	schema NAME [FILE]      stdout, or each line of FILE where that ends in .jsonl, else all of it, keeps the schema
//
//	action [INPUT=value]... run action.yml as a runner would; action_test.go
//	github                  a GitHub with the repository o/r, at $GITHUB_SERVER
//	told                    what it was told, as stdout
//	silent                  a Docker daemon that takes calls and never answers, at $SILENT
//
// and the conditions [gvisor] and [docker]: that engine can be used here. Where TRKR_REQUIRE_ENGINES names an engine
// that cannot, the script fails. $ORCHESTRATOR is the example of that name. [mounts] and [namespaces]: unshare(1) makes a mount or a user namespace here, in which a
// script can have a full disk or a forbidding kernel without this machine having them.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		Setup:               setup,
		Condition:           condition,
		RequireExplicitExec: false,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code":   code,
			"repo":   repo,
			"branch": branch,
			"json":   jsonPath,
			"schema": keepsSchema,
			"silent": silentDaemon,
			"action": action,
			"github": gitHubServer,
			"told":   gitHubTold,
		},
	})
}

// setup gives git an identity and scripts a home of their own.
func setup(e *testscript.Env) error {
	home := filepath.Join(e.WorkDir, ".tmp", "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	e.Setenv("HOME", home)
	e.Setenv("UID", strconv.Itoa(os.Getuid()))
	example, err := filepath.Abs("../../examples/orchestrator/orchestrator.py")
	if err != nil {
		return err
	}
	e.Setenv("ORCHESTRATOR", example)
	e.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	e.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		e.Setenv("GIT_"+who+"_NAME", "Somebody")
		e.Setenv("GIT_"+who+"_EMAIL", "somebody@localhost")
	}
	return nil
}

// examinedOnce asks the engines for all scripts together.
var examinedOnce = sync.OnceValues(func() ([]examined, bool) { return examineEngines(context.Background(), engines()) })

// worlds are the programs that succeed where a condition holds.
var worlds = map[string][]string{
	"mounts":     {"unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", os.TempDir()},
	"namespaces": {"unshare", "-U", "-r", "setpriv", "--bounding-set=-all", "true"},
}

func condition(name string) (bool, error) {
	if try, ok := worlds[name]; ok {
		return exec.Command(try[0], try[1:]...).Run() == nil, nil
	}
	found, usable := examinedOnce()
	i := slices.IndexFunc(found, func(x examined) bool { return x.Name == name })
	if i < 0 {
		return false, fmt.Errorf("unknown condition %q", name)
	}
	ok := usable && found[i].State == stateOK
	if !ok && testengine.Required(name) {
		return false, fmt.Errorf("%s cannot be used here: %s", name, found[i].Detail)
	}
	return ok, nil
}

func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func silentDaemon(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: silent")
	}
	dir, err := os.MkdirTemp("", "silent") // a socket's path must be short
	ts.Check(err)
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	ts.Check(err)
	// The kernel takes connections by itself; nobody ever reads from them.
	ts.Defer(func() {
		l.Close()
		os.RemoveAll(dir)
	})
	ts.Setenv("SILENT", "unix://"+socket)
}

func git(ts *testscript.TestScript, args ...string) {
	ts.Check(ts.Exec("git", args...))
}

func repo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: repo")
	}
	git(ts, "init", "-q", "-b", "main")
	// The script's own scratch space lies in its working directory.
	ignore, err := os.OpenFile(ts.MkAbs(".gitignore"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	ts.Check(err)
	_, err = ignore.WriteString("/.tmp/\n")
	ts.Check(errors.Join(err, ignore.Close()))
	git(ts, "add", "-A")
	git(ts, "commit", "-q", "--allow-empty", "-m", "start")
}

func branch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: branch NAME [path=source]...")
	}
	git(ts, "checkout", "-q", "-b", args[0], "main")
	for _, a := range args[1:] {
		to, from, ok := strings.Cut(a, "=")
		if !ok {
			ts.Fatalf("%q is not path=source", a)
		}
		data, err := os.ReadFile(ts.MkAbs(from))
		ts.Check(err)
		to = ts.MkAbs(to)
		ts.Check(os.MkdirAll(filepath.Dir(to), 0o755))
		ts.Check(os.WriteFile(to, data, 0o755))
	}
	if slices.ContainsFunc(args[1:], func(a string) bool { return strings.Contains(a, "/contract.md=") }) {
		git(ts, "add", "*/contract.md")
		git(ts, "commit", "-q", "-m", "contract of "+args[0])
	}
	git(ts, "add", "-A")
	git(ts, "commit", "-q", "--allow-empty", "-m", args[0])
	git(ts, "checkout", "-q", "main")
}

func jsonPath(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: json PATH VALUE")
	}
	d := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	d.UseNumber()
	var at any
	if err := d.Decode(&at); err != nil {
		ts.Fatalf("stdout is no JSON document: %v", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		ts.Fatalf("stdout holds more than one document")
	}
	for _, step := range strings.Split(args[0], ".") {
		switch v := at.(type) {
		case map[string]any:
			next, ok := v[step]
			if !ok {
				ts.Fatalf("%s: there is no %q", args[0], step)
			}
			at = next
		case []any:
			if step == "len" {
				at = len(v)
				continue
			}
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(v) {
				ts.Fatalf("%s: there is no %q in a list of %d", args[0], step, len(v))
			}
			at = v[i]
		default:
			ts.Fatalf("%s: %q is asked of %v", args[0], step, v)
		}
	}
	var got bytes.Buffer
	e := json.NewEncoder(&got)
	e.SetEscapeHTML(false)
	ts.Check(e.Encode(at))
	text := strings.TrimSpace(got.String())
	if s, ok := at.(string); ok {
		text = s
	}
	if text != args[1] {
		ts.Fatalf("%s is %s, want %s", args[0], text, args[1])
	}
}
