package artifact

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/trkr-dev/trkr-validate/verdict"
)

const (
	nearLooked = 20000 // entries that are looked at for what may have been meant
	nearShown  = 5
)

// missing refuses a glob without a match and tells what is there instead.
func (c *collection) missing(ctx context.Context, g glob) *verdict.Refusal {
	r := &verdict.Refusal{Reason: verdict.ArtifactMissing, Detail: fmt.Sprintf("the build made no file that %q matches", g.text)}
	if withheld(g.base) {
		r.Hints = []string{"nothing is taken from .git, .trkr/validate, .trkr/runs and .trkr/loop"}
		return r
	}
	var stale []string
	for _, p := range c.o.Stale {
		if g.match(p) || g.matchAbove(p) {
			stale = append(stale, quote(p))
		}
	}
	if len(stale) > 0 {
		r.Detail += "; an earlier one left " + list(stale) + ", which this one did not make again"
		r.Hints = []string{"a build that skips what it takes for up to date must be told to make it: remove its cache in the build command"}
		return r
	}
	if s := c.around(g); s != "" {
		r.Detail += "; " + s
	}
	if near := c.near(ctx, g); len(near) > 0 {
		r.Hints = append(r.Hints, "there is "+strings.Join(near, ", "))
	}
	r.Hints = append(r.Hints, "see in the build's output where it puts what it makes, and name that in \"artifacts\"")
	return r
}

// around tells what is where the glob looked.
func (c *collection) around(g glob) string {
	dir := "."
	for part := range strings.SplitSeq(g.base, "/") {
		p := path.Join(dir, part)
		info, err := c.root.Lstat(p)
		switch {
		case err != nil:
			return fmt.Sprintf("there is no %s", quote(p))
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := c.root.Readlink(p)
			return fmt.Sprintf("%s is a link to %s, and links are not followed", quote(p), quote(target))
		case !info.IsDir():
			return fmt.Sprintf("%s is no directory", quote(p))
		}
		dir = p
	}
	if dir == "." {
		return ""
	}
	d, entries, err := c.readDir(dir)
	if err != nil {
		return ""
	}
	d.Close()
	if len(entries) == 0 {
		return quote(dir) + " is empty"
	}
	var names []string
	for _, e := range entries {
		names = append(names, quote(e.Name()))
	}
	slices.Sort(names)
	if more := len(names) - nearShown; more > 0 {
		names = append(names[:nearShown], fmt.Sprintf("%d more", more))
	}
	return quote(dir) + " holds " + strings.Join(names, ", ")
}

// near looks for files whose names resemble what the glob asks for; those that git does not track come first, since
// a build may have made them.
func (c *collection) near(ctx context.Context, g glob) []string {
	type candidate struct {
		path  string
		score int
	}
	var found []candidate
	looked := 0
	for todo := []string{"."}; len(todo) > 0 && looked < nearLooked && ctx.Err() == nil; {
		at := todo[0]
		todo = todo[1:]
		dir, entries, err := c.readDir(at)
		if err != nil {
			continue
		}
		dir.Close()
		for _, e := range entries {
			looked++
			p := path.Join(at, e.Name())
			if withheld(p) || tooLong(p) {
				continue
			}
			if e.IsDir() {
				if e.Name() != "node_modules" {
					todo = append(todo, p)
				}
				continue
			}
			if s := g.resembles(p); s > 0 {
				if c.o.Tracked != nil && c.o.Tracked(p) {
					s -= 2
				}
				found = append(found, candidate{p, s})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(strings.Count(a.path, "/"), strings.Count(b.path, "/")), cmp.Compare(a.path, b.path))
	})
	var names []string
	for _, f := range found[:min(nearShown, len(found))] {
		if f.score > 0 {
			names = append(names, quote(f.path))
		}
	}
	return names
}

// resembles scores how likely p was meant by the glob; 0 is not at all.
func (g glob) resembles(p string) int {
	last, base := strings.ToLower(g.last()), strings.ToLower(path.Base(p))
	words := strings.FieldsFunc(last, func(r rune) bool { return strings.ContainsRune(`*?[]{},\`, r) })
	longest := ""
	for _, w := range words {
		if len(w) > len(longest) {
			longest = w
		}
	}
	ext := path.Ext(last)
	switch {
	case doublestar.MatchUnvalidated(strings.ToLower(g.pattern), strings.ToLower(p)), base == last:
		return 5
	case longest != "" && doublestar.MatchUnvalidated(last, base):
		return 4
	case len(ext) > 1 && !strings.ContainsAny(ext, "*?[{") && path.Ext(base) == ext:
		return 3
	case len(longest) >= 3 && !strings.HasPrefix(longest, ".") && strings.Contains(base, longest):
		return 3
	}
	return 0
}
