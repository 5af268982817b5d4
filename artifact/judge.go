package artifact

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/trkr-dev/trkr-validate/verdict"
)

// judge finds everything that is wrong with what was chosen and that can be told without reading a file.
func (c *collection) judge() {
	if c.full {
		c.reasons.add(&verdict.Refusal{
			Reason: verdict.ArtifactTooLarge, Detail: fmt.Sprintf("the globs match more than %d files, directories and links", c.o.MaxFiles),
			Hints: []string{`name what the build makes more closely in "artifacts", or pack it`},
		})
	}
	items := c.sorted()
	var total int64
	var source []string
	for _, it := range items {
		switch it.kind {
		case "file":
			total += min(it.size, 1<<62-total) // sizes are of the build's making: no overflow
		case "link":
			if !c.full { // else what it points to may be among what was not looked at
				c.judgeLink(it)
			}
		case "dir":
		default:
			c.reasons.blame(special, it.path, it.kind)
		}
		if tooLong(it.path) {
			c.reasons.blame(overlong, it.path[:60]+"...", "")
		}
		if it.kind != "dir" && c.o.Tracked != nil && c.o.Tracked(it.path) && !slices.ContainsFunc(c.allowed, func(g glob) bool { return g.match(it.path) }) {
			source = append(source, it.path)
		}
	}
	if len(source) > 0 {
		c.reasons.add(c.isSource(source))
	}
	if total > c.o.MaxBytes {
		c.reasons.add(tooLarge(items, total, c.o.MaxBytes))
	}
}

func tooLarge(items []*item, total, limit int64) *verdict.Refusal {
	files := slices.DeleteFunc(slices.Clone(items), func(it *item) bool { return it.kind != "file" })
	slices.SortStableFunc(files, func(a, b *item) int { return cmp.Compare(b.size, a.size) })
	var largest []string
	for _, f := range files[:min(3, len(files))] {
		largest = append(largest, fmt.Sprintf("%s (%s)", quote(f.path), size(f.size)))
	}
	return &verdict.Refusal{
		Reason: verdict.ArtifactTooLarge,
		Detail: fmt.Sprintf("the artifacts have %s, more than the limit of %s; the largest: %s", size(total), size(limit), strings.Join(largest, ", ")),
		Hints:  []string{`raise "artifacts" under "limits" in "validate", or name what the build makes more closely`},
	}
}

// lineNames is how many paths the line for the config may hold; more are no oversight but a wrong glob.
const lineNames = 10

func (c *collection) isSource(source []string) *verdict.Refusal {
	names := make([]string, len(source))
	for i, p := range source {
		names[i] = quote(p)
	}
	r := &verdict.Refusal{
		Reason: verdict.ArtifactIsSource,
		Detail: fmt.Sprintf("git tracks %d of the matches, so they are source and no artifact: %s", len(source), list(names)),
	}
	line := slices.Clone(c.o.AllowTracked)
	for _, p := range source {
		if !utf8.ValidString(p) {
			line = nil // no pattern in a JSON file can name it
			break
		}
		line = append(line, literal(p))
	}
	if len(source) > lineNames || line == nil {
		r.Hints = []string{`let "artifacts" name what the build makes and nothing else, like "dist/*"`}
		return r
	}
	b, err := json.Marshal(line)
	if err == nil {
		r.Hints = []string{`if they are what is shipped, write this under "validate" in .trkr/config.json: "allow_tracked": ` + string(b)}
	}
	return r
}

// literal is the pattern that matches exactly p.
func literal(p string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`).Replace(p)
}

// judgeLink follows a link the way the box's kernel would, through the set alone. One that stays in the set is kept,
// also where it points to nothing; one that leaves it, or that points to what the box will not have, is refused.
func (c *collection) judgeLink(it *item) {
	var at []string // directories of the set, from its root
	if dir := path.Dir(it.path); dir != "." {
		at = strings.Split(dir, "/")
	}
	for todo, hops := it.target, 0; todo != ""; {
		if strings.HasPrefix(todo, "/") {
			c.reasons.blame(escaping, it.path, "to "+quote(it.target))
			return
		}
		var name string
		name, todo, _ = strings.Cut(todo, "/")
		todo = strings.TrimLeft(todo, "/")
		switch name {
		case "", ".":
			continue
		case "..":
			if len(at) == 0 {
				c.reasons.blame(escaping, it.path, "to "+quote(it.target))
				return
			}
			at = at[:len(at)-1]
			continue
		}
		p := strings.Join(append(slices.Clone(at), name), "/")
		next := c.items[p]
		switch {
		case next == nil:
			if _, err := c.root.Lstat(p); err == nil {
				c.reasons.blame(outside, it.path, "to "+quote(p))
			}
			return
		case next.kind == "dir":
			at = append(at, name)
		case next.kind == "link":
			if hops++; hops > 40 {
				return // a circle leads nowhere
			}
			todo = strings.TrimRight(next.target, "/") + "/" + todo
		default:
			return
		}
	}
}
