package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/trkr-dev/trkr-validate/verdict"
)

// document is what --json prints: exactly one, in this shape for one issue, several, and a failure before any.
type document struct {
	SchemaVersion int          `json:"schemaVersion"`
	ExitCode      exitCode     `json:"exitCode"`
	Error         *errorJSON   `json:"error"`
	Results       []resultJSON `json:"results"`
}

type errorJSON struct {
	Code    string   `json:"code"`
	Step    string   `json:"step"`
	Message string   `json:"message"`
	Hints   []string `json:"hints"`
}

type resultJSON struct {
	Issue    string            `json:"issue"`
	RunID    string            `json:"runId"`
	Outcome  verdict.Outcome   `json:"outcome"`
	ExitCode exitCode          `json:"exitCode"`
	Record   *verdict.Record   `json:"record"`
	Refusals []verdict.Refusal `json:"refusals"`
	Error    *errorJSON        `json:"error"`
	Recorded *recordedJSON     `json:"recorded"`
	Stale    bool              `json:"stale,omitempty"` // of show: the verdict is not about what the ticket is now
	Gate     *gateJSON         `json:"gate,omitempty"`  // of gate
}

type gateJSON struct {
	SignedBy  string   `json:"signedBy"`  // the trusted key; empty where there is none
	Unchecked []string `json:"unchecked"` // what was not compared
	Rerun     []string `json:"rerun"`     // why it was validated again
}

type recordedJSON struct {
	Commit string `json:"commit,omitempty"` // left out where this call made none
	Path   string `json:"path"`
}

func (f failure) json() *errorJSON {
	return &errorJSON{Code: f.code, Step: f.step, Message: f.message(), Hints: f.hints()}
}

// orEmpty keeps null out of lists.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// writeJSON prints v as the one document of this call.
func (a *app) writeJSON(v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return a.printf("%s", defuseJSON(b.Bytes()))
}
