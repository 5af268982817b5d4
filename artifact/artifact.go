// Package artifact takes what the build made into a sealed set: selected by globs, copied and hashed in one read,
// described by a manifest, and put where a box shows it. The worktree that it reads is hostile ground: every path is
// opened through os.Root, no link is followed, nothing that could block is opened, and a file that changes meanwhile
// is noticed.
package artifact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// Options of a collection.
type Options struct {
	Root         string            // the worktree
	Globs        []string          // doublestar patterns relative to Root; a directory takes all beneath it
	AllowTracked []string          // globs of matches that git tracks and that are artifacts all the same
	Tracked      func(string) bool // whether git tracks a path, relative to Root, slashes, raw bytes; nil: nothing is
	Stale        []string          // what SetAside moved: named where a glob misses it
	Staging      string            // directory for the copy while it is made, on the file system it stays on; made if absent
	MaxBytes     int64             // apparent size of all files together
	MaxFiles     int               // files, links and directories together
	Platform     string            // of the box, "linux/amd64": executables of another are refused
}

// Set is a sealed artifact set: a copy that the build cannot reach, and what is known of it. Its methods must not be
// called at the same time.
type Set struct {
	items   []*item // by path
	staging string  // what Close removes; empty: nothing
	sealed  bool    // staging holds the copy, not yet materialised

	dir    string     // where it was materialised
	placed []identity // of the paths there
}

// item is one path of the set.
type item struct {
	path   string // relative, slashes, raw bytes
	kind   string // "file", "dir", "link"; anything else is refused
	mode   uint32 // permission bits, as in the copy
	size   int64  // files
	target string // links
	was    identity

	sum   [sha256.Size]byte // files: of everything
	edges [sha256.Size]byte // files larger than two edges: of the first and the last edge
}

// Collect selects what the globs match, copies it to Staging and hashes it on the way. Everything that the ticket is
// to blame for comes at once, as *verdict.Refusal joined with errors.Join: artifact_missing for each glob without a
// file, artifact_is_source, artifact_unsafe, artifact_too_large. A wrong glob is a fault.Usage error, a disk that
// fails a fault.Env one. After an error nothing of the copy is left. The caller closes the Set.
func Collect(ctx context.Context, o Options) (*Set, error) {
	globs, err := parseGlobs("validate.artifacts", o.Globs)
	if err != nil {
		return nil, err
	}
	allowed, err := parseGlobs("validate.allow_tracked", o.AllowTracked)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(o.Root)
	if err != nil {
		return nil, fault.Env("worktree_unreadable", fmt.Errorf("opening the worktree: %w", err))
	}
	defer root.Close()

	c := &collection{o: o, root: root, items: map[string]*item{}, allowed: allowed}
	if err := c.choose(ctx, globs); err != nil {
		return nil, err
	}
	c.judge()
	set, err := c.seal(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.refusals(); err != nil {
		return nil, errors.Join(err, set.Close())
	}
	return set, nil
}

// Manifest lists the set, sorted by the bytes of the paths. Modes are those of the copy.
func (s *Set) Manifest() []verdict.Entry {
	m := make([]verdict.Entry, len(s.items))
	for i, it := range s.items {
		m[i] = verdict.Entry{Path: EscapePath(it.path), Type: it.kind, Mode: it.mode, Size: it.size, Target: EscapePath(it.target)}
		if it.kind == "file" {
			m[i].SHA256 = hex.EncodeToString(it.sum[:])
		}
	}
	return m
}

// Digest is that of the manifest.
func (s *Set) Digest() string { return Digest(s.Manifest()) }

// Digest binds a manifest, as Manifest gives it or a record holds it: "sha256:<hex>" over one line for each entry.
func Digest(manifest []verdict.Entry) string {
	h := sha256.New()
	h.Write([]byte("trkr artifact manifest 1\n"))
	for _, e := range manifest {
		// Escaped text holds neither tab nor newline, so no two manifests have the same lines.
		fmt.Fprintf(h, "%s\t%04o\t%d\t%s\t%s\t%s\n", e.Type, e.Mode, e.Size, e.SHA256, e.Path, e.Target)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// Close removes the copy unless it was materialised, and what Materialise replaced. Idempotent.
func (s *Set) Close() error {
	if s == nil || s.staging == "" {
		return nil
	}
	if err := removeTree(s.staging); err != nil {
		return fault.Envf("staging_left", nil, "removing the staged artifacts: %w", err)
	}
	s.staging, s.sealed = "", false
	return nil
}
