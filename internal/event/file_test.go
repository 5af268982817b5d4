package event_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/internal/event"
	"github.com/trkr-dev/trkr-validate/internal/redact"
)

func open(t *testing.T, path string, r *redact.Redactor) *event.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	file, err := event.OpenFile(f, r)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func emit(t *testing.T, path string, r *redact.Redactor, details ...string) {
	t.Helper()
	file := open(t, path, r)
	stream := &event.Stream{RunID: "r1", Issue: "7"}
	stream.Add(file)
	for _, d := range details {
		stream.Emit(event.Event{Type: event.StepFinished, Step: "build", Detail: d})
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []event.Event {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	events, err := event.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func TestEventsAreNumberedAndReadBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	emit(t, path, redact.New(), "one", "two")
	events := read(t, path)
	if len(events) != 2 || events[0].Seq != 1 || events[1].Seq != 2 || events[1].Detail != "two" || events[0].RunID != "r1" {
		t.Errorf("read back %+v", events)
	}
}

func TestSecretsNeverReachTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	emit(t, path, redact.New(`to"ken-value`), `the to"ken-value leaks`)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "ken-value") {
		t.Errorf("the secret stands in %s", raw)
	}
	if got := read(t, path)[0].Detail; got != "the [REDACTED] leaks" {
		t.Errorf("detail %q", got)
	}
}

// A crash can tear the last line at any byte; what was whole stays, and the next event starts on a line of its own.
func TestTornLastLineIsRepaired(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	emit(t, path, redact.New(), "one", strings.Repeat("x", 70<<10))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first := strings.IndexByte(string(whole), '\n') + 1
	for _, cut := range []int{1, first - 1, first, first + 1, len(whole) - 66<<10, len(whole) - 1} {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		kept := 0
		if cut >= first {
			kept = 1
		}
		if got := read(t, path); len(got) != kept {
			t.Errorf("cut at %d: a reader sees %d events, want %d", cut, len(got), kept)
		}
		emit(t, path, redact.New(), "after")
		if got := read(t, path); len(got) != kept+1 || got[kept].Detail != "after" {
			t.Errorf("cut at %d: after repair %d events, want %d", cut, len(got), kept+1)
		}
	}
}

// Whatever stands in an account, what was read of it is written and read back as the same.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"schemaVersion":1,"seq":1,"runId":"r","issue":"7","type":"step.finished","step":"build","ms":3,"detail":"no"}` + "\n" + `{"schemaVersion":2}` + "\n{"))
	f.Add([]byte(`{"schemaVersion":1,"type":"criterion.reported","criterion":{"id":"VAL-1","status":"met"}}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		events, _ := event.Read(bytes.NewReader(data))
		var again bytes.Buffer
		enc := json.NewEncoder(&again)
		for _, e := range events {
			if e.SchemaVersion != event.SchemaVersion {
				t.Fatalf("version %d was read", e.SchemaVersion)
			}
			if err := enc.Encode(e); err != nil {
				return // a time that JSON cannot hold
			}
		}
		back, err := event.Read(&again)
		if err != nil || len(back) != len(events) {
			t.Errorf("%d events became %d: %v", len(events), len(back), err)
		}
	})
}
