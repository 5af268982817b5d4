// Package artifact takes what the build made into a sealed set: selected by globs, copied and hashed in one read,
// described by a manifest, and put where a box shows it. The worktree it reads is hostile ground.
package artifact

import (
	"context"
	"errors"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// Options of a collection.
type Options struct {
	Root         string            // the worktree; everything is read through it and no link leads out of it
	Globs        []string          // relative to Root; each must match
	AllowTracked []string          // globs of matches that git tracks and that are artifacts all the same
	Tracked      func(string) bool // whether git tracks a path, relative to Root with slashes; nil: none is
	Staging      string            // directory for the copy while it is made; same file system as where it goes
	MaxBytes     int64             // apparent size of all files together
	MaxFiles     int               // files, links and directories together
	Platform     string            // of the box, "linux/amd64"; executables of another are refused
}

// Set is a sealed artifact set.
type Set struct{}

var errEarly = errors.New("artifact: not there yet")

// Collect selects, copies and hashes.
func Collect(ctx context.Context, o Options) (*Set, error) { return nil, errEarly }

// Manifest lists the set, sorted by path.
func (s *Set) Manifest() []verdict.Entry { return nil }

// Digest binds the manifest: "sha256:<hex>".
func (s *Set) Digest() string { return Digest(s.Manifest()) }

// Digest binds a manifest: "sha256:<hex>".
func Digest(manifest []verdict.Entry) string { return "" }

// Materialise puts the set and the contract at dir.
func (s *Set) Materialise(dir string, contract []byte) error { return errEarly }

// Verify compares what a box shows with what was sealed.
func (s *Set) Verify(seen []sandbox.File, contract []byte) error { return errEarly }

// Close removes the copy unless it was materialised.
func (s *Set) Close() error { return nil }

// Programs names the directories in the box that hold programs, and the programs' names.
func Programs(manifest []verdict.Entry) (dirs, names []string) { return nil, nil }
