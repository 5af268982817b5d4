package artifact

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"

	"github.com/trkr-dev/trkr-validate/internal/carry"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// Elsewhere carries a worktree to a build that runs elsewhere, and back what the globs match, so that both Collect and a
// person find it as a build in the worktree would have left it.
type Elsewhere struct {
	o     Options
	globs []glob
	root  *os.Root

	sent map[string]state       // tracked files
	dirs map[string]fs.FileMode // that the globs match and that came back

	// Of Want, which may be asked while Fetch reads: Fetch looks at them when all was asked.
	seen     map[string]bool // tracked files that the build left
	changed  []string
	bytes    int64
	files    int
	enoughAt string // where it was more than may be taken
}

// state tells whether a file is as it was sent, as far as every engine carries that.
type state struct {
	kind      byte
	size, sec int64
	target    string
	runs      bool
}

func stateOf(h *tar.Header) state {
	return state{kind: h.Typeflag, size: h.Size, sec: h.ModTime.Unix(), target: h.Linkname, runs: h.Typeflag == tar.TypeReg && h.Mode&0o111 != 0}
}

// NewElsewhere opens the worktree. Root, Globs, Tracked, MaxBytes and MaxFiles of o count. The caller closes it.
func NewElsewhere(o Options) (*Elsewhere, error) {
	globs, err := parseGlobs("validate.artifacts", o.Globs)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(o.Root)
	if err != nil {
		return nil, fault.Env("worktree_unreadable", fmt.Errorf("opening the worktree: %w", err))
	}
	return &Elsewhere{o: o, globs: globs, root: root, sent: map[string]state{}, seen: map[string]bool{}, dirs: map[string]fs.FileMode{}}, nil
}

// Close ends the use of the worktree.
func (e *Elsewhere) Close() error { return e.root.Close() }

// Send writes the worktree to w, each name behind prefix: all but history, what this program keeps there, and other
// worktrees.
func (e *Elsewhere) Send(ctx context.Context, w *tar.Writer, prefix string) error {
	c := &collection{o: e.o}
	skip := func(p string, entries []fs.DirEntry) bool {
		dir := path.Dir(p)
		return withheld(p) || dir != "." && c.otherWorktree(dir, entries)
	}
	all := func(p string, h *tar.Header) bool {
		if h.Typeflag != tar.TypeDir && e.tracked(p) {
			e.sent[p] = stateOf(h)
		}
		return true
	}
	err := carry.Packing{Prefix: prefix, Skip: skip, Want: all}.Pack(ctx, e.root, w)
	if err != nil && ctx.Err() == nil {
		return fault.Env("worktree_unreadable", fmt.Errorf("reading the worktree for the build: %w", err), "see that all of the worktree can be read, and that nothing writes there meanwhile")
	}
	return err
}

// Want says whether a path that the build left is to be fetched: what the globs match, until it is more than may be taken.
// It is to be asked of all that the build left, of a hard link as of the file that it is. Of tracked files that no glob
// matches, the entry tells enough.
func (e *Elsewhere) Want(p string, h *tar.Header) bool {
	if withheld(p) || tooLong(p) {
		return false
	}
	matches := e.matches(p)
	if was, ok := e.sent[p]; ok {
		e.seen[p] = true
		if !matches && was != stateOf(h) {
			e.changed = append(e.changed, p)
		}
	}
	if !matches || e.enoughAt != "" {
		return false
	}
	e.files++
	if h.Size > e.o.MaxBytes-e.bytes || e.files > e.o.MaxFiles {
		e.enoughAt = p
		return false
	}
	e.bytes += h.Size
	return true
}

// Fetch reads what Want chose and lays it down in the worktree. More than may be taken is an artifact_too_large refusal.
func (e *Elsewhere) Fetch(ctx context.Context, from io.Reader) error {
	for r := tar.NewReader(carry.Reader(ctx, from)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		var p string
		if err == nil {
			p, err = carry.Name(h)
		}
		if err != nil {
			return fmt.Errorf("reading what the build made: %w", err)
		}
		if withheld(p) || !e.matches(p) {
			continue
		}
		if h.Typeflag == tar.TypeDir {
			e.dirs[p] = fs.FileMode(h.Mode) & fs.ModePerm
		}
		if err := carry.Put(e.root, p, h, r); err != nil {
			return e.broken(p, err)
		}
	}
	if e.enoughAt != "" {
		return &verdict.Refusal{
			Reason: verdict.ArtifactTooLarge,
			Detail: fmt.Sprintf("the build made more than %s or %d files where the globs look; at %s it was enough", size(e.o.MaxBytes), e.o.MaxFiles, quote(e.enoughAt)),
			Hints:  []string{`raise "artifacts" or "files" under "limits" in "validate", or name what the build makes more closely`},
		}
	}
	for p := range e.sent {
		switch {
		case e.seen[p]:
		case e.matches(p):
			if err := e.root.RemoveAll(p); err != nil {
				return e.broken(p, err)
			}
		default:
			e.changed = append(e.changed, p)
		}
	}
	for p, mode := range e.dirs {
		if err := e.root.Chmod(p, mode|0o700); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return e.broken(p, err)
		}
	}
	slices.Sort(e.changed)
	return nil
}

// Changed are the tracked files that no glob matches and that the build changed where it ran. Those of the worktree are
// as they were.
func (e *Elsewhere) Changed() []string { return e.changed }

func (e *Elsewhere) tracked(p string) bool { return e.o.Tracked != nil && e.o.Tracked(p) }

func (e *Elsewhere) matches(p string) bool {
	return slices.ContainsFunc(e.globs, func(g glob) bool { return g.match(p) || g.matchAbove(p) })
}

func (e *Elsewhere) broken(p string, err error) error {
	return fault.Env("worktree_unwritable", fmt.Errorf("bringing %s from the build: %w", quote(p), err), "see that the worktree can be written and that its disk has room")
}
