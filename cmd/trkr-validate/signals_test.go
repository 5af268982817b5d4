package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/verdict"
)

// stubborn is a program that does not care about its context: it writes to the FIFO of its argument when it is ready
// and when it was asked to end, and then goes on for ever.
func stubborn() {
	ctx, _, stop := interruptible(os.Stderr)
	defer stop()
	for _, word := range []string{"ready", "asked"} {
		if err := os.WriteFile(os.Args[1], []byte(word), 0); err != nil {
			panic(err)
		}
		<-ctx.Done()
	}
	time.Sleep(time.Hour)
}

// start runs this test's program under another name.
func start(t *testing.T, dir, name string, args ...string) (*exec.Cmd, *bytes.Buffer, *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	cmd := exec.Command(self)
	cmd.Args = append([]string{name}, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, &out, &errs
}

func fifo(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// hear waits for the next word that somebody writes to a FIFO.
func hear(t *testing.T, fifo, want string) {
	t.Helper()
	got, err := os.ReadFile(fifo)
	if err != nil || strings.TrimSpace(string(got)) != want {
		t.Fatalf("heard %q, %v; want %q", got, err, want)
	}
}

func exitOf(t *testing.T, err error) int {
	t.Helper()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		t.Fatalf("ended with %v", err)
	}
	return exit.ExitCode()
}

// ticketRepo makes dir a repository with the ticket 7, whose build makes the file artifact.
func ticketRepo(t *testing.T, dir, build, artifact, contract string) {
	t.Helper()
	config, err := json.Marshal(map[string]any{"validate": map[string]any{"build": build, "artifacts": []string{artifact}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		".trkr/config.json": string(config), ".gitignore": artifact + "\n", ".trkr/tickets/7/contract.md": contract,
	} {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-qm", "start"}, {"branch", "trkr/7"}} {
		git := exec.Command("git", append([]string{"-c", "user.name=A", "-c", "user.email=a@localhost"}, args...)...)
		git.Dir = dir
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

func TestTheFirstSignalTidies(t *testing.T) {
	for sig, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			started, dir := fifo(t), t.TempDir()
			build := "touch lock; echo building > " + started + "; sleep 1000"
			ticketRepo(t, dir, build, "lock", "VAL-1: `x` succeeds\n")
			cmd, out, errs := start(t, dir, "trkr-validate", "7", "--json", "--engine", "gvisor")
			hear(t, started, "building")
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if got := exitOf(t, cmd.Wait()); got != want {
				t.Errorf("exit code %d, want %d", got, want)
			}
			var doc document
			if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
				t.Fatalf("%v\n%s\n%s", err, out, errs)
			}
			if int(doc.ExitCode) != want || len(doc.Results) != 1 || doc.Results[0].Outcome != verdict.Error || doc.Results[0].Error == nil || doc.Results[0].Error.Code != "interrupted" {
				t.Errorf("the document says %s", out)
			}
			if !strings.Contains(errs.String(), "tidying up; once more ends at once") {
				t.Errorf("stderr: %s", errs)
			}
			worktrees := exec.Command("git", "worktree", "list")
			worktrees.Dir = dir
			if list, err := worktrees.Output(); err != nil || strings.Count(string(list), "\n") != 1 {
				t.Errorf("worktrees left: %s, %v", list, err)
			}
		})
	}
}

func TestTheSecondSignalEndsAtOnce(t *testing.T) {
	heard := fifo(t)
	cmd, _, _ := start(t, t.TempDir(), "stubborn", heard)
	hear(t, heard, "ready")
	signal := func() {
		t.Helper()
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
	}
	signal()
	hear(t, heard, "asked")
	signal()
	if got := exitOf(t, cmd.Wait()); got != 130 {
		t.Errorf("exit code %d, want 130", got)
	}
}
