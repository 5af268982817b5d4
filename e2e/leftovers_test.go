package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/verdict"
)

const shoutContract = "VAL-1: `shout hello` succeeds and prints exactly `HELLO`\nVAL-2: `shout` exits 2 with a usage message\n"

const shout = `#!/bin/sh
[ $# -gt 0 ] || { echo "usage: shout WORD" >&2; exit 2; }
echo "$1" | tr a-z A-Z
`

// shoutRepo builds fast; slow makes its build and each of its commands take a while, so that a kill finds them.
func shoutRepo(t *testing.T, slow bool) *repo {
	t.Helper()
	build, program := "mkdir -p dist && cp shout.sh dist/shout && chmod +x dist/shout", shout
	if slow {
		build, program = "sleep 0.5 && "+build, strings.Replace(shout, "\n", "\nsleep 0.5\n", 1)
	}
	config, err := json.Marshal(map[string]any{"validate": map[string]any{"build": build, "artifacts": []string{"dist/*"}}})
	if err != nil {
		t.Fatal(err)
	}
	r := newRepo(t, map[string]string{".gitignore": "/dist/\n", ".trkr/config.json": string(config)})
	r.ticket("7", shoutContract, map[string]string{"shout.sh": program})
	return r
}

// isolate gives the program a temporary folder of its own, so that what it leaves behind can be seen.
func (r *repo) isolate() (tmp string) {
	tmp = r.t.TempDir()
	r.env = append(slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "XDG_RUNTIME_DIR=") }), "TMPDIR="+tmp)
	return tmp
}

// leftovers names what a run of r still has on this machine: processes, mounts, containers, temporary files,
// registered worktrees.
func (r *repo) leftovers(engine, tmp string) []string {
	r.t.Helper()
	var left []string
	procs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		r.t.Fatal(err)
	}
	for _, name := range procs {
		line, err := os.ReadFile(name)
		environ, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "environ"))
		if err == nil && (strings.Contains(string(line), r.dir) || strings.Contains(string(line), program) || strings.Contains(string(environ), "TMPDIR="+tmp+"\x00")) {
			left = append(left, "process "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		r.t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, tmp) || strings.Contains(line, r.dir) {
			left = append(left, "mount "+line)
		}
	}
	if engine == "docker" {
		out, err := exec.Command("docker", "ps", "-aq", "--filter", "label=dev.trkr.validate.run").Output()
		if err != nil {
			r.t.Fatal(err)
		}
		if len(out) > 0 {
			left = append(left, "containers "+string(out))
		}
	}
	err = filepath.WalkDir(tmp, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Type().IsRegular() {
			left = append(left, "file "+path)
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	if n := len(strings.Split(r.git("worktree", "list"), "\n")); n != 1 {
		left = append(left, fmt.Sprintf("%d worktrees", n))
	}
	return left
}

// nothingLeft waits a moment for what is ending, then fails for what stays.
func (r *repo) nothingLeft(engine, tmp string) {
	r.t.Helper()
	var left []string
	for range 50 {
		if left = r.leftovers(engine, tmp); len(left) == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	r.t.Errorf("left behind: %s", strings.Join(left, "\n"))
}

func TestOnePathDiffersAndNothingIsLeft(t *testing.T) {
	onEngines(t, func(t *testing.T, engine string) {
		r := shoutRepo(t, false)
		tmp := r.isolate()
		linked := filepath.Join(t.TempDir(), "linked")
		r.git("worktree", "add", "-q", linked, "-b", "other", "main")
		r.write(map[string]string{"mine.txt": "not committed"})
		before, beforeLinked, old := r.git("status", "--porcelain"), r.git("-C", linked, "status", "--porcelain"), r.git("rev-parse", "trkr/7")

		code, doc := r.validate("--engine", engine, "7")
		expect(t, code, doc, verdict.Clear)

		if got := r.git("diff", "--name-only", old, "trkr/7"); got != ".trkr/tickets/7/validation.md" {
			t.Errorf("these paths differ: %q", got)
		}
		if got := r.git("rev-list", "--count", old+"..trkr/7"); got != "1" {
			t.Errorf("%s commits", got)
		}
		if got := r.git("status", "--porcelain"); got != before {
			t.Errorf("status of the main worktree is now %q, was %q", got, before)
		}
		if got := r.git("-C", linked, "status", "--porcelain"); got != beforeLinked {
			t.Errorf("status of the linked worktree is now %q, was %q", got, beforeLinked)
		}
		r.git("worktree", "remove", "--force", linked)
		r.nothingLeft(engine, tmp)

		code, doc = r.validate("--engine", engine, "7")
		expect(t, code, doc, verdict.Clear)
		if got := r.git("rev-list", "--count", old+"..trkr/7"); got != "1" {
			t.Errorf("the same verdict was committed again: %s commits", got)
		}
	})
}

// A run that is killed in any step leaves nothing that one more start does not clear away, and that start is clear.
func TestKilledInEachStepLeavesNothing(t *testing.T) {
	onEngines(t, func(t *testing.T, engine string) {
		for _, step := range []string{"resolve", "contract", "build", "collect", "start", "install", "validate", "record"} {
			t.Run(step, func(t *testing.T) {
				r := shoutRepo(t, true)
				tmp := r.isolate()
				r.killIn(step, "--engine", engine, "7")
				if left := r.leftovers(engine, tmp); step == "build" && len(left) == 0 {
					t.Error("the search for leftovers sees nothing right after a kill: it cannot fail")
				} else if engine == "docker" && step == "validate" && !slices.ContainsFunc(left, func(l string) bool { return strings.HasPrefix(l, "containers") }) {
					t.Errorf("the search for leftovers does not see the container that a kill leaves: %q", left)
				}
				code, doc := r.validate("--engine", engine, "--wait", "30s", "7")
				expect(t, code, doc, verdict.Clear)
				r.nothingLeft(engine, tmp)
				if got := r.git("status", "--porcelain"); got != "" {
					t.Errorf("status is %q", got)
				}
			})
		}
	})
}

// killIn starts the program and kills it, without mercy, as soon as the step has begun.
func (r *repo) killIn(step string, args ...string) {
	r.t.Helper()
	cmd := exec.Command(program, append([]string{"--log-level", "debug", "--log-format", "json"}, args...)...)
	cmd.Dir, cmd.Env = r.dir, r.env
	stderr, err := cmd.StderrPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	lines, seen := bufio.NewScanner(stderr), false
	for lines.Scan() {
		var line struct{ Event, Step string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Event == "step.started" && line.Step == step {
			seen = true
			break
		}
	}
	if err := syscall.Kill(cmd.Process.Pid, syscall.SIGKILL); err != nil {
		r.t.Fatal(err)
	}
	go io.Copy(io.Discard, stderr)
	if err := cmd.Wait(); err == nil || !seen {
		r.t.Fatalf("the run was not killed in step %s: seen %v, %v", step, seen, err)
	}
}

// Somebody who is not root, without Docker, gets the same verdict.
func TestOrdinaryUserWithoutDocker(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("this test gives up root; an ordinary user runs all of the others as one")
	}
	const uid = 65534
	r := shoutRepo(t, false)
	home := t.TempDir()
	for _, dir := range []string{r.dir, home} {
		if out, err := exec.Command("chown", "-R", strconv.Itoa(uid), dir).CombinedOutput(); err != nil {
			t.Fatalf("chown: %v\n%s", err, out)
		}
		// Test folders are closed to others from the first one made by the test on.
		for up := dir; up != os.TempDir() && up != "/"; up = filepath.Dir(up) {
			if err := os.Chmod(up, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd := exec.Command(program, "--json", "7")
	cmd.Dir = r.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home, "DOCKER_HOST=unix:///nowhere"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.Output()
	var doc document
	if jerr := json.Unmarshal(out, &doc); jerr != nil {
		t.Fatalf("%v, %v: %s", err, jerr, out)
	}
	rec := expect(t, cmd.ProcessState.ExitCode(), doc, verdict.Clear)
	if rec.Environment.Engine != "gvisor" {
		t.Errorf("validated on %q", rec.Environment.Engine)
	}
}
