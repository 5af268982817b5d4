package loop

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/trkr-dev/trkr-validate/internal/event"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/ownfolder"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// Dir is where a loop keeps things, below the repository's main worktree. It ignores itself; nothing prunes it.
const Dir = ".trkr/loop"

// SchemaVersion of what this package writes for others.
const SchemaVersion = 1

// Type of an entry.
type Type string

// What is written down, each before what follows from it is done.
const (
	TurnStarted    Type = "turn.started"
	TurnFinished   Type = "turn.finished"   // Judged
	TriageDecided  Type = "triage.decided"  // Triage
	ActionStarted  Type = "action.started"  // Action
	ActionFinished Type = "action.finished" // Action
	LoopDecided    Type = "loop.decided"    // Decided
	RepairStarted  Type = "repair.started"
	RepairFinished Type = "repair.finished" // Repaired
	LoopRestarted  Type = "loop.restarted"  // what was before does not count any more
)

// Entry is one line of a ticket's history.
type Entry struct {
	SchemaVersion int       `json:"schemaVersion"`
	Seq           int64     `json:"seq"` // from 1, without gaps
	Time          time.Time `json:"time"`
	Issue         string    `json:"issue"`
	Turn          int       `json:"turn,omitempty"` // from 1; left out of loop.restarted
	Type          Type      `json:"type"`
	Judged        *Judged   `json:"judged,omitempty"`
	Triage        *Triage   `json:"triage,omitempty"`
	Action        *Action   `json:"action,omitempty"`
	Decided       *Decided  `json:"decided,omitempty"`
	Repaired      *Repaired `json:"repaired,omitempty"`
}

// Judged is what came of one turn.
type Judged struct {
	RunID       string               `json:"runId"`
	Outcome     verdict.Outcome      `json:"outcome"`
	Commit      string               `json:"commit,omitempty"`
	Tree        string               `json:"tree,omitempty"` // without validation.md
	Criteria    []verdict.Criterion  `json:"criteria"`
	Findings    []Finding            `json:"findings"`
	Diagnostics []verdict.Diagnostic `json:"diagnostics"`
	Refusals    []verdict.Refusal    `json:"refusals"`
	Error       string               `json:"error,omitempty"`
	Inside      bool                 `json:"inside,omitempty"` // an agent judged from inside the box whose word the configuration does not take
	MS          int64                `json:"ms"`
}

// Repaired is what came of a repair command.
type Repaired struct {
	Exit  int     `json:"exit"` // -1 where a signal ended it, or the time budget
	MS    int64   `json:"ms"`
	Cost  float64 `json:"cost,omitempty"`
	Error string  `json:"error,omitempty"` // what went wrong with it
}

// Decided is an answer as it is kept.
type Decided struct {
	Answer Do     `json:"answer"`
	Why    string `json:"why"`
}

// History is the account of a ticket's loop. Only one program has it open for writing.
type History struct {
	Entries []Entry
	issue   string
	f       *os.File
	lock    *flock.Flock
}

// OpenHistory opens a ticket's history for adding to it, and makes it where there is none. A last line that a crash has
// torn is cut off. Somebody else who has it open is the fault "busy". Close it.
func OpenHistory(root *os.Root, issue string) (*History, error) {
	if err := ownfolder.Make(root, Dir); err != nil {
		return nil, err
	}
	name := path.Join(Dir, ".lock."+issue)
	if info, err := root.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fault.Envf("unsafe_folder", []string{"remove it; the program keeps its own files there"}, "%s is no regular file", name)
	}
	l := flock.New(filepath.Join(root.Name(), filepath.FromSlash(name)))
	if got, err := l.TryLock(); err != nil {
		return nil, fault.Env("lock", fmt.Errorf("locking the loop of issue %s: %w", issue, err), ownfolder.Hint)
	} else if !got {
		return nil, fault.Envf("busy", []string{"wait for it to end"}, "another loop of issue %s is going on", issue)
	}
	h := &History{issue: issue, lock: l}
	err := h.open(root)
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

func (h *History) open(root *os.Root) error {
	name := path.Join(Dir, h.issue+".jsonl")
	if info, err := root.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return fault.Envf("unsafe_folder", []string{"remove it; the program keeps its own files there"}, "%s is no regular file", name)
	}
	f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return fault.Env("folder", fmt.Errorf("opening %s: %w", name, err), ownfolder.Hint)
	}
	h.f = f
	if err := event.Repair(f); err != nil {
		return fault.Env("folder", fmt.Errorf("repairing %s: %w", name, err), ownfolder.Hint)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fault.Env("folder", err)
	}
	if h.Entries, err = ReadHistory(f, h.issue); err != nil {
		return fault.Env("history_invalid", fmt.Errorf("reading %s: %w", name, err), "somebody edited it; move it away to begin anew")
	}
	return nil
}

// ReadHistory reads a history. A torn last line is passed over; any other line that is no entry is an error that names it.
func ReadHistory(r io.Reader, issue string) ([]Entry, error) {
	var all []Entry
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return all, fmt.Errorf("line %d: %w", n, err)
		}
		switch {
		case e.SchemaVersion != SchemaVersion:
			return all, fmt.Errorf("line %d: it has version %d, this program reads %d", n, e.SchemaVersion, SchemaVersion)
		case e.Issue != issue || e.Seq != int64(n):
			return all, fmt.Errorf("line %d: it is entry %d of issue %q", n, e.Seq, e.Issue)
		case !e.whole():
			return all, fmt.Errorf("line %d: %q says nothing of what it is about", n, e.Type)
		}
		all = append(all, e)
	}
}

// whole reports whether an entry has what its type promises.
func (e Entry) whole() bool {
	switch e.Type {
	case TurnFinished:
		return e.Judged != nil
	case TriageDecided:
		return e.Triage != nil
	case ActionStarted, ActionFinished:
		return e.Action != nil
	case LoopDecided:
		return e.Decided != nil
	case RepairFinished:
		return e.Repaired != nil
	}
	return true
}

// Add writes an entry down; when it returns, a crash cannot lose it any more.
func (h *History) Add(e Entry) error {
	own, err := h.f.Stat()
	if err != nil {
		return fault.Env("folder", err, ownfolder.Hint)
	}
	if named, err := os.Lstat(h.f.Name()); err != nil || !os.SameFile(own, named) {
		return fault.Envf("history_gone", []string{"let builds and repairs leave .trkr alone, for example: git clean -fdx -e .trkr"}, "something removed or replaced %s, the loop's history", h.f.Name())
	}
	e.SchemaVersion, e.Seq, e.Time, e.Issue = SchemaVersion, int64(len(h.Entries)+1), time.Now().UTC().Truncate(time.Millisecond), h.issue
	line, err := json.Marshal(e)
	if err == nil {
		_, err = h.f.Write(append(line, '\n'))
	}
	if err == nil {
		err = h.f.Sync()
	}
	if err != nil {
		return fault.Env("folder", fmt.Errorf("writing %s: %w", h.f.Name(), err), ownfolder.Hint)
	}
	h.Entries = append(h.Entries, e)
	return nil
}

// Close lets others have it.
func (h *History) Close() error {
	var err error
	if h.f != nil {
		err = h.f.Close()
	}
	return errors.Join(err, h.lock.Close())
}
