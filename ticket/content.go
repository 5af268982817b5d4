package ticket

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

// differing names the files of the commit that the worktree does not hold. What is not there byte for byte may still be
// what git makes of it on checkout.
func (a apart) differing(ctx context.Context, entries []entry) ([]string, error) {
	var files []entry
	for _, e := range entries {
		if e.mode != modeSubmodule {
			files = append(files, e)
		}
	}
	found, err := contents(ctx, a.at.dir, files)
	if err != nil {
		return nil, err
	}
	var names []string
	var other []entry // with what was found
	for i, e := range files {
		switch {
		case found[i] == e.id:
		case found[i] == "" || e.mode == modeLink:
			names = append(names, e.name)
		default:
			e.id = found[i]
			other = append(other, e)
		}
	}
	if len(other) == 0 {
		return names, nil
	}
	converted, err := a.converted(ctx, other, entries)
	for _, e := range other {
		if !converted[e.name] {
			names = append(names, e.name)
		}
	}
	return names, err
}

// contents are the names that git has for what stands at the entries' paths below dir; empty where nothing does, or
// something of another type or mode, or behind a link.
func contents(ctx context.Context, dir string, files []entry) ([]string, error) {
	found := make([]string, len(files))
	folders := map[string]bool{".": true} // whether they are folders and no links
	var isFolder func(name string) bool
	isFolder = func(name string) bool {
		is, known := folders[name]
		if !known {
			if isFolder(path.Dir(name)) {
				info, err := os.Lstat(filepath.Join(dir, name))
				is = err == nil && info.IsDir()
			}
			folders[name] = is
		}
		return is
	}
	reachable := make([]bool, len(files))
	for i, e := range files {
		reachable[i] = isFolder(path.Dir(e.name))
	}
	var next atomic.Int64
	var workers sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			buf := make([]byte, 128<<10)
			for i := int(next.Add(1)) - 1; i < len(files) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if reachable[i] {
					found[i] = content(filepath.Join(dir, files[i].name), files[i], buf)
				}
			}
		})
	}
	workers.Wait()
	return found, context.Cause(ctx)
}

// content is empty also where the file cannot be read: nothing is known of it then.
func content(name string, e entry, buf []byte) string {
	info, err := os.Lstat(name)
	if err != nil {
		return ""
	}
	if e.mode == modeLink {
		target, err := os.Readlink(name)
		if err != nil {
			return ""
		}
		return objectID("blob", []byte(target), len(e.id))
	}
	if !info.Mode().IsRegular() || (info.Mode()&0o100 != 0) != (e.mode == modeProgram) {
		return ""
	}
	f, err := openRegular(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !os.SameFile(info, now) {
		return ""
	}
	h := newHash(len(e.id))
	fmt.Fprintf(h, "blob %d\x00", info.Size())
	// Only a reader and a writer: no other way of copying that leaves the buffer unused.
	n, err := io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{f}, buf)
	if err != nil || n != info.Size() {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

// converted tells which of the files are what git makes of the commit's on checkout, by the commit's own attributes, or
// what their Git LFS pointer names. The ids of files are those of what stands in the worktree.
func (a apart) converted(ctx context.Context, files, held []entry) (map[string]bool, error) {
	stored, made := filepath.Join(a.folder, "stored"), filepath.Join(a.folder, "made")
	attributes := filepath.Join(a.gitDir, "info/attributes")
	none := "* -text -ident !eol !filter !working-tree-encoding\n"
	err := errors.Join(os.Mkdir(stored, 0o700), os.Mkdir(made, 0o700), os.WriteFile(attributes, []byte(none), 0o600))
	if err != nil {
		return nil, err
	}
	if _, err := a.git.output(ctx, a.in(stored, "read-tree", a.commit)); err != nil {
		return nil, fmt.Errorf("reading %s: %w", short(a.commit), err)
	}
	if err := a.fill(ctx, stored, files); err != nil {
		return nil, err
	}
	if err := os.Remove(attributes); err != nil {
		return nil, err
	}
	if err := a.fill(ctx, made, files); err != nil {
		return nil, err
	}
	ids := make(map[string]string, len(held))
	for _, e := range held {
		ids[e.name] = e.id
	}
	was, err := contents(ctx, stored, files)
	if err != nil {
		return nil, err
	}
	is, err := contents(ctx, made, files)
	if err != nil {
		return nil, err
	}
	same := map[string]bool{}
	var pointers []string
	for i, e := range files {
		if was[i] != ids[e.name] {
			continue // the object is damaged, or not here
		}
		if is[i] == e.id {
			same[e.name] = true
		} else if pointsTo(filepath.Join(stored, e.name), filepath.Join(a.at.dir, e.name)) {
			pointers = append(pointers, e.name)
		}
	}
	if len(pointers) == 0 {
		return same, nil
	}
	c := a.in(made, "check-attr", "--stdin", "-z", "filter")
	c.stdin = strings.NewReader(strings.Join(pointers, "\x00") + "\x00")
	out, err := a.git.output(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("reading attributes: %w", err)
	}
	for fields := strings.Split(string(out), "\x00"); len(fields) > 3; fields = fields[3:] { // path, attribute, value
		same[fields[0]] = fields[2] == "lfs"
	}
	return same, nil
}

// fill checks files of the commit out. One that cannot be is missing then.
func (a apart) fill(ctx context.Context, dir string, files []entry) error {
	var list strings.Builder
	for _, e := range files {
		list.WriteString(e.name + "\x00")
	}
	c := a.in(dir, "checkout-index", "--quiet", "-z", "--stdin")
	c.stdin = strings.NewReader(list.String())
	_, err := a.git.output(ctx, c)
	if _, said := errors.AsType[*gitError](err); said && !strings.Contains(err.Error(), "No space left") {
		return nil
	}
	return err
}
