package ticket

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkRecord commits a record in a repository of 100,000 files and, in the same run, the same file with
// git commit --only. ratio is the first's time by the second's; at most 1 is wanted.
func BenchmarkRecord(b *testing.B) {
	dir := filepath.Join(tempDir(b), "r")
	fixture(b, dir)
	var in bytes.Buffer
	fmt.Fprintf(&in, "commit refs/heads/trkr/7\ncommitter A <a@b> 0 +0000\ndata 1\nx\nfrom refs/heads/trkr/7^0\n")
	for i := range 100_000 {
		fmt.Fprintf(&in, "M 100644 inline pkg%d/dir%d/file%d.go\ndata 8\n%08d\n", i/5000, i/100%50, i, i)
	}
	load := exec.Command("git", "fast-import", "--quiet", "--done")
	load.Dir, load.Stdin = dir, bytes.NewReader(append(in.Bytes(), "done\n"...))
	if out, err := load.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	git(b, dir, "reset", "-q", "--hard")
	git(b, dir, "config", "user.name", "A")
	git(b, dir, "config", "user.email", "a@example.org")
	git(b, dir, "config", "gc.auto", "0")
	git(b, dir, "status")
	r := open(b, dir)
	ctx := context.Background()
	file := filepath.Join(dir, ".trkr/tickets/7/validation.md")
	write(b, file, "first\n")
	git(b, dir, "add", "-f", file)
	git(b, dir, "commit", "-qm", "first")

	var ours, theirs time.Duration
	for i := 0; b.Loop(); i++ {
		tk := resolve(b, r, Query{})
		start := time.Now()
		if _, err := r.Record(ctx, tk, fmt.Appendf(nil, "record %d\n", i), "m"); err != nil {
			b.Fatal(err)
		}
		ours += time.Since(start)

		write(b, file, fmt.Sprintf("commit %d\n", i))
		start = time.Now()
		git(b, dir, "commit", "-q", "--only", "-m", "m", "--", file)
		theirs += time.Since(start)
	}
	b.ReportMetric(float64(ours.Milliseconds())/float64(b.N), "record-ms/op")
	b.ReportMetric(float64(theirs.Milliseconds())/float64(b.N), "commit-ms/op")
	b.ReportMetric(ours.Seconds()/theirs.Seconds(), "ratio")
}
