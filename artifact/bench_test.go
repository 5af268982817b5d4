package artifact

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// BenchmarkSeal compares sealing with sha256sum of the same files, one right after the other. TRKR_BENCH_MIB sets the
// size of all files together.
func BenchmarkSeal(b *testing.B) {
	mib := 256
	if s := os.Getenv("TRKR_BENCH_MIB"); s != "" {
		var err error
		if mib, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	for _, c := range []struct {
		name  string
		files int
	}{{"one file", 1}, {"8 files", 8}, {"2000 files", 2000}} {
		b.Run(c.name, func(b *testing.B) {
			root := b.TempDir()
			size := mib << 20 / c.files
			rnd := rand.NewChaCha8([32]byte{})
			data := make([]byte, size)
			for i := range c.files {
				_, _ = rnd.Read(data)
				dir := filepath.Join(root, "dist", fmt.Sprint(i/50))
				must(b, os.MkdirAll(dir, 0o755))
				must(b, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), data, 0o644))
			}
			o := Options{Root: root, Globs: []string{"dist"}, Staging: b.TempDir(), MaxBytes: 1 << 40, MaxFiles: 1 << 20, Platform: "linux/amd64"}
			var ours, theirs time.Duration
			b.SetBytes(int64(size * c.files))
			for b.Loop() {
				begin := time.Now()
				if out, err := exec.Command("/bin/sh", "-c", `find "$0" -type f -exec sha256sum {} + >/dev/null`, root).CombinedOutput(); err != nil {
					b.Fatalf("%v: %s", err, out)
				}
				theirs += time.Since(begin)
				begin = time.Now()
				s, err := Collect(b.Context(), o)
				if err != nil {
					b.Fatal(err)
				}
				ours += time.Since(begin)
				must(b, s.Close())
			}
			b.ReportMetric(float64(ours)/float64(theirs), "x-sha256sum")
			b.ReportMetric(float64(ours.Milliseconds())/float64(b.N), "seal-ms")
		})
	}
}
