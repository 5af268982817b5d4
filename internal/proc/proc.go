// Package proc runs one shell command and leaves nothing of it behind: when Run returns, every process that the
// command started is gone, also those that took a session of their own, forked twice or closed their output.
//
// On Linux each command has a supervisor: this program, executed anew with a hidden argument, as a child subreaper.
// Orphans of the command become the supervisor's children, so it can find and kill them all, and several commands at
// once are kept apart. The supervisor also ends everything when this program ends, however it ends. A command that
// runs as the same user can kill its supervisor; then its orphans become children of this program, which kills them
// and says ErrSupervision: nothing that such a command made may be trusted.
//
// Elsewhere only the command's process group is killed.
package proc

import (
	"errors"
	"io"
	"os"
	"time"
)

// Arg is the hidden first argument of a supervisor.
const Arg = "trkr-supervise-command"

// Dispatch turns this process into a supervisor where it was started as one; then it does not return. It must be the
// first thing that main does, and TestMain of every package whose tests run commands.
func Dispatch() {
	if len(os.Args) == 2 && os.Args[1] == Arg {
		os.Exit(supervise()) //nolint:forbidigo // a supervisor is a program of its own, and this is its main
	}
	dispatched = true
}

// dispatched keeps a program that forgot Dispatch from starting itself, which would start itself, and so on.
var dispatched bool

var errNotDispatched = errors.New("this program cannot supervise commands: it does not call proc.Dispatch first")

// ErrSupervision says that the command got in the way of its supervision: it killed its supervisor, or left processes
// that could not be killed. What could be found was killed all the same.
var ErrSupervision = errors.New("the command escaped its supervision")

// Command is what to run.
type Command struct {
	Script  string        // for /bin/sh -c
	Dir     string        // working directory
	Env     []string      // the whole environment, NAME=value
	Output  io.Writer     // stdout and stderr as they come; nil discards
	Timeout time.Duration // 0: none
}

// Result holds the facts of an ended command.
type Result struct {
	Code      int           // exit code; -1 where a signal ended it
	Signal    string        // "killed", "segmentation fault", ...; empty where it exited
	TimedOut  bool          // Timeout passed and we killed it
	Leftovers []string      // names of processes that outlived the command and were killed; text of the command's making
	Elapsed   time.Duration // until the command itself ended
}

const (
	// graceAfter lets what is about to end anyway do so, like the other end of a shell's pipe.
	graceAfter = 300 * time.Millisecond
	// killLimit is how long killing may take before what is left counts as unkillable.
	killLimit = 5 * time.Second
	// drainLimit is how long output is still read when every known process is gone: somebody else holds the pipe.
	drainLimit = time.Second
	// namesShown bounds how many processes are named.
	namesShown = 16
)

// obeyLimit is how long a supervisor that was told to stop may take before it is killed. A variable for the tests.
var obeyLimit = killLimit + time.Second
