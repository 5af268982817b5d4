package ticket

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"
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
