package sandbox

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"time"
)

// Paths inside the container of a build.
const (
	BuildTop   = Work + "/trkr"      // no image has anything there
	BuildTree  = BuildTop + "/src"   // the tree, where the command starts
	BuildHome  = BuildTop + "/home"  // HOME, empty
	BuildTmp   = BuildTop + "/tmp"   // TMPDIR, empty
	BuildCache = BuildTop + "/cache" // kept for the next build that names the same cache
	BuildOut   = BuildTop + "/out"   // what the engine and the supervisor of the build tell each other
)

// CarryLimit bounds the way of what a build left, from its end on.
const CarryLimit = 15 * time.Minute

// ErrTooMuch tells that what the command left could not be gone through within CarryLimit.
var ErrTooMuch = errors.New("the build left too much to go through")

// Builder is an Engine that can also run a build in a container.
type Builder interface {
	// RunBuild runs one command on a copy of a tree, in a new container of an image without a network, as an ordinary
	// user. When it returns, nothing of the container is left but its cache. Whatever the command did is in Built; the
	// error is about the engine, the image, Tree or Take alone, or ctx's, or ErrTooMuch.
	RunBuild(ctx context.Context, b Build) (Built, error)
}

// Build describes a build in a container.
type Build struct {
	RunID    string
	Image    string   // the name of an image, as images.ParseName reads it; not "host"
	ImageDir string   // host directory that a relative path in Image begins at
	Cache    string   // which cache it may use: letters, digits and dashes
	Script   string   // for /bin/sh -c in BuildTree
	Env      []string // the whole environment, NAME=value; PATH is the image's where it has none
	Timeout  time.Duration
	Limits   Limits // Memory, CPUs, Pids, Tmp

	Tree func(ctx context.Context, to *tar.Writer, prefix string) error // writes the tree, each name behind prefix
	// Want is asked of each path that a command left which exited with 0, and Take is given those that it wants, in the same
	// way as with carry.Packing; a hard link counts as a file of its own. They may be called at the same time.
	Want func(p string, h *tar.Header) bool
	Take func(ctx context.Context, from io.Reader) error
	Log  io.Writer // all output as it comes
}

// Waits tells the reader of a build's log why nothing happens: builds that share a cache take turns.
func Waits(log io.Writer) {
	_, _ = io.WriteString(log, "trkr-validate: waiting for another build of this repository in this image, whose cache it needs\n") // a log that cannot be written fails the build by itself
}

// Built is what became of a build.
type Built struct {
	Exit      Exit // Cause is CauseDeadline, CauseMemory or CausePids; CauseUnknown where its supervisor was lost
	Leftovers []string
	Info      Info // of the container, as far as it is known
}
