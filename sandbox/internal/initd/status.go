//go:build unix

package initd

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func statusOf(ws syscall.WaitStatus) Status {
	if !ws.Signaled() {
		return Status{Code: ws.ExitStatus()}
	}
	name := unix.SignalName(ws.Signal())
	if name == "" {
		name = "signal " + ws.Signal().String()
	}
	return Status{Code: -1, Signal: name}
}
