package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/event"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/pattern"
	"github.com/trkr-dev/trkr-validate/stage"
	"github.com/trkr-dev/trkr-validate/ticket"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// unfinished is the outcome of a run that was killed, or goes on still: it never said how it ended.
const unfinished verdict.Outcome = "unfinished"

const (
	// maxRecord bounds what one record may cost to read: a manifest of 100,000 files stays below.
	maxRecord = 64 << 20
	// maxEnding is how much of the end of an account is read for how the run ended.
	maxEnding = 1 << 20
)

// history is the run folders of a repository. Only what is asked for is opened. The folders are the program's own,
// but what a run built could write there: reading is bounded, and no link is followed.
type history struct {
	dir     *os.Root        // nil where nothing was run yet
	foreign map[string]bool // names in it that git tracks: they came with a branch, and no run made them
}

const runsDir = ".trkr/runs"

func openHistory(ctx context.Context, repo *ticket.Repo) (history, error) {
	dir, err := os.OpenRoot(filepath.Join(repo.Root(), runsDir))
	if errors.Is(err, fs.ErrNotExist) {
		return history{}, nil
	}
	if err != nil {
		return history{}, fault.Env("folder", fmt.Errorf("reading the runs: %w", err))
	}
	h := history{dir: dir, foreign: map[string]bool{}}
	tracked, err := repo.TrackedBelow(ctx, runsDir)
	if err != nil {
		return history{}, errors.Join(err, h.Close())
	}
	for _, name := range tracked {
		run, _, _ := strings.Cut(strings.TrimPrefix(name, runsDir+"/"), "/")
		h.foreign[run] = true
	}
	return h, nil
}

func (h history) Close() error {
	if h.dir == nil {
		return nil
	}
	return h.dir.Close()
}

// runID is a run's id: when it began, the issue, and some letters that make it unique.
var runID = pattern.Regexp(`^([0-9]{8}T[0-9]{6})-([A-Za-z0-9][A-Za-z0-9._-]{0,63})-[0-9a-f]+$`)

// one is a run as its folder's name tells of it.
type one struct {
	id, issue string
	began     time.Time
}

func parseRunID(id string) (one, bool) {
	m := runID().FindStringSubmatch(id)
	if m == nil {
		return one{}, false
	}
	began, err := time.Parse("20060102T150405", m[1])
	return one{id: id, issue: m[2], began: began}, err == nil
}

// runs lists the runs of an issue, of all where it is empty, the oldest first.
func (h history) runs(issue string) ([]one, error) {
	if h.dir == nil {
		return nil, nil
	}
	entries, err := fs.ReadDir(h.dir.FS(), ".")
	if err != nil {
		return nil, fault.Env("folder", fmt.Errorf("reading the runs: %w", err))
	}
	var all []one
	for _, e := range entries {
		if r, ok := parseRunID(e.Name()); ok && e.IsDir() && !h.foreign[r.id] && (issue == "" || r.issue == issue) {
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b one) int { return a.began.Compare(b.began) })
	return all, nil
}

// find looks a run up by its id.
func (h history) find(id string) (one, bool) {
	r, ok := parseRunID(id)
	if !ok || h.dir == nil || h.foreign[id] {
		return one{}, false
	}
	info, err := h.dir.Lstat(id)
	return r, err == nil && info.IsDir()
}

// ending is how a run ended: what its account says last. The record does not know: it is written before the verdict
// is committed, and that can fail, or be interrupted.
func (h history) ending(r one) (outcome verdict.Outcome, failed *stage.Failure) {
	cut := func(why string) (verdict.Outcome, *stage.Failure) {
		return unfinished, &stage.Failure{Code: "unfinished", Message: "the run has not finished: " + why, Hints: []string{"trkr-validate " + r.issue + " runs it again"}}
	}
	data, whole, err := readEnd(h.dir, filepath.Join(r.id, "events.jsonl"), maxEnding)
	if err != nil {
		return cut(err.Error())
	}
	if !whole { // a line begins behind the first that ends
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	events, err := event.Read(bytes.NewReader(data))
	if err != nil {
		return cut("its account cannot be read: " + err.Error())
	}
	step, where := "", "its account does not say how it ended"
	var last *event.Event
	for i, e := range events {
		switch e.Type {
		case event.StepStarted:
			step, where = e.Step, "its account ends in the step "+e.Step
		case event.RunFinished:
			last = &events[i]
		}
	}
	switch {
	case last == nil:
		return cut(where)
	case last.RunID != r.id:
		return cut(fmt.Sprintf("its account is that of run %q", last.RunID))
	case last.Outcome == verdict.Error:
		return last.Outcome, &stage.Failure{Code: "failed", Step: step, Message: last.Detail}
	}
	return last.Outcome, nil
}

func (h history) path(r one) string { return filepath.Join(h.dir.Name(), r.id) }

// load reads a run: how it ended, and its record where it left one.
func (h history) load(r one) stage.Result {
	out := stage.Result{Issue: r.issue, RunID: r.id, RunDir: h.path(r)}
	out.Outcome, out.Failure = h.ending(r)
	record, err := h.record(r)
	switch {
	case err == nil:
		out.Record, out.Refusals = &record, record.Refusals
	case judged(out.Outcome) || out.Outcome == verdict.Refused:
		out.Outcome, out.Failure = verdict.Error, &stage.Failure{Code: "no_record", Message: "the run's record cannot be read: " + err.Error()}
	}
	return out
}

func (h history) record(r one) (verdict.Record, error) {
	data, err := readFile(h.dir, filepath.Join(r.id, "record.json"), maxRecord)
	if err != nil {
		return verdict.Record{}, err
	}
	var record verdict.Record
	if err := json.Unmarshal(data, &record); err != nil {
		return verdict.Record{}, err
	}
	if record.SchemaVersion != verdict.SchemaVersion {
		return verdict.Record{}, fmt.Errorf("it has version %d, this program reads %d", record.SchemaVersion, verdict.SchemaVersion)
	}
	if record.RunID != r.id || record.Issue != r.issue {
		return verdict.Record{}, fmt.Errorf("it is about run %q of issue %q", record.RunID, record.Issue)
	}
	return record, nil
}

// newest is the latest run of an issue that came to a verdict; false where none did.
func (h history) newest(issue string) (stage.Result, bool, error) {
	all, err := h.runs(issue)
	if err != nil {
		return stage.Result{}, false, err
	}
	for _, r := range slices.Backward(all) {
		if outcome, _ := h.ending(r); !judged(outcome) {
			continue
		}
		if out := h.load(r); judged(out.Outcome) {
			return out, true, nil
		}
	}
	return stage.Result{}, false, nil
}

// judged tells whether a run came to a verdict.
func judged(o verdict.Outcome) bool {
	return o == verdict.Clear || o == verdict.Blocking || o == verdict.Incomplete
}
