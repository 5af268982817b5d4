package ticket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// ownFolder holds what this program and its kin write; what they leave in it untracked is no change.
const ownFolder = ".trkr/"

// maxNesting bounds how deep submodules in submodules are looked at.
const maxNesting = 16

// Changes names what of the worktree is not as the ticket's commit has it: its files, compared byte for byte and with
// their type and executable bit; what the index says; files that the commit does not hold and its .gitignore files do
// not ignore; submodules' files too. In .trkr/ only files that git tracks count, but all of them: that configuration and
// contract are read elsewhere does not keep a build from taking a file there. Paths are relative, with slashes, sorted.
//
// Nothing is believed that a build can write: no index, no configuration, attributes or excludes but the commit's, no
// object whose content is not what its name says. No program that the repository names runs. A file may also be what
// git makes of the commit's on checkout (line ends, encoding, ident) or what its Git LFS pointer names. A file that is
// absent counts, in a sparse checkout too; a submodule that is not checked out does not.
func (r *Repo) Changes(ctx context.Context, t *Ticket) ([]string, error) {
	at, err := r.placeOf(t)
	if err != nil {
		return nil, err
	}
	wrong := func(err error) error { return fmt.Errorf("looking for changes in %q: %w", t.Worktree, err) }
	held, err := r.held(ctx, t)
	if err != nil {
		return nil, wrong(err)
	}
	all, tracked, err := r.changes(ctx, checked{at: at, common: r.common, commit: t.Commit}, held)
	if err != nil {
		return nil, wrong(err)
	}
	if t.tracked == nil {
		t.tracked = tracked
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// checked is a worktree and what it should hold.
type checked struct {
	at     place
	common string
	commit string
	depth  int // of submodules
}

// held is what the ticket's commit holds. It is read once: before anything of the ticket ran, where that was asked then.
func (r *Repo) held(ctx context.Context, t *Ticket) (held, error) {
	if t.held == nil {
		h, err := hold(ctx, r.reader, t.Commit)
		if err != nil {
			return held{}, err
		}
		t.held = &h
	}
	return *t.held, nil
}

// changes also returns the index.
func (r *Repo) changes(ctx context.Context, c checked, held held) (all []string, tracked []indexed, err error) {
	a, err := r.setApart(c)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, unclaim(a.folder)) }()
	var asked errgroup.Group
	asked.Go(func() (err error) { tracked, err = r.index(ctx, c.at); return err })
	asked.Go(func() (err error) { all, err = a.untracked(ctx, held); return err })
	if err := asked.Wait(); err != nil {
		return nil, nil, err
	}
	differing, err := a.differing(ctx, held.entries)
	if err != nil {
		return nil, nil, err
	}
	all = append(append(all, staged(tracked, held.entries)...), differing...)
	for _, e := range held.entries {
		if e.mode != modeSubmodule {
			continue
		}
		inner, err := r.inside(ctx, c, e)
		if err != nil {
			return nil, nil, err
		}
		for _, p := range inner {
			all = append(all, path.Join(e.name, p))
		}
	}
	return all, tracked, nil
}

// staged names what an index has otherwise than the commit: the build may ask git for it.
func staged(tracked []indexed, held []entry) []string {
	missing := make(map[string]entry, len(held))
	for _, e := range held {
		missing[e.name] = e
	}
	var all []string
	for _, e := range tracked {
		if want := missing[e.path]; want.mode != e.mode || want.id != e.id {
			all = append(all, e.path)
		}
		delete(missing, e.path)
	}
	return slices.AppendSeq(all, maps.Keys(missing))
}

// inside names what a submodule has otherwise than the commit that the outer one names; "" is the submodule itself.
func (r *Repo) inside(ctx context.Context, outer checked, e entry) ([]string, error) {
	if info, err := os.Lstat(filepath.Join(outer.at.dir, e.name)); err != nil || !info.IsDir() {
		return []string{""}, nil
	}
	inner := checked{commit: e.id, depth: outer.depth + 1}
	var ok bool
	var err error
	if inner.at, ok, err = r.inSubmodule(ctx, outer.at, e.name, outer.depth); err == nil && !ok {
		return nil, nil
	}
	var head string
	if err == nil {
		var out string
		out, err = r.git.line(ctx, call{at: inner.at, args: []string{"rev-parse", "--path-format=absolute", "HEAD", "--git-common-dir"}})
		head, inner.common, _ = strings.Cut(out, "\n")
	}
	var all []string
	if err == nil && head == inner.commit {
		all, err = r.submodule(ctx, inner)
	} else if err == nil {
		all = []string{""}
	}
	_, said := errors.AsType[*gitError](err)
	if f := fault.Of(err); said || f != nil && (f.Code == codeObjects || f.Code == codeDamaged) {
		return []string{""}, nil // cannot be looked at: then it counts as changed
	}
	return all, err
}

func (r *Repo) submodule(ctx context.Context, c checked) ([]string, error) {
	from := &reader{git: r.git, at: place{dir: c.common, gitDir: c.common}}
	defer from.rest()
	held, err := hold(ctx, from, c.commit)
	if err != nil {
		return nil, err
	}
	all, _, err := r.changes(ctx, c, held)
	return all, err
}

const modeSubmodule = "160000"

// indexed is one entry of an index.
type indexed struct{ mode, id, path string }

func (r *Repo) index(ctx context.Context, at place) ([]indexed, error) {
	out, err := r.git.output(ctx, call{at: at, args: []string{"ls-files", "-z", "--stage"}})
	if err != nil {
		return nil, fmt.Errorf("reading the index: %w", err)
	}
	all := make([]indexed, 0, bytes.Count(out, []byte{0}))
	for line := range strings.SplitSeq(string(out), "\x00") {
		meta, name, ok := strings.Cut(line, "\t")
		if fields := strings.Fields(meta); ok && len(fields) == 3 { // mode, id, stage
			all = append(all, indexed{mode: fields[0], id: fields[1], path: name})
		}
	}
	return all, nil
}

// inSubmodule is where commands about a submodule run; false where it is not checked out.
func (r *Repo) inSubmodule(ctx context.Context, at place, name string, depth int) (place, bool, error) {
	dir := filepath.Join(at.dir, name)
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err != nil {
		return place{}, false, nil
	}
	if depth >= maxNesting {
		return place{}, false, fmt.Errorf("%q: submodules are nested more than %d deep", dir, maxNesting)
	}
	// The ceiling keeps git from taking the outer repository where the inner one is broken.
	env := []string{"GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir)}
	gitDir, err := r.git.line(ctx, call{at: place{dir: dir}, env: env, args: []string{"rev-parse", "--absolute-git-dir"}})
	return place{dir: dir, gitDir: gitDir, workTree: dir}, err == nil, err
}
