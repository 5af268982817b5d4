//go:build unix

package initd

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
)

// StatusOf reads what the system says of an ended process.
func StatusOf(ws syscall.WaitStatus) Status {
	if !ws.Signaled() {
		return Status{Code: ws.ExitStatus()}
	}
	name := unix.SignalName(ws.Signal())
	if name == "" {
		name = "signal " + ws.Signal().String()
	}
	return Status{Code: -1, Signal: name}
}

// StartFailed tells why the system would not start a command that is there.
func StartFailed(err error) *wire.Exit {
	e := &wire.Exit{Code: -1, Cause: string(sandbox.CauseNotExecutable), Detail: err.Error()}
	switch {
	case errors.Is(err, unix.EAGAIN):
		e.Cause = string(sandbox.CausePids)
	case errors.Is(err, unix.ENOMEM):
		e.Cause = string(sandbox.CauseMemory)
	case errors.Is(err, unix.ENOENT):
		e.Detail = "the interpreter or loader that it names is missing"
	}
	return e
}
