package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/internal/event"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// screen is as much of a terminal as live progress uses: lines, cursor up, clear to the end.
type screen struct{ lines []string }

func (s *screen) Write(p []byte) (int, error) {
	text := string(p)
	for text != "" {
		if rest, ok := strings.CutPrefix(text, "\x1b["); ok {
			var n int
			if _, err := fmt.Sscanf(rest, "%dA", &n); err == nil {
				s.lines = s.lines[:len(s.lines)-n] // what follows is always cleared
				_, text, _ = strings.Cut(rest, "A")
				continue
			}
			text = strings.TrimPrefix(rest, "J")
			continue
		}
		line, rest, _ := strings.Cut(text, "\n")
		s.lines = append(s.lines, line)
		text = rest
	}
	return len(p), nil
}

func emit(to event.Sink, issue string, e event.Event) {
	e.Issue = issue
	to.Emit(e)
}

func TestLiveKeepsOneLinePerTicketBelowTheLog(t *testing.T) {
	s := &screen{}
	a := &app{streams: streams{err: s}, logTo: &switchWriter{to: s}}
	l := newLive(a)
	shown := func() string { // the ticker may draw at any time
		l.mu.Lock()
		defer l.mu.Unlock()
		return strings.Join(s.lines, "\n")
	}
	emit(l, "7", event.Event{Type: event.StepStarted, Step: "build"})
	emit(l, "8", event.Event{Type: event.StepStarted, Step: "install"})
	if got := shown(); got != "7     0s  build\n8     0s  install" {
		t.Errorf("two tickets show as %q", got)
	}
	fmt.Fprintln(a.logTo, "a warning")
	emit(l, "8", event.Event{Type: event.CriterionReported, Step: "validate", Criterion: &verdict.Criterion{ID: "VAL-1", Status: verdict.Met}})
	if got := shown(); got != "a warning\n7     0s  build\n8     0s  validate  VAL-1 met" {
		t.Errorf("with a log line it shows %q", got)
	}
	emit(l, "7", event.Event{Type: event.StepStarted, Step: strings.Repeat("long\x1b", 40)})
	if got := strings.Split(shown(), "\n"); len(got[1]) != 79 || strings.Contains(got[1], "\x1b") {
		t.Errorf("a long line shows as %q", got[1])
	}
	emit(l, "7", event.Event{Type: event.RunFinished, Outcome: verdict.Clear})
	if got := shown(); got != "a warning\n8     0s  validate  VAL-1 met" {
		t.Errorf("a finished ticket leaves %q", got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(a.logTo, "late")
	if got := strings.Join(s.lines, "\n"); got != "a warning\nlate" {
		t.Errorf("in the end the terminal shows %q", got)
	}
}

func TestPlainLines(t *testing.T) {
	var b strings.Builder
	p := &lineByLine{to: &b}
	emit(p, "7", event.Event{Type: event.RunStarted})
	emit(p, "7", event.Event{Type: event.StepStarted, Step: "build"})
	emit(p, "7", event.Event{Type: event.StepFinished, Step: "build", MS: 1500})
	emit(p, "7", event.Event{Type: event.StepFinished, Step: "collect", MS: 2, Detail: "why"})
	emit(p, "7", event.Event{Type: event.CriterionReported, Criterion: &verdict.Criterion{ID: "VAL-1", Status: verdict.Unmet}})
	want := "7: build, 1.5s\n7: collect, 2ms, failed\n7: VAL-1 unmet\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}
