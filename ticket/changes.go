package ticket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// ownFolder holds what this program and its kin write; what lies in it is no change.
const ownFolder = ".trkr/"

// maxNesting bounds how deep submodules in submodules are looked at.
const maxNesting = 16

// Changes names the files of the worktree that are not as committed: tracked files that changed, in the index or on
// disk, and untracked ones that are not ignored; submodules' files too. What lies in .trkr/ does not count. Flags that
// hide a file from git status (assume-unchanged, skip-worktree) hide nothing here. No program that the repository names
// runs: a file kept through a filter and touched since its checkout counts as changed. Paths are relative, with
// slashes, sorted.
func (r *Repo) Changes(ctx context.Context, t *Ticket) ([]string, error) {
	at, err := r.placeOf(t)
	if err != nil {
		return nil, err
	}
	all, err := r.changes(ctx, at, 0)
	if err != nil {
		return nil, fmt.Errorf("looking for changes in %q: %w", t.Worktree, err)
	}
	all = slices.DeleteFunc(all, func(p string) bool { return strings.HasPrefix(p, ownFolder) })
	slices.Sort(all)
	return slices.Compact(all), nil
}

func (r *Repo) changes(ctx context.Context, at place, depth int) (all []string, err error) {
	tracked, err := r.index(ctx, at)
	if err != nil {
		return nil, err
	}
	conf, err := r.configured(ctx, at)
	if err != nil {
		return nil, err
	}
	env := conf.off
	copied, err := r.unhidden(ctx, at, tracked)
	if err != nil {
		return nil, err
	}
	if copied != "" {
		defer func() { err = errors.Join(err, unclaim(filepath.Dir(copied))) }()
		env = append(env, "GIT_INDEX_FILE="+copied)
	}
	// Submodules are looked at below: git's own look at them would run their filters.
	out, err := r.git.output(ctx, call{at: at, env: env, slow: true, args: []string{
		"status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty",
	}})
	if err != nil {
		return nil, err
	}
	for line := range strings.SplitSeq(string(out), "\x00") {
		if len(line) > 3 { // two letters and a space
			all = append(all, line[3:])
		}
	}
	for _, e := range tracked {
		if e.mode != modeSubmodule {
			continue
		}
		sub, ok, err := r.inSubmodule(ctx, at, e.path, depth)
		var inner []string
		if ok {
			inner, err = r.changes(ctx, sub, depth+1)
		}
		if _, said := errors.AsType[*gitError](err); said {
			inner = []string{""} // cannot be looked at: then it counts as changed
		} else if err != nil {
			return nil, err
		}
		for _, p := range inner {
			all = append(all, path.Join(e.path, p))
		}
	}
	return all, nil
}

const modeSubmodule = "160000"

// indexed is one entry of an index.
type indexed struct {
	mode, path string
	unchanged  bool // assume-unchanged
	skipped    bool // skip-worktree
}

func (r *Repo) index(ctx context.Context, at place) ([]indexed, error) {
	out, err := r.git.output(ctx, call{at: at, args: []string{"ls-files", "-z", "-v", "--stage"}})
	if err != nil {
		return nil, fmt.Errorf("reading the index: %w", err)
	}
	all := make([]indexed, 0, bytes.Count(out, []byte{0}))
	for line := range strings.SplitSeq(string(out), "\x00") {
		meta, name, ok := strings.Cut(line, "\t")
		tag, mode, more := strings.Cut(meta, " ")
		if !ok || !more || len(mode) < 6 {
			continue
		}
		all = append(all, indexed{mode: mode[:6], path: name, unchanged: tag == strings.ToLower(tag), skipped: strings.EqualFold(tag, "S")})
	}
	return all, nil
}

// unhidden makes a copy of the index in which no flag keeps git status from looking at a file, and returns its path in
// a folder of its own; empty where no flag does. A skipped file that is not there is a sparse checkout's.
func (r *Repo) unhidden(ctx context.Context, at place, tracked []indexed) (string, error) {
	var unchanged, skipped bytes.Buffer
	for _, e := range tracked {
		if e.unchanged {
			unchanged.WriteString(e.path + "\x00")
		}
		if e.skipped {
			if _, err := os.Lstat(filepath.Join(at.dir, e.path)); !errors.Is(err, fs.ErrNotExist) {
				skipped.WriteString(e.path + "\x00")
			}
		}
	}
	if unchanged.Len()+skipped.Len() == 0 {
		return "", nil
	}
	dir, err := r.claim()
	if err != nil {
		return "", err
	}
	copied := filepath.Join(dir, "index")
	err = copyFile(filepath.Join(at.gitDir, "index"), copied)
	for flag, paths := range map[string]*bytes.Buffer{"--no-assume-unchanged": &unchanged, "--no-skip-worktree": &skipped} {
		if err == nil && paths.Len() > 0 {
			// Whole, also where the original is split: no file appears beside the original.
			env := []string{
				"GIT_INDEX_FILE=" + copied, "GIT_CONFIG_COUNT=1",
				"GIT_CONFIG_KEY_0=core.splitIndex", "GIT_CONFIG_VALUE_0=false",
			}
			_, err = r.git.output(ctx, call{at: at, env: env, stdin: paths, args: []string{"update-index", flag, "-z", "--stdin"}})
		}
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("copying the index: %w", err), unclaim(dir))
	}
	return copied, nil
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

// Tracked tells whether git tracks a path of the worktree (relative, with slashes): in the ticket's commit, in the
// worktree's index now, or in a submodule that is checked out there. Ask before the build runs; the answer is kept in
// memory, about a hundred bytes a file.
func (r *Repo) Tracked(ctx context.Context, t *Ticket) (func(path string) bool, error) {
	wrong := func(err error) error { return fmt.Errorf("listing tracked files of %q: %w", t.Worktree, err) }
	at, err := r.placeOf(t)
	if err != nil {
		return nil, wrong(err)
	}
	out, err := r.git.output(ctx, call{at: r.shared(), args: []string{"ls-tree", "-r", "-z", "--name-only", "--full-tree", "--end-of-options", t.Commit}})
	if err != nil {
		return nil, wrong(err)
	}
	set := map[string]bool{}
	for p := range strings.SplitSeq(string(out), "\x00") {
		set[p] = true
	}
	if err := r.addIndex(ctx, at, "", set, 0); err != nil {
		return nil, wrong(err)
	}
	delete(set, "")
	return func(p string) bool { return set[path.Clean(p)] }, nil
}

func (r *Repo) addIndex(ctx context.Context, at place, prefix string, set map[string]bool, depth int) error {
	entries, err := r.index(ctx, at)
	if err != nil {
		return err
	}
	for _, e := range entries {
		set[path.Join(prefix, e.path)] = true
		if e.mode != modeSubmodule {
			continue
		}
		sub, ok, err := r.inSubmodule(ctx, at, e.path, depth)
		if ok {
			err = r.addIndex(ctx, sub, path.Join(prefix, e.path), set, depth+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
