// Package event is the account of a run while it happens: typed events, numbered in the order in which they happened,
// for a person's progress line, an orchestrator and the run folder alike.
package event

import (
	"sync"
	"time"

	"github.com/trkr-dev/trkr-validate/verdict"
)

// SchemaVersion of Event. A reader skips events of a version or type that it does not know.
const SchemaVersion = 1

// Type of an event. Which fields are set beside the common ones is said at each.
type Type string

// The types of events.
const (
	RunStarted        Type = "run.started"
	StepStarted       Type = "step.started"       // Step
	StepFinished      Type = "step.finished"      // Step, MS; Detail where it went wrong or a person should know
	CommandFinished   Type = "command.finished"   // Step, Command
	GatewayRequest    Type = "gateway.request"    // Step, Gateway, MS; Detail where it was refused or failed
	CriterionReported Type = "criterion.reported" // Criterion
	FindingReported   Type = "finding.reported"   // Finding
	ReviewReported    Type = "acceptance.review_reported"
	ReviewInvalid     Type = "acceptance.review_invalid" // Detail
	RunFinished       Type = "run.finished"              // Outcome, MS, Detail
)

// Event is one thing that happened.
type Event struct {
	SchemaVersion int                `json:"schemaVersion"`
	Seq           int64              `json:"seq"` // from 1, without gaps, within a run
	Time          time.Time          `json:"time"`
	RunID         string             `json:"runId"`
	Issue         string             `json:"issue"`
	Type          Type               `json:"type"`
	Step          string             `json:"step,omitempty"`
	MS            int64              `json:"ms,omitempty"`
	Detail        string             `json:"detail,omitempty"`
	Command       *Command           `json:"command,omitempty"`
	Gateway       *Gateway           `json:"gateway,omitempty"`
	Criterion     *verdict.Criterion `json:"criterion,omitempty"`
	Finding       *verdict.Finding   `json:"finding,omitempty"`
	Outcome       verdict.Outcome    `json:"outcome,omitempty"`
}

// Command is a command that ended in the box.
type Command struct {
	Criterion string `json:"criterion,omitempty"`
	Text      string `json:"text"`
	Code      int    `json:"code"` // -1 where a signal ended it or it never ran
	Signal    string `json:"signal,omitempty"`
	Cause     string `json:"cause,omitempty"`
	MS        int64  `json:"ms"`
}

// Gateway is a request that came out of the box.
type Gateway struct {
	Route  string `json:"route"` // "connect"
	Method string `json:"method"`
	Host   string `json:"host"`
	Status int    `json:"status"`
	Bytes  int64  `json:"bytes"` // carried, in both directions
}

// Sink takes events. Emit does not fail and does not block for long; it may be called from several goroutines.
type Sink interface {
	Emit(Event)
}

// Stream stamps the events of one run and hands them to every sink in order.
type Stream struct {
	RunID, Issue string

	mu    sync.Mutex
	past  []Event
	sinks []Sink
}

// Add gives the stream one more sink, which is told first what happened before it came: the run folder exists only
// once the repository is found.
func (s *Stream) Add(sink Sink) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.past {
		sink.Emit(e)
	}
	s.sinks = append(s.sinks, sink)
}

// Emit stamps e and passes it on.
func (s *Stream) Emit(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.SchemaVersion, e.Seq, e.Time = SchemaVersion, int64(len(s.past)+1), time.Now().UTC()
	e.RunID, e.Issue = s.RunID, s.Issue
	s.past = append(s.past, e)
	for _, sink := range s.sinks {
		sink.Emit(e)
	}
}
