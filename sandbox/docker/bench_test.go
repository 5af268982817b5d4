package docker

import (
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/testengine"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

// docker runs the Docker command and tells how long it took.
func docker(b *testing.B, args ...string) time.Duration {
	b.Helper()
	began := time.Now()
	if out, err := exec.CommandContext(b.Context(), "docker", args...).CombinedOutput(); err != nil {
		b.Fatalf("docker %v: %v: %s", args, err, out)
	}
	return time.Since(began)
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// BenchmarkBoxAgainstRun measures a box from start to removed, with one command, against a bare docker run of the same
// image, each beside the other. "x-run" is to be at most 1.2.
func BenchmarkBoxAgainstRun(b *testing.B) {
	e := testEngine(b)
	_, err := exec.LookPath("docker")
	testengine.Require(b, Name, err)
	ref := busybox(b, e, "bench")
	for _, image := range []string{"host", ref} {
		name := "image"
		if image == "host" {
			name = image
		}
		b.Run(name, func(b *testing.B) {
			spec := testSpec(b, image)
			box := func() time.Duration {
				began := time.Now()
				box, err := e.Start(b.Context(), spec)
				if err != nil {
					b.Fatal(err)
				}
				command(b, box)
				if err := box.Close(); err != nil {
					b.Fatal(err)
				}
				return time.Since(began)
			}
			box() // the base image is made once
			var ours, bare []time.Duration
			for b.Loop() {
				ours = append(ours, box())
				bare = append(bare, docker(b, "run", "--rm", ref, "true"))
			}
			b.ReportMetric(float64(median(ours).Milliseconds()), "ms/box")
			b.ReportMetric(float64(median(bare).Milliseconds()), "ms/run")
			b.ReportMetric(float64(median(ours))/float64(median(bare)), "x-run")
		})
	}
}

// command opens a session and runs one command in it.
func command(b *testing.B, box sandbox.Sandbox) {
	b.Helper()
	s, err := box.Open(b.Context(), sandbox.SessionSpec{Role: sandbox.RoleSubject})
	if err != nil {
		b.Fatal(err)
	}
	once(b, s)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

func once(b *testing.B, s sandbox.Session) {
	b.Helper()
	exit, err := s.Run(b.Context(), sandbox.Command{Args: []string{"true"}})
	if err != nil || exit.Code != 0 {
		b.Fatal(exit, err)
	}
}

// BenchmarkCommandAgainstExec measures one more command against docker exec. "exec-x" is to be at least 20.
func BenchmarkCommandAgainstExec(b *testing.B) {
	e := testEngine(b)
	_, err := exec.LookPath("docker")
	testengine.Require(b, Name, err)
	ref := busybox(b, e, "bench-exec")
	spec := testSpec(b, ref)
	box := start(b, e, spec)
	s, err := box.Open(b.Context(), sandbox.SessionSpec{Role: sandbox.RoleSubject})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	name := boxes(b, e, spec.RunID)[0]
	var ours, bare []time.Duration
	for b.Loop() {
		for range 10 {
			began := time.Now()
			once(b, s)
			ours = append(ours, time.Since(began))
		}
		bare = append(bare, docker(b, "exec", name, "true"))
	}
	b.ReportMetric(float64(median(ours).Microseconds())/1000, "ms/command")
	b.ReportMetric(float64(median(bare).Microseconds())/1000, "ms/exec")
	b.ReportMetric(float64(median(bare))/float64(median(ours)), "exec-x")
}
