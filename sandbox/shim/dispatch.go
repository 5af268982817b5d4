package shim

import "github.com/trkr-dev/trkr-validate/sandbox/internal/initd"

// A program that imports this package is also the init of its boxes: where the process was started as the init, as one
// of its helpers or as a decoy, it becomes that here and goes no further; else this returns at once. It looks at nothing
// but the program's own path and first argument. A decoy is recognised by being sandbox.Init without Arg, so there is
// none outside a box.
//
// It happens here and not in main because most packages of a large program are initialised after this one, and in a
// gVisor box that takes longer than most commands.
func init() { initd.Dispatch() }
