// Package install makes the artifact usable in the box, as a user would: offline, under a uid of its own, into a prefix
// that the program under test can read and not write.
package install

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/validator"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// Request says what to install.
type Request struct {
	Commands   []string        // validate.install; empty: by the kind that Manifest shows
	Manifest   []verdict.Entry // of the sealed artifact set
	Path       []string        // directories of the artifact that hold programs, as seen from inside
	Timeout    time.Duration   // for all of it; must be positive
	Transcript io.Writer       // what was run and seen, for people; never nil
	Ran        func(validator.Ran)
}

// Result of an install. Where Failure is nil the artifact is ready to be exercised.
type Result struct {
	Installed bool     // something was installed; false with no Failure: there was nothing to install
	Kind      string   // "commands", "npm", "python", "archive" or "programs" (nothing to install)
	Failure   *Failure // why it could not be installed
	Path      []string // directories below the prefix that hold programs; they come after Request.Path
	Programs  []string // names of the programs there that the install made; what a decoy replaces
}

// Missing says what an install lacked that is not the product's to bring.
type Missing string

// What may be missing. The empty one means that the product itself does not install.
const (
	MissingNetwork Missing = "network" // a dependency that would have to be downloaded
	MissingTool    Missing = "tool"    // a tool of the image, or one of its versions
	MissingSpace   Missing = "space"   // limits.tmp
	MissingChoice  Missing = "choice"  // several things could be meant: validate.install has to say which
)

// Failure says why an install failed.
type Failure struct {
	Command string
	Exit    sandbox.Exit
	Output  string  // the end of what it printed, one safe line
	Missing Missing // empty: the product's own fault
	Detail  string  // for people, one line: what failed or is missing
}

// Run installs the artifact. The error is about the box alone (*sandbox.LostError, a cancelled ctx); an install that
// fails is in Result.Failure.
func Run(context.Context, sandbox.Sandbox, Request) (Result, error) {
	return Result{}, errors.New("install: not built yet")
}
