package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
