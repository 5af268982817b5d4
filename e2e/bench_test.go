package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/verdict"
)

// buildNothing builds a static program that does nothing and succeeds.
func buildNothing(b *testing.B, program string) {
	b.Helper()
	source := filepath.Join(b.TempDir(), "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", program, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
}

// bareImage makes an image that holds one static program, /true, and returns its name.
func bareImage(b *testing.B) string {
	b.Helper()
	program := filepath.Join(b.TempDir(), "true")
	buildNothing(b, program)
	content, err := os.ReadFile(program)
	if err != nil {
		b.Fatal(err)
	}
	return loadImage(b, "bare", executable("true", content))
}

// Everything but build and agent, against one bare `docker run --rm` of the same image, in turn.
func BenchmarkRunAgainstDockerRun(b *testing.B) {
	for _, engine := range []string{"gvisor", "docker"} {
		b.Run(engine, func(b *testing.B) {
			image := bareImage(b)
			settings := map[string]any{"build": "mkdir -p dist && cp tool dist/tool", "artifacts": []string{"dist/*"}, "engine": engine, "commit": false}
			if engine == "docker" {
				settings["image"] = image
			}
			config, err := json.Marshal(map[string]any{"validate": settings})
			if err != nil {
				b.Fatal(err)
			}
			r := benchRepo(b, string(config))
			var own, bare []time.Duration
			for i := 0; b.Loop() || i < 2; i++ {
				began := time.Now()
				rec := r.clear(b)
				took := time.Since(began)
				for _, step := range []string{"build", "validate"} {
					took -= time.Duration(rec.Timings[step]) * time.Millisecond
				}
				began = time.Now()
				if out, err := exec.Command("docker", "run", "--rm", image, "/true").CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				if i > 0 { // the first of each warms up
					own, bare = append(own, took), append(bare, time.Since(began))
				}
			}
			report(b, "run", own, bare)
		})
	}
}

// Eight tickets at once, against eight bare `docker run --rm` at once; and the most memory that this program took. The
// boxes are processes of their own.
func BenchmarkEightTickets(b *testing.B) {
	for _, engine := range []string{"gvisor", "docker"} {
		b.Run(engine, func(b *testing.B) {
			image := bareImage(b)
			settings := map[string]any{"build": "mkdir -p dist && cp tool dist/tool && chmod +x dist/tool", "artifacts": []string{"dist/*"}, "engine": engine, "commit": false}
			if engine == "docker" {
				settings["image"] = image
			}
			config, err := json.Marshal(map[string]any{"validate": settings})
			if err != nil {
				b.Fatal(err)
			}
			tool := filepath.Join(b.TempDir(), "tool")
			buildNothing(b, tool)
			content, err := os.ReadFile(tool)
			if err != nil {
				b.Fatal(err)
			}
			r := newRepo(b, map[string]string{".gitignore": "/dist/\n", ".trkr/config.json": string(config)})
			var issues []string
			for i := range 8 {
				issue := strconv.Itoa(i + 1)
				issues = append(issues, issue)
				r.ticket(issue, "VAL-1: `tool` succeeds\n", map[string]string{"tool": string(content)})
			}
			var own, bare []time.Duration
			var most int64
			for i := 0; b.Loop() || i < 2; i++ {
				began := time.Now()
				cmd := exec.Command(program, append([]string{"--quiet", "--jobs", "8"}, issues...)...)
				cmd.Dir, cmd.Env = r.dir, r.env
				peak := peakOf(b, cmd)
				took := time.Since(began)
				began = time.Now()
				var all sync.WaitGroup
				for range issues {
					all.Go(func() {
						if out, err := exec.Command("docker", "run", "--rm", image, "/true").CombinedOutput(); err != nil {
							b.Errorf("%v\n%s", err, out)
						}
					})
				}
				all.Wait()
				if i > 0 { // the first of each warms up
					own, bare, most = append(own, took), append(bare, time.Since(began)), max(most, peak)
				}
			}
			report(b, "eight", own, bare)
			b.ReportMetric(float64(most>>10), "MiB")
		})
	}
}

// peakOf runs a program to its good end and returns the most memory that it had, in KiB. What its children had, which
// the system adds to what it tells afterwards, does not count.
func peakOf(b *testing.B, cmd *exec.Cmd) (peak int64) {
	b.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case err := <-ended:
			if err != nil {
				b.Fatalf("%v\n%s", err, out.Bytes())
			}
			return peak
		case <-look.C:
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)) // gone at the end
			for line := range strings.Lines(string(status)) {
				var kib int64
				if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kib); err == nil {
					peak = max(peak, kib)
				}
			}
		}
	}
}

func benchRepo(b *testing.B, config string) *repo {
	b.Helper()
	r := newRepo(b, map[string]string{".gitignore": "/dist/\n", ".trkr/config.json": config})
	r.ticket("7", "VAL-1: `tool` succeeds\n", nil)
	r.git("checkout", "-q", "trkr/7")
	buildNothing(b, filepath.Join(r.dir, "tool"))
	r.commit("the tool", nil)
	return r
}

// clear validates ticket 7 and returns its record.
func (r *repo) clear(b *testing.B) *verdict.Record {
	b.Helper()
	_, doc := r.validate("7")
	if len(doc.Results) != 1 || doc.Results[0].Outcome != verdict.Clear {
		b.Fatalf("not clear: %+v", doc)
	}
	return doc.Results[0].Record
}

// report prints both medians and their ratio, measured pair by pair in one run.
func report(b *testing.B, what string, own, other []time.Duration) {
	b.Helper()
	ratios := make([]float64, len(own))
	for i := range own {
		ratios[i] = float64(own[i]) / float64(other[i])
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(median(own).Microseconds())/1000, what+"-ms")
	b.ReportMetric(float64(median(other).Microseconds())/1000, "bare-ms")
	b.ReportMetric(median(ratios), "ratio")
}

func median[T float64 | time.Duration](v []T) T {
	s := slices.Sorted(slices.Values(v))
	return s[len(s)/2]
}
