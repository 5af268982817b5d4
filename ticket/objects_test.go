package ticket

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// Somebody may end the program that is kept between two questions.
func TestReaderThatWasKilledIsReplaced(t *testing.T) {
	r := open(t, fixture(t, filepath.Join(tempDir(t), "r")))
	defer r.Rest()
	for range 3 {
		objects, err := r.objects(t.Context(), []string{"trkr/7^{tree}", "no-such-thing"})
		if err != nil || objects[0].kind != "tree" || objects[1].kind != "" {
			t.Fatalf("%+v, %v", objects, err)
		}
		if err := r.reader.run.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
	}
}

// A question that is given up ends the program: its late answer must not be taken for the next one's.
func TestReaderEndsWithItsQuestion(t *testing.T) {
	r := open(t, fixture(t, filepath.Join(tempDir(t), "r")))
	defer r.Rest()
	if _, err := r.objects(t.Context(), []string{"trkr/7"}); err != nil {
		t.Fatal(err)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := r.objects(ctx, []string{"trkr/7"}); !errors.Is(err, why) {
		t.Errorf("want %v, got %v", why, err)
	}
	objects, err := r.objects(t.Context(), []string{"trkr/7^{tree}"})
	if err != nil || objects[0].kind != "tree" {
		t.Errorf("after it: %+v, %v", objects, err)
	}
}

func TestReaderRests(t *testing.T) {
	r := open(t, fixture(t, filepath.Join(tempDir(t), "r")))
	if _, err := r.objects(t.Context(), []string{"trkr/7"}); err != nil {
		t.Fatal(err)
	}
	run := r.reader.run
	began := time.Now()
	r.Rest()
	r.Rest()
	if run.cmd.ProcessState == nil || time.Since(began) > time.Minute {
		t.Errorf("the program runs on: %v", run.cmd.ProcessState)
	}
	if _, err := r.objects(t.Context(), []string{"two\nlines"}); err == nil || r.reader.run != nil {
		t.Errorf("a name of two lines was asked for: %v", err)
	}
}

func TestLargeQuestionsDoNotBlock(t *testing.T) {
	r := open(t, fixture(t, filepath.Join(tempDir(t), "r")))
	defer r.Rest()
	names := make([]string, 50_000) // more than pipes hold, in both directions
	for i := range names {
		names[i] = "trkr/7^{tree}"
	}
	objects, err := r.objects(t.Context(), names)
	if err != nil || len(objects) != len(names) {
		t.Fatalf("%d, %v", len(objects), err)
	}
}

// Git gives what stands in an object's file without a look at its content: a build may have put another content there.
func TestObjectsAreWhatTheirIDsSay(t *testing.T) {
	planted := func(t *testing.T, dir, of, kind, text string) {
		t.Helper()
		id := git(t, dir, "rev-parse", of)
		file := filepath.Join(dir, ".git/objects", id[:2], id[2:])
		var b bytes.Buffer
		z := zlib.NewWriter(&b)
		fmt.Fprintf(z, "%s %d\x00%s", kind, len(text), text)
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, b.Bytes(), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	raw := func(t *testing.T, dir, of string) string {
		t.Helper()
		out, err := exec.Command("git", "-C", dir, "cat-file", git(t, dir, "cat-file", "-t", of), of).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	for name, plant := range map[string]func(t *testing.T, dir string){
		"a blob": func(t *testing.T, dir string) {
			planted(t, dir, "trkr/7:.trkr/tickets/7/contract.md", "blob", "VAL-1: nothing\n")
		},
		"a tree": func(t *testing.T, dir string) {
			planted(t, dir, "trkr/7:.trkr", "tree", raw(t, dir, "main^{tree}"))
		},
		"a commit": func(t *testing.T, dir string) { planted(t, dir, "trkr/7", "commit", raw(t, dir, "main")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := fixture(t, filepath.Join(tempDir(t), "r"))
			commit := git(t, dir, "rev-parse", "trkr/7")
			plant(t, dir)
			r := open(t, dir)
			defer r.Rest()
			if data, err := r.File(t.Context(), commit, ".trkr/tickets/7/contract.md"); err == nil || fault.Of(err).Code != codeDamaged {
				t.Errorf("%q, %v", data, err)
			}
		})
	}
}
