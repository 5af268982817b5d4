// Package validator is the seam between a run and whoever judges it. An Agent that is outside thinks in this program
// and only acts in the box: the subject cannot forge what it says. An Agent that is inside lives in the box.
package validator

import (
	"context"
	"io"
	"time"

	"github.com/trkr-dev/trkr-validate/contract"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// Trust says where an agent stands.
type Trust string

// The two places an agent can stand in.
const (
	Outside Trust = "outside"
	Inside  Trust = "inside"
)

// Agent checks assertions against the artifact in a box.
type Agent interface {
	Name() string    // "probe", "command", ...
	Version() string // of the agent, not of a model
	Trust() Trust
	// Validate checks task.Assertions and returns what it reports. A report is returned whatever the product does;
	// the error is about the box alone (*sandbox.LostError, a cancelled ctx), and the report then holds what was
	// decided before.
	Validate(ctx context.Context, box sandbox.Sandbox, task Task) (verdict.Report, error)
}

// Task is what an agent is asked.
type Task struct {
	Contract   contract.Contract
	Assertions []contract.Assertion // those of the contract that are still open, in order
	Path       []string             // directories of the artifact and the prefix that hold programs, as seen from inside
	Programs   []string             // names of the programs found there; what a decoy replaces
	Timeout    time.Duration        // for the whole task; the agent ends within it
	Output     int64                // bytes that a final response may have
	Services   []Service            // what runs beside the product while it is checked
	Transcript io.Writer            // everything the agent did and saw, for people; never nil
	Reported   func(verdict.Reported)
	Ran        func(Ran) // each command that ended; never nil
}

// Service is a command that runs in the box beside each check, under a uid of its own. Nothing is checked before it is
// ready. It is no part of what is judged.
type Service struct {
	Command string // run with /bin/sh -c
	Ready   string // "tcp:5432", "http://127.0.0.1:8080/health" or a command that succeeds
}

// Ran describes one command that an agent ran.
type Ran struct {
	Criterion string // empty where it belongs to none
	Command   string
	Exit      sandbox.Exit
}
