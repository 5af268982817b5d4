package sandbox

import (
	"fmt"
	"time"
)

// Cause says why a command ended other than by itself, as a fact and not guessed from a number.
type Cause string

// Causes. The empty one means that the command ended by itself.
const (
	CauseDeadline      Cause = "deadline"       // Command.Timeout or ctx passed; we killed it
	CauseOutput        Cause = "output limit"   // wrote more than Limits.Output; we killed it
	CauseMemory        Cause = "memory limit"   // the kernel or the supervisor killed it, or a child of it, for memory
	CausePids          Cause = "pids limit"     // it ended badly and the limit was hit while it ran
	CauseNotFound      Cause = "not found"      // no such program: it never ran
	CauseNotExecutable Cause = "not executable" // there, but the system would not run it: it never ran
	CauseKilled        Cause = "killed by us"   // the run is being stopped
	CauseUnknown       Cause = "unknown"        // killed by a signal that nobody here sent
)

// Exit holds the facts of an ended command, each apart. None alone decides anything.
type Exit struct {
	Code    int    // exit code; -1 where a signal ended it or it never ran
	Signal  string // "SIGSEGV", ...; empty where it exited
	Cause   Cause
	Detail  string // for people, e.g. the system's words for why it could not be run
	Elapsed time.Duration
}

// Ran reports whether the command was started at all.
func (e Exit) Ran() bool { return e.Cause != CauseNotFound && e.Cause != CauseNotExecutable }

// Exited reports whether the command ran and ended by itself with an exit code.
func (e Exit) Exited() bool { return e.Cause == "" && e.Signal == "" }

func (e Exit) String() string {
	s := fmt.Sprintf("exit %d", e.Code)
	if e.Signal != "" {
		s = "ended by " + e.Signal
	}
	if e.Cause != "" {
		s = string(e.Cause)
		if e.Signal != "" {
			s += " (" + e.Signal + ")"
		}
		if e.Detail != "" {
			s += ": " + e.Detail
		}
	}
	return fmt.Sprintf("%s after %s", s, e.Elapsed.Round(time.Millisecond))
}

// LostError says that the box is gone or no longer answers. It is not retried once a command of the subject has
// started: the subject could do it on purpose.
type LostError struct {
	Cause  Cause
	Detail string
	Engine bool // the engine itself no longer answers: the environment's fault
	// Started: a command of a session had been asked for before. Without one no subject can have caused the loss.
	Started bool
}

func (e *LostError) Error() string {
	who := "box lost"
	if e.Engine {
		who = "engine lost"
	}
	if e.Detail == "" {
		return fmt.Sprintf("%s: %s", who, e.Cause)
	}
	return fmt.Sprintf("%s: %s: %s", who, e.Cause, e.Detail)
}
