//go:build unix

// Package initd is the init of a box: it answers the program over one multiplexed stream, runs commands and ends them.
// What it stands on is a Ground: Linux as PID 1 of a box, or the process of a unit test.
package initd

import (
	"io"
	"net"
	"os"

	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
)

// Ground starts and ends processes. Its methods may be called at the same time.
type Ground interface {
	// Open makes the directories of a session: HOME, the working directory, one for temporary files, and one that
	// holds the decoys. Only the session's uid may look into them.
	Open(id Identity, decoys []string) (Dirs, error)
	// Start looks for the program of a command as the session would, and starts it. Where there is none, or the system
	// would not start it, exit says why.
	Start(id Identity, c Command) (p *Process, exit *wire.Exit)
	// Look answers a helper that concerns no session, without a process of its own. It reads as wire.LookUID and, by
	// the system's word, is isolated like a command. It ends early where out no longer takes what it writes.
	Look(helper string, params io.Reader, out io.Writer) error
	// Kill ends every process of the identity. When it returns nil, none is left.
	Kill(id Identity) error
	// Close removes what the identity left behind. No process of it is left.
	Close(id Identity, d Dirs) error
	// Count reads what the system counts of limits that were hit.
	Count() Counters
	// Tasks tells how many tasks the identity has now and how many it may have: 0 where that is not known, or where
	// Count already tells of the limit.
	Tasks(id Identity) (n, limit int)
	// Connected reports whether it was the identity that made a connection over loopback.
	Connected(id Identity, conn *net.TCPConn) bool
}

// Identity is who a command runs as.
type Identity struct{ UID int }

// Dirs are the directories of a session.
type Dirs struct {
	Top, Home, Work, Tmp string
	Decoys               string // empty where there are none
}

// Command is what a session starts.
type Command struct {
	Args   []string
	Dir    string
	Env    []string
	Path   string // the value of PATH in Env
	Helper string // instead of Args: a helper of this name
	Stdin  bool
	TTY    *wire.Resize
}

// Process is a started command. Its files are this side's ends and are closed by the caller. With a terminal, Stdin
// and Stdout are the same file and Stderr is nil.
type Process struct {
	Stdin, Stdout, Stderr *os.File
	Done                  <-chan Status // of the first process alone, sent once
	Resize                func(rows, cols uint16)
}

// Status is how the first process of a command ended.
type Status struct {
	Code   int
	Signal string
}

// Counters are totals since the box started; only their change counts. Where the system counts nothing they stay 0.
type Counters struct{ OOM, Pids int64 }
