package artifact

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/owner"
	"github.com/trkr-dev/trkr-validate/verdict"
)

const (
	asideDir    = ".trkr/validate" // in the worktree itself, so that moving is renaming; never collected from
	asidePrefix = ".aside."
	keptPrefix  = ".kept." // such a folder holds what stood where a killed run's files were put back
	asideFiles  = "files"  // in an aside folder: each file at its path
	asidePart   = "part"   // in an aside folder: a copy that is not whole yet
	asideBuilt  = "built"  // in an aside folder: says that the build succeeded
)

// Aside is what an earlier build left where the globs look, moved out of the way so that it cannot be taken for the
// work of the build that comes. Whenever the program is killed, each file is at its place or in the folder, whole.
type Aside struct {
	root  *os.Root
	dir   string
	paths []string
	kept  []string
}

// SetAside moves every file that the globs of o match and that git does not track into a folder of the worktree,
// after it has put back what a killed run had moved. Root, Globs, Tracked and MaxFiles of o count. Directories stay.
// More files than may be taken are an artifact_too_large refusal: which of them the build made could not be told. The
// caller calls Restore when the set is sealed or nothing comes of it, in every case, and sees to it that no other
// program builds in Root meanwhile.
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
	var err error
	if a.kept, err = recoverAside(a.root); err != nil {
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
		return &verdict.Refusal{
			Reason: verdict.ArtifactTooLarge, Detail: fmt.Sprintf("before the build there are more than %d files, directories and links where the globs look", o.MaxFiles),
			Hints: []string{"remove them, or name what the build makes more closely in \"artifacts\""},
		}
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
		if err := a.move(it.path, path.Join(a.dir, asideFiles, it.path)); err != nil {
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
	if err := a.root.WriteFile(path.Join(a.dir, ".gitignore"), []byte("*\n"), 0o644); err != nil {
		return err
	}
	if err := a.root.Mkdir(path.Join(a.dir, asideFiles), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// Paths are the files that were moved, relative to the worktree.
func (a *Aside) Paths() []string { return a.paths }

// Kept are files that stood where those of a killed run were put back, under the paths at which they are kept: its build
// may have made them, or somebody after it. Nothing removes them.
func (a *Aside) Kept() []string { return a.kept }

// Built says that the build succeeded: what it made stays when the rest is put back, also after a kill. What a build
// made that failed gives way to what was there before it.
func (a *Aside) Built() error {
	if len(a.paths) == 0 {
		return nil
	}
	// A build may clean up everything that git does not track.
	if err := a.root.WriteFile(path.Join(a.dir, asideBuilt), nil, 0o644); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return asideBroken("noting that the build succeeded", err)
	}
	return nil
}

// Restore puts back what the build did not make again, or all of it where there was no build that succeeded, and
// removes the rest. Idempotent.
func (a *Aside) Restore() error {
	if a == nil || a.root == nil {
		return nil
	}
	err := errors.Join(a.restore(), a.root.Close())
	a.root = nil
	if err != nil {
		return asideBroken("putting back earlier artifacts", err)
	}
	return nil
}

// recoverAside restores what programs of this user that no longer live had moved, and keeps what stood there since. One
// of another container cannot be seen to live; but it would hold the caller's lock.
func recoverAside(root *os.Root) (kept []string, err error) {
	entries, err := fs.ReadDir(root.FS(), asideDir)
	if err != nil {
		return nil, nil // nothing was ever moved
	}
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), asidePrefix)
		if !ok || !e.IsDir() || !abandoned(rest) {
			continue
		}
		a := &Aside{root: root, dir: path.Join(asideDir, e.Name())}
		by := &Aside{root: root, dir: path.Join(asideDir, keptPrefix+rest)}
		err = a.putBack(by)
		kept = append(kept, by.paths...)
		if err != nil {
			return kept, err
		}
	}
	return kept, nil
}

func abandoned(name string) bool {
	o, err := owner.Parse(name)
	return err == nil && o.UID == os.Getuid() && (o.Space != owner.Self().Space || !o.Alive())
}

// Leftovers are the folders in a worktree in which killed runs left what they had moved aside, and those in which later
// ones kept what stood in its place.
func Leftovers(worktree string) (aside, kept []string) {
	entries, _ := os.ReadDir(filepath.Join(worktree, asideDir)) // none: nothing was ever moved
	for _, e := range entries {
		dir := filepath.Join(worktree, asideDir, e.Name())
		if rest, ok := strings.CutPrefix(e.Name(), asidePrefix); ok && abandoned(rest) {
			aside = append(aside, dir)
		} else if strings.HasPrefix(e.Name(), keptPrefix) {
			kept = append(kept, dir)
		}
	}
	return aside, kept
}

// keep moves what stands at p into the folder, unless it is the same as the file that comes back: a program that was
// killed while it moved that between file systems leaves it twice.
func (a *Aside) keep(p, coming string) error {
	stands, err := a.root.Lstat(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	comes, err := a.root.Lstat(coming)
	if err != nil || stands.Mode() == comes.Mode() && stands.Size() == comes.Size() && stands.ModTime().Equal(comes.ModTime()) {
		return err
	}
	if len(a.paths) == 0 {
		if err := a.make(); err != nil {
			return err
		}
	}
	to := path.Join(a.dir, asideFiles, p)
	a.paths = append(a.paths, to)
	return a.move(p, to)
}

// restore moves every file of the folder to where it was, unless a build that succeeded made something there, and
// removes the folder. The build could write to it, so what lies there is only moved inside the worktree, and no link is
// followed out of it.
func (a *Aside) restore() error { return a.putBack(nil) }

// putBack is restore; what has to give way is moved to another folder, where one is named.
func (a *Aside) putBack(by *Aside) error {
	if info, err := a.root.Lstat(a.dir); err != nil || !info.IsDir() {
		return nil
	}
	var errs []error
	_, err := a.root.Lstat(path.Join(a.dir, asideBuilt))
	built := err == nil
	files := path.Join(a.dir, asideFiles)
	for todo := []string{"."}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		entries, err := a.list(path.Join(files, at))
		errs = append(errs, err)
		for _, e := range entries {
			p := path.Join(at, e.Name())
			switch {
			case withheld(p):
			case e.IsDir():
				todo = append(todo, p)
			default:
				free, err := a.free(p, !built)
				if free && by != nil {
					err = by.keep(p, path.Join(files, p))
				}
				if free && err == nil {
					err = a.move(path.Join(files, p), p)
				}
				errs = append(errs, err)
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err // what could not be put back stays where it is
	}
	// The .gitignore goes last.
	for _, p := range []string{files, path.Join(a.dir, asideBuilt), a.dir} {
		if err := a.remove(p); err != nil {
			return err
		}
	}
	// Folders that were made for this are empty now; others are not and stay.
	if a.root.Remove(asideDir) == nil {
		_ = a.root.Remove(path.Dir(asideDir))
	}
	return nil
}

func (a *Aside) list(dir string) ([]fs.DirEntry, error) {
	f, err := a.root.Open(dir)
	if errors.Is(err, fs.ErrPermission) {
		openAll(a.root, dir)
		f, err = a.root.Open(dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}

// free reports whether a file can be put at p: neither a directory stands there nor, unless it may be replaced, a
// file, nor something in place of a directory above it.
func (a *Aside) free(p string, replace bool) (bool, error) {
	for i := 0; i <= len(p); i++ {
		if i < len(p) && p[i] != '/' {
			continue
		}
		info, err := a.root.Lstat(p[:i])
		if errors.Is(err, fs.ErrPermission) && a.root.Chmod(path.Dir(p[:i]), 0o700) == nil { // the build shut it
			info, err = a.root.Lstat(p[:i])
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return true, nil
		case err != nil:
			return false, err
		case !info.IsDir():
			return replace && i == len(p), nil
		}
	}
	return false, nil
}

func (a *Aside) remove(p string) error {
	if a.root.RemoveAll(p) == nil {
		return nil
	}
	openAll(a.root, p)
	return a.root.RemoveAll(p)
}

func asideBroken(doing string, err error) error {
	return fault.Env("aside_failed", fmt.Errorf("%s: %w", doing, err), "see that the worktree can be written, and look into "+asideDir+" there for what was moved")
}
