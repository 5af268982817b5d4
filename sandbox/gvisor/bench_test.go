//go:build linux && (amd64 || arm64)

package gvisor

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/sandbox"
)

// BenchmarkStart is a box from nothing to the end of its first command, and its end.
func BenchmarkStart(b *testing.B) {
	e, spec := newEngine(b), newSpec(b)
	var ru0, ru1 syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_CHILDREN, &ru0))
	var up, cmd, down time.Duration
	for b.Loop() {
		t0 := time.Now()
		box, err := e.Start(b.Context(), spec)
		must(b, err)
		t1 := time.Now()
		if _, _, err := trySh(box, "true"); err != nil {
			b.Fatal(err)
		}
		t2 := time.Now()
		must(b, box.Close())
		up += t1.Sub(t0)
		cmd += t2.Sub(t1)
		down += time.Since(t2)
	}
	must(b, syscall.Getrusage(syscall.RUSAGE_CHILDREN, &ru1))
	n := float64(b.N) * 1e6
	b.ReportMetric(float64(up)/n, "ms-start")
	b.ReportMetric(float64(cmd)/n, "ms-command")
	b.ReportMetric(float64(down)/n, "ms-close")
	cpu := time.Duration(ru1.Utime.Nano() + ru1.Stime.Nano() - ru0.Utime.Nano() - ru0.Stime.Nano())
	b.ReportMetric(float64(cpu)/n, "cpu-ms")
}

// forker starts /bin/true as often as it is told and says after each how long that took, in nanoseconds. It keeps both
// outputs, as a command of ours does, and waits for a line before each time, so that it takes turns with the commands
// that it is compared with.
const forker = `package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"time"
)

func main() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		began := time.Now()
		var stdout, stderr bytes.Buffer
		c := exec.Command("/bin/true")
		c.Stdout, c.Stderr = &stdout, &stderr
		if err := c.Run(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(time.Since(began).Nanoseconds())
	}
}
`

// BenchmarkCommandAgainstFork measures one more command of a session against what a process inside the very box takes
// to fork and exec the same program by itself, in turns. "x-fork" is to be at most 1.2.
func BenchmarkCommandAgainstFork(b *testing.B) {
	e, spec := newEngine(b), newSpec(b)
	source := filepath.Join(b.TempDir(), "main.go")
	must(b, os.WriteFile(source, []byte(forker), 0o644))
	build := exec.Command("go", "build", "-o", filepath.Join(spec.Input, "artifact", "forker"), source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	box := start(b, e, spec)
	session := func() sandbox.Session {
		s, err := box.Open(b.Context(), sandbox.SessionSpec{Role: sandbox.RoleSubject})
		must(b, err)
		b.Cleanup(func() { must(b, s.Close()) })
		return s
	}
	ours, theirs := session(), session()
	asked, ask, err := os.Pipe()
	must(b, err)
	defer asked.Close()
	told := make(lines, 1)
	ended := make(chan error, 1)
	go func() {
		_, err := theirs.Run(b.Context(), sandbox.Command{Args: []string{"/validate/artifact/forker"}, Stdin: asked, Stdout: told})
		close(told)
		ended <- err
	}()

	var own, bare []float64
	for i := 0; b.Loop() || i < 2; i++ {
		began := time.Now()
		exit, err := ours.Run(b.Context(), sandbox.Command{Args: []string{"/bin/true"}})
		took := float64(time.Since(began))
		must(b, err)
		if exit.Code != 0 {
			b.Fatal(exit)
		}
		_, err = ask.WriteString("\n")
		must(b, err)
		fork, err := strconv.ParseFloat(strings.TrimSpace(<-told), 64)
		must(b, err)
		if i > 0 { // the first of each warms up
			own, bare = append(own, took/1e6), append(bare, fork/1e6)
		}
	}
	must(b, ask.Close())
	must(b, <-ended)
	b.ReportMetric(median(own), "ms/command")
	b.ReportMetric(median(bare), "ms/fork")
	b.ReportMetric(median(own)/median(bare), "x-fork")
}

func median(v []float64) float64 { return slices.Sorted(slices.Values(v))[len(v)/2] }

// lines passes on what is written, line by line.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		l <- string(line)
	}
	return len(p), nil
}
