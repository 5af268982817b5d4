package ticket

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A build puts a pipe where git reads a file: git would wait there until its time is up.
func TestPipeInTheWayOfGitIsNamed(t *testing.T) {
	for name, file := range map[string]string{
		"attributes":                   ".gitattributes",
		"attributes of a folder":       ".trkr/tickets/7/.gitattributes",
		"attributes of the repository": ".git/info/attributes",
		"excludes of the repository":   ".git/info/exclude",
		"settings":                     ".git/config",
		"history cut off":              ".git/shallow",
		"behind a link":                "->.git/info/attributes",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := fixture(t, filepath.Join(tempDir(t), "r"))
			r := open(t, dir)
			tk := resolve(t, r, Query{})
			write(t, filepath.Join(dir, "src/a.go"), "changed by the build\n")
			pipe := filepath.Join(dir, file)
			if linked := filepath.Join(dir, ".git/info/attributes"); file == "->.git/info/attributes" {
				pipe = filepath.Join(dir, "build/pipe")
				mkdir(t, filepath.Dir(pipe))
				mkdir(t, filepath.Dir(linked))
				link(t, pipe, linked)
			}
			mkdir(t, filepath.Dir(pipe))
			if err := os.Remove(pipe); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(pipe, 0o644); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			_, err := r.Record(ctx, tk, []byte("x\n"), "m")
			wantFault(t, err, "git_file_odd")
			if file != ".trkr/tickets/7/.gitattributes" { // not on the way to the file
				wantFault(t, r.Restore(ctx, tk, []string{"src/a.go"}), "git_file_odd")
			}
			if exists(filepath.Join(dir, ".git/index.lock")) {
				t.Error("the index is still locked")
			}
		})
	}
}
