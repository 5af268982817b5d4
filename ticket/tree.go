package ticket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// entry is one line of a tree object.
type entry struct {
	mode, kind, id, name string
}

const (
	modeTree = "040000"
	modeFile = "100644"
	modeLink = "120000"
)

var errNotFolder = errors.New("not a folder in the commit")

// ErrNotRegular is what File returns of a link or a folder: whoever wanted a file there has none.
var ErrNotRegular = errors.New("not a regular file in the commit")

// readTree lists one tree object, not the ones in it.
func (r *Repo) readTree(ctx context.Context, tree string) ([]entry, error) {
	out, err := r.git.output(ctx, call{at: r.shared(), args: []string{"ls-tree", "-z", "--full-tree", tree}})
	if err != nil {
		return nil, fmt.Errorf("reading tree %s: %w", tree, err)
	}
	var entries []entry
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if line == "" {
			continue
		}
		meta, name, ok := strings.Cut(line, "\t")
		fields := strings.Fields(meta)
		if !ok || len(fields) != 3 {
			return nil, fmt.Errorf("reading tree %s: git printed %q", tree, line)
		}
		entries = append(entries, entry{mode: fields[0], kind: fields[1], id: fields[2], name: name})
	}
	return entries, nil
}

// writeTree makes a tree object. objects, where not empty, is the folder that gets it instead of the repository's.
func (r *Repo) writeTree(ctx context.Context, entries []entry, objects string) (string, error) {
	var in bytes.Buffer
	for _, e := range entries {
		fmt.Fprintf(&in, "%s %s %s\t%s\x00", e.mode, e.kind, e.id, e.name)
	}
	// --missing: the other entries need not be here (partial clones), and none is opened.
	c := call{at: r.shared(), args: []string{"mktree", "-z", "--missing"}, stdin: &in}
	if objects != "" {
		c.env = []string{"GIT_OBJECT_DIRECTORY=" + objects}
	}
	id, err := r.git.line(ctx, c)
	if err != nil {
		return "", fmt.Errorf("writing a tree: %w", err)
	}
	return id, nil
}

// levels reads the trees from the commit's root down to the folder of a path, one for each of the path's names. From
// the first missing folder on they are empty.
func (r *Repo) levels(ctx context.Context, commit, file string) ([][]entry, error) {
	names := strings.Split(file, "/")
	all := make([][]entry, len(names))
	tree := commit + "^{tree}"
	for i, name := range names {
		entries, err := r.readTree(ctx, tree)
		if err != nil {
			return nil, err
		}
		all[i] = entries
		at := find(entries, name)
		if at < 0 || i == len(names)-1 {
			break
		}
		if entries[at].kind != "tree" {
			return nil, fmt.Errorf("%q: %w", path.Join(names[:i+1]...), errNotFolder)
		}
		tree = entries[at].id
	}
	return all, nil
}

func find(entries []entry, name string) int {
	return slices.IndexFunc(entries, func(e entry) bool { return e.name == name })
}

// replace puts e (nil: nothing) in the place of file and returns the new root tree. A folder that gets empty goes.
func (r *Repo) replace(ctx context.Context, levels [][]entry, file string, e *entry, objects string) (string, error) {
	names := strings.Split(file, "/")
	for i := len(names) - 1; ; i-- {
		entries := slices.DeleteFunc(slices.Clone(levels[i]), func(x entry) bool { return x.name == names[i] })
		if e != nil {
			e.name = names[i]
			entries = append(entries, *e) // mktree sorts
		}
		if e = nil; len(entries) > 0 || i == 0 {
			id, err := r.writeTree(ctx, entries, objects)
			if err != nil || i == 0 {
				return id, err
			}
			e = &entry{mode: modeTree, kind: "tree", id: id}
		}
	}
}

// treeWithout is the commit's tree as it would be without the file. It writes nothing into the repository, so that a
// repository that cannot be written can be judged.
func (r *Repo) treeWithout(ctx context.Context, commit, file string) (string, error) {
	found, err := r.git.output(ctx, call{at: r.shared(), args: []string{"ls-tree", "-z", "--full-tree", "--end-of-options", commit, file}})
	if err != nil {
		return "", fmt.Errorf("reading the tree of %s: %w", commit, err)
	}
	if len(found) == 0 {
		return r.git.line(ctx, call{at: r.shared(), args: []string{"rev-parse", "--verify", "--end-of-options", commit + "^{tree}"}})
	}
	levels, err := r.levels(ctx, commit, file)
	if err != nil {
		return "", err
	}
	objects, err := r.claim()
	if err != nil {
		return "", err
	}
	tree, err := r.replace(ctx, levels, file, nil, objects)
	return tree, errors.Join(err, unclaim(objects))
}

// maxFile bounds what File reads.
const maxFile = 16 << 20

// File reads a regular file as it is in the commit; path is relative, with slashes. The error is fs.ErrNotExist where
// there is none, and another one where it is a link or a folder: no link is followed. At most 16 MiB are read.
func (r *Repo) File(ctx context.Context, commit, file string) ([]byte, error) {
	if !fs.ValidPath(file) || file == "." {
		return nil, fmt.Errorf("reading %q at %s: %w", file, commit, fs.ErrInvalid)
	}
	wrong := func(err error) error { return fmt.Errorf("reading %q at %s: %w", file, commit, err) }
	out, err := r.git.output(ctx, call{at: r.shared(), args: []string{"ls-tree", "-z", "-l", "--full-tree", "--end-of-options", commit, file}})
	if err != nil {
		return nil, wrong(err)
	}
	if len(out) == 0 {
		return nil, wrong(fs.ErrNotExist)
	}
	var mode, kind, id string
	var size int64
	meta, _, _ := bytes.Cut(out, []byte("\t"))
	if _, err := fmt.Sscan(string(meta), &mode, &kind, &id, &size); err != nil || kind != "blob" || mode == modeLink {
		return nil, wrong(fmt.Errorf("%w (mode %s)", ErrNotRegular, mode))
	}
	if size > maxFile {
		return nil, wrong(fmt.Errorf("it has %d bytes, at most %d are read", size, maxFile))
	}
	out, err = r.git.output(ctx, call{at: r.shared(), args: []string{"cat-file", "blob", id}})
	if err != nil {
		return nil, wrong(err)
	}
	return out, nil
}
