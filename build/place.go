package build

import (
	"context"

	"github.com/trkr-dev/trkr-validate/artifact"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

// Place is where a build runs.
type Place interface {
	// Environment is the whole environment of a build there. What it is made of is told at the function of this package.
	Environment(caller, extra []string, issue, branch, commit string) ([]string, error)
	// Run builds, in a way that leaves in the worktree what the globs match.
	Run(ctx context.Context, r Request) (Result, error)
}

// Host is this machine, as the calling user.
type Host struct{}

// Environment implements Place.
func (Host) Environment(caller, extra []string, issue, branch, commit string) ([]string, error) {
	return Environment(caller, extra, issue, branch, commit)
}

// Run implements Place.
func (Host) Run(ctx context.Context, r Request) (Result, error) { return Run(ctx, r) }

// Container is a new container of an image for each build, which gets a copy of the worktree.
type Container struct {
	Builder   sandbox.Builder
	RunID     string
	Image     string
	ImageDir  string // where a relative path in Image begins
	Cache     string // builds with the same one share what they cached: letters, digits, dashes
	Limits    sandbox.Limits
	Artifacts artifact.Options // of the worktree that is built
}

// Environment implements Place.
func (Container) Environment(caller, extra []string, issue, branch, commit string) ([]string, error) {
	return ContainerEnvironment(caller, extra, issue, branch, commit)
}
