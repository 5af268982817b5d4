package e2e

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/testengine"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// buildArchive makes an image with busybox, as a file that both engines take.
func buildArchive(t *testing.T) string {
	t.Helper()
	busybox, err := os.ReadFile("/bin/busybox")
	testengine.Require(t, "docker", err, "install busybox-static")
	files := []*tarFile{executable("bin/busybox", busybox)}
	for _, applet := range strings.Fields("sh mkdir cp chmod ls cat touch sleep kill ln echo id wget setsid tr") {
		files = append(files, &tarFile{Header: tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + applet, Linkname: "busybox", Mode: 0o777}})
	}
	image := loadImage(t, "build", files...)
	t.Cleanup(func() { // what a build leaves the daemon for the next one of the same program, which is gone with these tests
		out, err := exec.Command("docker", "images", "--quiet", "--filter", "label=dev.trkr.validate.program="+program).Output()
		if err == nil && len(out) > 0 {
			out, err = exec.Command("docker", append([]string{"rmi"}, strings.Fields(string(out))...)...).CombinedOutput()
		}
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	file := filepath.Join(t.TempDir(), "build.tar")
	if out, err := exec.Command("docker", "save", "-o", file, image).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return file
}

// mischief is what a build on the host can do to whoever calls the program: lead the default branch to its own commit,
// put something into the caller's home and cache, read the caller's files, end the program.
const mischief = `
for b in .git/refs/heads/main ../.git/refs/heads/main; do [ -f "$b" ] && cp "${b%main}trkr/7" "$b"; done
touch "$MARKS/home" 2>/dev/null; cat "$MARKS/secret" 2>/dev/null; ls .git 2>/dev/null
wget -q -T 1 -O - http://127.0.0.1:1/ 2>/dev/null
`

const makeShout = "\nmkdir -p dist && cp shout.sh dist/shout && chmod +x dist/shout\n"

func containedRepo(t *testing.T, build, image, marks string) *repo {
	t.Helper()
	config, err := json.Marshal(map[string]any{"validate": map[string]any{
		"build": build, "build_image": image, "build_timeout": "1m", "artifacts": []string{"dist/*"}, "env": []string{"MARKS=" + marks}, "limits": map[string]any{"memory": "256MiB"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := newRepo(t, map[string]string{".gitignore": "/dist/\n", ".trkr/config.json": string(config)})
	r.ticket("7", shoutContract, map[string]string{"shout.sh": shout})
	r.git("checkout", "-q", "trkr/7")
	return r
}

// What a build on the host can do, one in a container cannot; both make the artifact.
func TestContainedBuildCannotDoWhatAHostBuildCan(t *testing.T) {
	needs(t, "docker")
	archive := buildArchive(t)
	did := func(t *testing.T, engine, image string) (moved, marked, read bool, rec *verdict.Record) {
		marks := t.TempDir()
		if err := os.WriteFile(filepath.Join(marks, "secret"), []byte("of the caller"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := containedRepo(t, mischief+makeShout, image, marks)
		r.env = append(r.env, "XDG_CACHE_HOME="+t.TempDir())
		was := r.git("rev-parse", "main")
		code, doc := r.validate("--engine", engine, "--no-commit", "7")
		if len(doc.Results) != 1 || doc.Results[0].Record == nil {
			t.Fatalf("exit code %d: %+v", code, doc)
		}
		rec = doc.Results[0].Record
		log, err := os.ReadFile(filepath.Join(r.dir, ".trkr/runs", rec.RunID, "build.log"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = os.Stat(filepath.Join(marks, "home"))
		if image != "" {
			expect(t, code, doc, verdict.Clear)
		}
		return r.git("rev-parse", "main") != was, err == nil, strings.Contains(string(log), "of the caller") || strings.Contains(string(log), "HEAD"), rec
	}
	if moved, marked, read, rec := did(t, "gvisor", ""); !moved || !marked || !read || rec.Build.Where != "host" {
		t.Errorf("on the host: moved %t, marked %t, read %t, %+v", moved, marked, read, rec.Build)
	}
	onEngines(t, func(t *testing.T, engine string) {
		moved, marked, read, rec := did(t, engine, "docker-archive:"+archive)
		if moved || marked || read {
			t.Errorf("moved %t, marked %t, read %t", moved, marked, read)
		}
		if b := rec.Build; b.Where != "container" || b.Engine != engine || !strings.HasPrefix(b.ImageDigest, "sha256:") || b.Limits["memory"] == "" {
			t.Errorf("%+v", b)
		}
	})
}

// An interrupted or killed program leaves nothing of a build in a container, or nothing that the next run does not remove.
func TestContainedBuildCutShort(t *testing.T) {
	needs(t, "docker")
	archive := buildArchive(t)
	onEngines(t, func(t *testing.T, engine string) {
		for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
			mark := strings.ReplaceAll(t.TempDir(), "/", "-") // in the words of the build, by which its processes are known
			r := containedRepo(t, "echo begun; sleep 1000; : "+mark, "docker-archive:"+archive, "x")
			tmp := r.isolate()
			cache := t.TempDir()
			r.env = append(r.env, "XDG_CACHE_HOME="+cache)
			cmd := exec.Command(program, "--engine", engine, "7")
			cmd.Dir, cmd.Env = r.dir, r.env
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			begun := func() bool {
				logs, _ := filepath.Glob(filepath.Join(r.dir, ".trkr/runs/*/build.log"))
				for _, name := range logs {
					if log, err := os.ReadFile(name); err == nil && strings.Contains(string(log), "begun") {
						return true
					}
				}
				return false
			}
			until(t, begun)
			if engine == "docker" && !alive(t, mark) { // gVisor shows none of its processes
				t.Error("the build is not seen to run, so its end says nothing")
			}
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			err := cmd.Wait()
			if exit, ok := errors.AsType[*exec.ExitError](err); signal == syscall.SIGINT && (!ok || exit.ExitCode() != 130) {
				t.Errorf("%v: %v", signal, err)
			}
			until(t, func() bool { return !alive(t, mark) })
			if signal == syscall.SIGKILL { // what it left the next run removes
				r.env = append(r.env, "TRKR_VALIDATE_BUILD="+makeShout)
				code, doc := r.validate("--engine", engine, "7")
				expect(t, code, doc, verdict.Clear)
			}
			r.nothingLeft(engine, tmp)
			if left, _ := filepath.Glob(filepath.Join(cache, "trkr-validate/images/build-scratch-*")); len(left) > 0 {
				t.Errorf("%v: left %q", signal, left)
			}
			if out, err := exec.Command("docker", "images", "--filter", "reference=trkr-validate-image:build-*", "--format", "{{.Repository}}:{{.Tag}}").Output(); err != nil || len(out) > 0 {
				t.Errorf("%v: %v, images %s", signal, err, out)
			}
		}
	})
}

// alive tells whether a process of this machine has a mark in its words.
func alive(t *testing.T, mark string) bool {
	t.Helper()
	procs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(procs, func(name string) bool {
		line, err := os.ReadFile(name)
		return err == nil && strings.Contains(string(line), mark)
	})
}

// until waits for what is about to be.
func until(t *testing.T, f func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not come about within a minute")
		}
	}
}
