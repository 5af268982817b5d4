package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// running is a program that was started and whose log is read as it goes.
type running struct {
	t      testing.TB
	cmd    *exec.Cmd
	stdout bytes.Buffer
	stderr io.ReadCloser
	lines  *bufio.Scanner
}

// logged is one line of the program's log.
type logged struct{ Event, Step, Message string }

// begin starts the program. The caller ends it with kill or wait.
func (r *repo) begin(args ...string) *running {
	r.t.Helper()
	p := &running{t: r.t, cmd: exec.Command(program, append([]string{"--json", "--log-level", "debug", "--log-format", "json"}, args...)...)}
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdout = r.dir, r.env, &p.stdout
	var err error
	if p.stderr, err = p.cmd.StderrPipe(); err != nil {
		r.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { // a test that failed half way leaves no program; one that has ended is not signalled
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	p.lines = bufio.NewScanner(p.stderr)
	return p
}

// until reads the log up to an event of a step.
func (p *running) until(event, step string) {
	p.t.Helper()
	p.read(event+" "+step, func(l logged) bool { return l.Event == event && l.Step == step })
}

// says reads the log up to a message that holds some words.
func (p *running) says(words string) {
	p.t.Helper()
	p.read(words, func(l logged) bool { return strings.Contains(l.Message, words) })
}

func (p *running) read(what string, is func(logged) bool) {
	p.t.Helper()
	for p.lines.Scan() {
		var line logged
		if json.Unmarshal(p.lines.Bytes(), &line) == nil && is(line) {
			return
		}
	}
	err := p.cmd.Wait()
	p.t.Fatalf("the run ended before %q: %v\n%s", what, err, p.stdout.Bytes())
}

// kill ends it without mercy.
func (p *running) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		p.t.Fatal(err)
	}
	go io.Copy(io.Discard, p.stderr)
	if err := p.cmd.Wait(); err == nil {
		p.t.Fatal("the run ended before it was killed")
	}
}

// wait waits for its end and returns what it printed.
func (p *running) wait() (int, document) {
	p.t.Helper()
	// The log is read to its end first: Wait closes the pipe.
	if _, err := io.Copy(io.Discard, p.stderr); err != nil {
		p.t.Fatal(err)
	}
	err := p.cmd.Wait()
	var doc document
	if jerr := json.Unmarshal(p.stdout.Bytes(), &doc); jerr != nil {
		p.t.Fatalf("stdout is not one JSON document: %v, %v\n%s", jerr, err, p.stdout.Bytes())
	}
	return p.cmd.ProcessState.ExitCode(), doc
}
