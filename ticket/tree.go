package ticket

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/fault"
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
	asked := []string{commit + "^{tree}"}
	for i := 1; i < len(names); i++ {
		asked = append(asked, commit+":"+path.Join(names[:i]...))
	}
	wrong := func(err error) (chain, error) { return chain{}, fmt.Errorf("reading the trees of %s: %w", commit, err) }
	if strings.Contains(file, "\n") {
		return wrong(fmt.Errorf("%q has a line end", file)) // git is asked line by line
	}
	out, err := r.git.output(ctx, call{at: r.shared(), stdin: strings.NewReader(strings.Join(asked, "\n") + "\n"), args: []string{"cat-file", "--batch"}})
	if err != nil {
		return wrong(err)
	}
	c := chain{levels: make([][]entry, len(names))}
	for i, name := range asked {
		if i > 0 {
			at := find(c.levels[i-1], names[i-1])
			if at < 0 {
				break
			}
			if c.levels[i-1][at].kind != "tree" {
				c.blocked = path.Join(names[:i]...)
				break
			}
		}
		head, rest, _ := bytes.Cut(out, []byte("\n"))
		if string(head) == name+" missing" {
			return wrong(fault.Envf("objects_missing", []string{"git fsck tells more"}, "the repository lacks %s", name))
		}
		var id, kind string
		var size int
		if _, err := fmt.Sscan(string(head), &id, &kind, &size); err != nil || kind != "tree" || size < 0 || size >= len(rest) {
			return wrong(fmt.Errorf("git printed %q", head))
		}
		if c.levels[i], err = parseTree(rest[:size], len(id)/2); err != nil {
			return wrong(err)
		}
		if i == 0 {
			c.root = id
		}
		out = rest[size+1:]
	}
	return c, nil
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
	object := append(fmt.Appendf(nil, "tree %d\x00", data.Len()), data.Bytes()...)
	if digits == 2*sha256.Size {
		return fmt.Sprintf("%x", sha256.Sum256(object)), nil
	}
	return fmt.Sprintf("%x", sha1.Sum(object)), nil
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
