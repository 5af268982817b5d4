package artifact

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/verdict"
)

const (
	// pathLimit is how long a path may be, so that it can still be opened below the folders it is put in.
	pathLimit = 3 << 10
	// levelLimit is how deep it may lie: each level is a step each time that something of it is opened.
	levelLimit = 256
)

func tooLong(p string) bool { return len(p) > pathLimit || strings.Count(p, "/") >= levelLimit }

// collection is one Collect at work.
type collection struct {
	o       Options
	root    *os.Root
	allowed []glob
	items   map[string]*item
	reasons reasons
	full    bool // more than MaxFiles
}

// identity tells whether a file is still the one that was looked at. The change time cannot be set back by a program.
type identity struct {
	dev, ino     uint64
	size         int64
	mtime, ctime int64
}

// choose fills c.items with everything that the globs match and with the directories above it.
func (c *collection) choose(ctx context.Context, globs []glob) error {
	if len(globs) == 0 {
		c.reasons.add(&verdict.Refusal{
			Reason: verdict.ArtifactMissing, Detail: "validate.artifacts is empty: nothing says what the build makes",
			Hints: []string{`write "artifacts": ["what the build makes"] under "validate" in .trkr/config.json`},
		})
	}
	for _, g := range globs {
		found, err := c.walk(ctx, g)
		if err != nil {
			return err
		}
		if c.full {
			return nil
		}
		if !found {
			c.reasons.add(c.missing(ctx, g))
		}
	}
	for p := range c.items {
		if err := c.addParents(p); err != nil {
			return err
		}
	}
	return nil
}

// step is a directory that a walk has yet to read.
type step struct {
	path  string
	depth int  // levels left; 0: any number
	taken bool // the directory itself was matched, and so is all beneath it
}

// walk adds what one glob matches and reports whether a file or link was among it. Each directory is opened anew from
// the root and closed before the next: a tree may be deeper than the number of files that may be open.
func (c *collection) walk(ctx context.Context, g glob) (found bool, err error) {
	if withheld(g.base) || !c.plainDir(g.base) {
		return false, nil
	}
	for todo := []step{{path: g.base, depth: g.depth}}; len(todo) > 0; {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		dir, entries, err := c.readDir(s.path)
		if err != nil {
			c.reasons.unreadable(s.path, err)
			continue
		}
		if s.path != g.base && c.otherWorktree(s.path, entries) {
			entries = nil
		}
		for _, e := range entries {
			p := path.Join(s.path, e.Name())
			if withheld(p) {
				continue
			}
			taken := s.taken || g.match(p)
			if taken {
				if len(c.items) >= c.o.MaxFiles && c.items[p] == nil {
					c.full = true
					dir.Close()
					return true, nil
				}
				c.add(dir, p)
			}
			switch {
			case !e.IsDir():
				found = found || taken
			case tooLong(p):
				// Nothing below can be taken; the directory itself is refused where it was.
				found = found || taken
			case taken:
				todo = append(todo, step{path: p, taken: true})
			case s.depth != 1:
				todo = append(todo, step{path: p, depth: max(0, s.depth-1)})
			}
		}
		if err := dir.Close(); err != nil {
			return false, fault.Envf("worktree_unreadable", nil, "closing a directory: %w", err)
		}
	}
	return found, nil
}

// otherWorktree reports whether a directory is a worktree of its own, which somebody else works in: it holds a .git file
// and is no submodule. Its files are neither this build's nor ours to move.
func (c *collection) otherWorktree(dir string, entries []fs.DirEntry) bool {
	submodule := c.o.Tracked != nil && c.o.Tracked(dir)
	return !submodule && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == ".git" && e.Type().IsRegular() })
}

// readDir opens a directory that no link leads to, and lists it.
func (c *collection) readDir(p string) (*os.Root, []fs.DirEntry, error) {
	dir, err := openPlain(c.root, p)
	if err != nil {
		return nil, nil, err
	}
	f, err := dir.Open(".")
	if err != nil {
		dir.Close()
		return nil, nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		dir.Close()
		return nil, nil, err
	}
	return dir, entries, nil
}

var errChanged = errors.New("it changed while it was read")

// plainDir reports whether every part of p is a directory and no link.
func (c *collection) plainDir(p string) bool {
	for at := p; at != "."; at = path.Dir(at) {
		if info, err := c.root.Lstat(at); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// add takes one path of an open directory.
func (c *collection) add(dir *os.Root, p string) {
	if c.items[p] != nil {
		return
	}
	info, err := dir.Lstat(path.Base(p))
	if err != nil {
		c.reasons.unreadable(p, err)
		return
	}
	it := itemOf(p, info)
	if it.kind == "link" {
		if it.target, err = dir.Readlink(path.Base(p)); err != nil {
			c.reasons.unreadable(p, err)
			return
		}
	}
	c.items[p] = it
}

func itemOf(p string, info fs.FileInfo) *item {
	it := &item{path: p, was: identify(info)}
	perm := uint32(info.Mode().Perm())
	switch info.Mode().Type() {
	case 0:
		it.kind, it.size = "file", info.Size()
		it.mode = perm | 0o444
		if perm&0o111 != 0 {
			it.mode |= 0o111
		}
	case fs.ModeDir:
		// Whoever owns the copy must be able to remove it.
		it.kind, it.mode = "dir", perm|0o755
	case fs.ModeSymlink:
		it.kind, it.mode = "link", 0o777
	case fs.ModeNamedPipe:
		it.kind = "FIFO"
	case fs.ModeSocket:
		it.kind = "socket"
	default:
		it.kind = "device"
	}
	return it
}

func identify(info fs.FileInfo) identity {
	id := identity{size: info.Size(), mtime: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		id.dev, id.ino, id.ctime = uint64(st.Dev), st.Ino, changeTime(st)
	}
	return id
}

// addParents adds the directories above p.
func (c *collection) addParents(p string) error {
	for p = path.Dir(p); p != "." && c.items[p] == nil; p = path.Dir(p) {
		info, err := c.root.Lstat(p)
		if err != nil || !info.IsDir() {
			c.reasons.unreadable(p, errChanged)
			return nil
		}
		c.items[p] = itemOf(p, info)
	}
	return nil
}

// sorted is the items by the bytes of their paths, so that a directory stands before what it holds.
func (c *collection) sorted() []*item {
	items := make([]*item, 0, len(c.items))
	for _, it := range c.items {
		items = append(items, it)
	}
	slices.SortFunc(items, func(a, b *item) int { return strings.Compare(a.path, b.path) })
	return items
}
