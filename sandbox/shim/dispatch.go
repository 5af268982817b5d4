package shim

import "github.com/trkr-dev/trkr-validate/sandbox/internal/initd"

// Dispatch is called first in every main. Where this process was started as the init of a box, as one of its helpers
// or as a decoy, it does that and never returns; else it returns at once. It looks at nothing but the program's own
// path and first argument. A decoy is recognised by being sandbox.Init without Arg, so there is none outside a box.
func Dispatch() { initd.Dispatch() }
