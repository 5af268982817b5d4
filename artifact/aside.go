package artifact

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/owner"
)

const (
	asideDir    = ".trkr/validate" // in the worktree itself, so that moving is renaming; never collected from
	asidePrefix = ".aside."
)

// Aside is what an earlier build left where the globs look, moved out of the way so that it cannot be taken for the
// work of the build that comes.
type Aside struct {
	root  *os.Root
	dir   string // holds each file at its path
	paths []string
}

// SetAside moves every file that the globs of o match and that git does not track into a folder of the worktree,
// after it has put back what a killed run had moved. Root, Globs, Tracked and MaxFiles of o count. Directories stay.
// The caller calls Restore when the set is sealed or nothing comes of it, in every case.
func SetAside(ctx context.Context, o Options) (*Aside, error) {
	globs, err := parseGlobs("validate.artifacts", o.Globs)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(o.Root)
	if err != nil {
		return nil, fault.Env("worktree_unreadable", fmt.Errorf("opening the worktree: %w", err))
	}
	a := &Aside{root: root, dir: path.Join(asideDir, asidePrefix+owner.Self().String())}
	if err := a.fill(ctx, o, globs); err != nil {
		return nil, errors.Join(err, a.Restore())
	}
	return a, nil
}

func (a *Aside) fill(ctx context.Context, o Options, globs []glob) error {
	if err := recoverAside(a.root); err != nil {
		return asideBroken("putting back what a killed run moved aside", err)
	}
	c := &collection{o: o, root: a.root, items: map[string]*item{}}
	for _, g := range globs {
		// What cannot be read, Collect will refuse.
		if _, err := c.walk(ctx, g); err != nil {
			return err
		}
	}
	if c.full {
		return nil // refused before anything of it is used
	}
	for _, it := range c.sorted() {
		if it.kind == "dir" || o.Tracked != nil && o.Tracked(it.path) {
			continue
		}
		if len(a.paths) == 0 {
			if err := a.make(); err != nil {
				return asideBroken("moving earlier artifacts aside", err)
			}
		}
		if err := move(a.root, it.path, path.Join(a.dir, it.path)); err != nil {
			return asideBroken("moving earlier artifacts aside", err)
		}
		a.paths = append(a.paths, it.path)
	}
	return nil
}

func (a *Aside) make() error {
	// The branch may hold a link at any of these.
	for _, p := range []string{path.Dir(asideDir), asideDir, a.dir} {
		if err := a.root.Mkdir(p, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if info, err := a.root.Lstat(p); err != nil || !info.IsDir() {
			return fmt.Errorf("%q is no directory", p)
		}
	}
	// Should this program be killed, git must not see the folder.
	return a.root.WriteFile(path.Join(a.dir, ".gitignore"), []byte("*\n"), 0o644)
}

// Paths are the files that were moved, relative to the worktree.
func (a *Aside) Paths() []string { return a.paths }

// Restore puts back what the build did not make again and removes the rest. Idempotent.
func (a *Aside) Restore() error {
	if a == nil || a.root == nil {
		return nil
	}
	err := restoreAside(a.root, a.dir)
	err = errors.Join(err, a.root.Close())
	a.root = nil
	if err != nil {
		return asideBroken("putting back earlier artifacts", err)
	}
	return nil
}

// recoverAside restores what programs of this user that no longer live had moved.
func recoverAside(root *os.Root) error {
	entries, err := fs.ReadDir(root.FS(), asideDir)
	if err != nil {
		return nil // nothing was ever moved
	}
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), asidePrefix)
		if !ok || !e.IsDir() {
			continue
		}
		if o, err := owner.Parse(rest); err != nil || o.UID != os.Getuid() || o.Alive() {
			continue
		}
		if err := restoreAside(root, path.Join(asideDir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// restoreAside moves everything below dir to where it was, unless something is there, and removes dir. The build could
// write to dir, so what lies there is only moved inside the worktree, and no link is followed out of it.
func restoreAside(root *os.Root, dir string) error {
	if info, err := root.Lstat(dir); err != nil || !info.IsDir() {
		return nil
	}
	var errs []error
	for todo := []string{"."}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		f, err := root.Open(path.Join(dir, at))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		entries, err := f.ReadDir(-1)
		errs = append(errs, err, f.Close())
		for _, e := range entries {
			p := path.Join(at, e.Name())
			switch {
			case p == ".gitignore" || withheld(p):
			case e.IsDir():
				todo = append(todo, p)
			default:
				if _, err := root.Lstat(p); errors.Is(err, fs.ErrNotExist) {
					errs = append(errs, move(root, path.Join(dir, p), p))
				}
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err // what could not be put back stays where it is
	}
	if err := root.RemoveAll(dir); err != nil {
		openAll(root, dir)
		if err := root.RemoveAll(dir); err != nil {
			return err
		}
	}
	// Folders that were made for this are empty now; others are not and stay.
	if root.Remove(asideDir) == nil {
		_ = root.Remove(path.Dir(asideDir))
	}
	return nil
}

func move(root *os.Root, from, to string) error {
	err := root.Rename(from, to)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := root.MkdirAll(path.Dir(to), 0o755); err != nil {
		return err
	}
	return root.Rename(from, to)
}

func asideBroken(doing string, err error) error {
	return fault.Env("aside_failed", fmt.Errorf("%s: %w", doing, err), "see that the worktree can be written, and look into "+asideDir+" there for what was moved")
}
