// Package gvisor makes boxes with the gVisor that is built into this program: no daemon, no root, no download. The
// program runs itself again as gVisor's runtime, so every main that uses the engine calls Dispatch before anything
// else, right after shim.Dispatch.
package gvisor

import (
	"runtime/debug"

	"github.com/trkr-dev/trkr-validate/images"
)

// Name is the engine's name.
const Name = "gvisor"

// module is gVisor's module path, by which the version that was built in is found.
const module = "gvisor.dev/gvisor"

// Options of the engine.
type Options struct {
	// StateDir holds the running boxes' files, in a folder of this user's own that is made when it is needed. Empty:
	// XDG_RUNTIME_DIR where that belongs to this user, else the directory for temporary files.
	StateDir string
	// ImageDir is where images are kept. Empty: the user's cache.
	ImageDir string
	// Build builds the image of a Dockerfile. Nil: that is refused.
	Build images.Builder
}

// version is the version of the gVisor that was built in.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, dep := range info.Deps {
		if dep.Path == module {
			if dep.Replace != nil {
				dep = dep.Replace
			}
			return dep.Version
		}
	}
	return "unknown"
}
