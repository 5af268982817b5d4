//go:build linux && (amd64 || arm64)

package gvisor

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// BenchmarkStart is a box from nothing to the end of its first command, and its end.
func BenchmarkStart(b *testing.B) {
	e, spec := newEngine(b), newSpec(b)
	_ = os.Stdout
	var ru0, ru1 syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_CHILDREN, &ru0)
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
	syscall.Getrusage(syscall.RUSAGE_CHILDREN, &ru1)
	n := float64(b.N) * 1e6
	b.ReportMetric(float64(up)/n, "ms-start")
	b.ReportMetric(float64(cmd)/n, "ms-command")
	b.ReportMetric(float64(down)/n, "ms-close")
	cpu := time.Duration(ru1.Utime.Nano() + ru1.Stime.Nano() - ru0.Utime.Nano() - ru0.Stime.Nano())
	b.ReportMetric(float64(cpu)/n, "cpu-ms")
}
