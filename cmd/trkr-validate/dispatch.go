package main

import (
	"github.com/trkr-dev/trkr-validate/internal/proc"
	"github.com/trkr-dev/trkr-validate/sandbox/gvisor"
)

// dispatch does not return where the program started this process itself to be something else: a box's init, the
// parent of a build, gVisor. It runs before flags are read.
func dispatch() {
	proc.Dispatch()
	gvisor.Dispatch()
}
