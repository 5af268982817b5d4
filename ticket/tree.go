package ticket

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
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
	modeTree    = "040000"
	modeFile    = "100644"
	modeProgram = "100755"
	modeLink    = "120000"
)

// ErrNotRegular is what File returns of a link or a folder: whoever wanted a file there has none.
var ErrNotRegular = errors.New("not a regular file in the commit")

// writeTree makes a tree object.
func (r *Repo) writeTree(ctx context.Context, entries []entry) (string, error) {
	var in bytes.Buffer
	for _, e := range entries {
		fmt.Fprintf(&in, "%s %s %s\t%s\x00", e.mode, e.kind, e.id, e.name)
	}
	// --missing: the other entries need not be here (partial clones), and none is opened.
	id, err := r.git.line(ctx, call{at: r.shared(), args: []string{"mktree", "-z", "--missing"}, stdin: &in})
	if err != nil {
		return "", fmt.Errorf("writing a tree: %w", err)
	}
	return id, nil
}

// chain is the trees from a commit's root down to the folder of a path, one for each of the path's names. From the first
// missing folder on they are empty.
type chain struct {
	root    string // the commit's tree
	levels  [][]entry
	blocked string // where a folder should be, something else is in the commit
}

// chain reads them, all in one: what a folder is called at the commit is known beforehand.
func (r *Repo) chain(ctx context.Context, commit, file string) (chain, error) {
	names := strings.Split(file, "/")
	objects, err := r.objects(ctx, chainOf(commit, names))
	if err != nil {
		return chain{}, fmt.Errorf("reading the trees of %s: %w", commit, err)
	}
	c, err := readChain(objects, names)
	if err != nil {
		return chain{}, fmt.Errorf("reading the trees of %s: %w", commit, err)
	}
	return c, nil
}

// chainOf names a commit and the trees of a chain.
func chainOf(commit string, names []string) []string {
	asked := []string{commit, commit + "^{tree}"}
	for i := 1; i < len(names); i++ {
		asked = append(asked, commit+":"+path.Join(names[:i]...))
	}
	return asked
}

// readChain takes a chain out of the objects that chainOf names. Each names the next one, so that the commit's id proves
// all of them.
func readChain(objects []object, names []string) (chain, error) {
	commit, trees := objects[0], objects[1:]
	if commit.kind == "" {
		return chain{}, commit.lacking()
	}
	want, err := commit.tree()
	if err != nil {
		return chain{}, err
	}
	c := chain{root: want, levels: make([][]entry, len(names))}
	for i := range names {
		if i > 0 {
			at := find(c.levels[i-1], names[i-1])
			if at < 0 {
				break
			}
			if c.levels[i-1][at].kind != "tree" {
				c.blocked = path.Join(names[:i]...)
				break
			}
			want = c.levels[i-1][at].id
		}
		o := trees[i]
		if o.kind == "" {
			return chain{}, o.lacking()
		}
		if o.kind != "tree" || o.id != want {
			return chain{}, o.damaged()
		}
		if c.levels[i], err = parseTree(o.data, len(o.id)/2); err != nil {
			return chain{}, err
		}
	}
	return c, nil
}

// tree is the id of a commit's tree. A commit that was asked for by its id has that id.
func (o object) tree() (string, error) {
	head, _, _ := bytes.Cut(o.data, []byte("\n"))
	id, ok := strings.CutPrefix(string(head), "tree ")
	if !ok || o.kind != "commit" || o.id != o.name {
		return "", o.damaged()
	}
	return id, nil
}

// parseTree reads a tree object; ids in it have size bytes.
func parseTree(data []byte, size int) ([]entry, error) {
	var entries []entry
	for len(data) > 0 {
		meta, rest, _ := bytes.Cut(data, []byte{0})
		mode, name, ok := strings.Cut(string(meta), " ")
		if !ok || len(rest) < size {
			return nil, errors.New("a tree is damaged")
		}
		e := entry{mode: mode, kind: "blob", id: hex.EncodeToString(rest[:size]), name: name}
		switch mode {
		case "40000":
			e.mode, e.kind = modeTree, "tree"
		case modeSubmodule:
			e.kind = "commit"
		}
		entries = append(entries, e)
		data = rest[size:]
	}
	return entries, nil
}

func find(entries []entry, name string) int {
	return slices.IndexFunc(entries, func(e entry) bool { return e.name == name })
}

// with puts a file in the place of the chain's and returns the new root tree.
func (r *Repo) with(ctx context.Context, c chain, file string, e entry) (string, error) {
	names := strings.Split(file, "/")
	for i := len(names) - 1; ; i-- {
		e.name = names[i]
		entries := slices.DeleteFunc(slices.Clone(c.levels[i]), func(x entry) bool { return x.name == e.name })
		id, err := r.writeTree(ctx, append(entries, e)) // mktree sorts
		if err != nil || i == 0 {
			return id, err
		}
		e = entry{mode: modeTree, kind: "tree", id: id}
	}
}

// without is the root tree as it would be without the file; a folder that gets empty goes. It is only named, not made:
// a repository that cannot be written can be judged.
func (c chain) without(file string) (string, error) {
	names := strings.Split(file, "/")
	if find(c.levels[len(names)-1], names[len(names)-1]) < 0 {
		return c.root, nil
	}
	id := "" // of the tree that takes the place of names[i]; empty: nothing does
	for i := len(names) - 1; i >= 0; i-- {
		entries := slices.Clone(c.levels[i])
		at := find(entries, names[i])
		if id == "" {
			entries = slices.Delete(entries, at, at+1)
		} else {
			entries[at].id = id
		}
		id = ""
		if len(entries) > 0 || i == 0 {
			var err error
			if id, err = treeID(entries, len(c.root)); err != nil {
				return "", err
			}
		}
	}
	return id, nil
}

// treeID is the name of a tree object, in hexadecimal digits of the repository's length.
func treeID(entries []entry, digits int) (string, error) {
	var data bytes.Buffer
	for _, e := range entries { // in the order in which git had them
		id, err := hex.DecodeString(e.id)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&data, "%s %s\x00%s", strings.TrimLeft(e.mode, "0"), e.name, id)
	}
	return objectID("tree", data.Bytes(), digits), nil
}

// objectID is the name of an object, in hexadecimal digits of the repository's length.
func objectID(kind string, data []byte, digits int) string {
	h := newHash(digits)
	fmt.Fprintf(h, "%s %d\x00", kind, len(data))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

func newHash(digits int) hash.Hash {
	if digits == 2*sha256.Size {
		return sha256.New()
	}
	return sha1.New()
}

// maxFile bounds what File takes.
const maxFile = 16 << 20

// File reads a regular file as it is in the commit, which is named by its id; path is relative, with slashes. The error is fs.ErrNotExist where
// there is none, and another one where it is a link or a folder: no link is followed. It has at most 16 MiB.
func (r *Repo) File(ctx context.Context, commit, file string) ([]byte, error) {
	if !fs.ValidPath(file) || file == "." {
		return nil, fmt.Errorf("reading %q at %s: %w", file, commit, fs.ErrInvalid)
	}
	names := strings.Split(file, "/")
	objects, err := r.objects(ctx, append(chainOf(commit, names), commit+":"+file))
	if err != nil {
		return nil, fmt.Errorf("reading %q at %s: %w", file, commit, err)
	}
	_, data, err := fileOf(objects, names)
	if err != nil {
		return nil, fmt.Errorf("reading %q at %s: %w", file, commit, err)
	}
	return data, nil
}

// fileOf takes a file out of the objects that chainOf names, and its own. The entry is that of the tree, also where its
// blob cannot be taken.
func fileOf(objects []object, names []string) (entry, []byte, error) {
	c, err := readChain(objects, names)
	if err != nil {
		return entry{}, nil, err
	}
	last, content := c.levels[len(names)-1], objects[len(names)+1]
	at := find(last, names[len(names)-1])
	switch {
	case at < 0:
		return entry{}, nil, fs.ErrNotExist
	case last[at].kind != "blob" || last[at].mode == modeLink:
		return last[at], nil, fmt.Errorf("%w (mode %s)", ErrNotRegular, last[at].mode)
	case content.id != last[at].id:
		return last[at], nil, content.lacking()
	case len(content.data) > maxFile:
		return last[at], nil, fmt.Errorf("it has %d bytes, at most %d are taken", len(content.data), maxFile)
	}
	return last[at], content.data, nil
}

// Folder reads the regular files that stand right below a folder of a commit, by their names. The error is
// fs.ErrNotExist where there is no such folder.
func (r *Repo) Folder(ctx context.Context, commit, dir string) (map[string][]byte, error) {
	wrong := func(err error) error { return fmt.Errorf("reading the folder %q at %s: %w", dir, short(commit), err) }
	if !fs.ValidPath(dir) || dir == "." {
		return nil, wrong(fs.ErrInvalid)
	}
	c, err := r.chain(ctx, commit, dir+"/.")
	if err != nil {
		return nil, wrong(err)
	}
	level := c.levels[len(c.levels)-1]
	if level == nil {
		return nil, wrong(fs.ErrNotExist)
	}
	var ids, names []string
	for _, e := range level {
		if e.kind == "blob" && e.mode != modeLink {
			ids, names = append(ids, e.id), append(names, e.name)
		}
	}
	files := map[string][]byte{}
	if len(ids) == 0 {
		return files, nil
	}
	objects, err := r.objects(ctx, ids)
	if err != nil {
		return nil, wrong(err)
	}
	for i, o := range objects {
		if o.kind != "blob" || o.id != ids[i] || len(o.data) > maxFile {
			return nil, wrong(o.lacking())
		}
		files[names[i]] = o.data
	}
	return files, nil
}
