package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/testengine"
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

// isolate gives the program a temporary folder of its own, so that what it leaves behind can be seen. Its name is
// short: in a longer one the gvisor engine has no room for its sockets, and would go elsewhere.
func (r *repo) isolate() (tmp string) {
	r.t.Helper()
	tmp, err := os.MkdirTemp("", "e2e")
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { os.RemoveAll(tmp) })
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
		left = append(left, r.containers()...)
	}
	left = append(left, entries(r.t, tmp)...)
	if n := len(strings.Split(r.git("worktree", "list"), "\n")); n != 1 {
		left = append(left, fmt.Sprintf("%d worktrees", n))
	}
	return left
}

// containers names those of the runs of r: other repositories have theirs on this machine at the same time.
func (r *repo) containers() (found []string) {
	r.t.Helper()
	out, err := exec.Command("docker", "ps", "-a", "--filter", "label="+runLabel, "--format", `{{.ID}} {{.Label "`+runLabel+`"}}`).Output()
	if err != nil {
		r.t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		_, run, _ := strings.Cut(strings.TrimSpace(line), " ")
		if _, err := os.Stat(filepath.Join(r.dir, ".trkr", "runs", run)); err == nil && run != "" {
			found = append(found, "container "+line)
		}
	}
	return found
}

const runLabel = "dev.trkr.validate.run"

// entries names everything below the temporary folder, whatever its type. The one thing that may stay is the gvisor
// engine's folder with its lock, and nothing else in it: if a program removed them, one that waits for the lock at that
// moment would hold the lock of a file that is gone.
func entries(t testing.TB, tmp string) (found []string) {
	t.Helper()
	state := filepath.Join(tmp, fmt.Sprintf("trkr-validate-%d", os.Getuid()))
	err := filepath.WalkDir(tmp, func(path string, d os.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // it is just being removed
			return nil
		}
		if err != nil {
			return err
		}
		stays := path == tmp || path == state && d.IsDir() || path == filepath.Join(state, "lock") && d.Type().IsRegular()
		if !stays {
			found = append(found, "entry "+path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// nothingLeft waits a moment for what is ending, then fails for what stays.
func (r *repo) nothingLeft(engine, tmp string) {
	r.t.Helper()
	if left := r.stays(engine, tmp); len(left) > 0 {
		r.t.Errorf("left behind: %s", strings.Join(left, "\n"))
	}
}

// stays names what is left after a moment for what is ending.
func (r *repo) stays(engine, tmp string) (left []string) {
	r.t.Helper()
	for range 50 {
		if left = r.leftovers(engine, tmp); len(left) == 0 {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return left
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
		for _, step := range []string{"resolve", "config", "contract", "build", "collect", "materialise", "start", "install", "validate", "judge", "record"} {
			t.Run(step, func(t *testing.T) {
				r := shoutRepo(t, true)
				tmp := r.isolate()
				run := r.begin("--engine", engine, "7")
				run.until("step.started", step)
				// Containers are looked for while their program lives: of a dead one, any other run on this machine may
				// have removed them already.
				if engine == "docker" && step == "validate" && len(r.containers()) == 0 {
					t.Error("the search for containers does not see that of a run that is going on")
				}
				run.kill()
				if step == "build" && len(r.leftovers(engine, tmp)) == 0 {
					t.Error("the search for leftovers sees nothing right after a kill: it cannot fail")
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
	call := func(args ...string) *exec.Cmd {
		cmd := exec.Command(program, args...)
		cmd.Dir = r.dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home, "DOCKER_HOST=unix:///nowhere"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		return cmd
	}
	// What root may do is not what this user may: user namespaces may be forbidden to the one and not to the other.
	why, err := call("doctor", "--engine", "gvisor").CombinedOutput()
	testengine.Require(t, "gvisor", err, fmt.Sprintf("by uid %d:\n%s", uid, why))
	cmd := call("--json", "7")
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
