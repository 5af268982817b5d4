package ticket

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// HandoffName is the file in a ticket's folder in which an implementer hands the work over.
const HandoffName = "implementation.md"

// Diff is what a ticket's commit changes, seen from where its history leaves the default branch. Paths are relative,
// with slashes, sorted; a file that was moved is there under both names. The ticket's own documents are left out.
type Diff struct {
	Changed []string
	held    map[string]bool
}

// Holds reports whether the ticket's commit has a file or a folder of that name.
func (d Diff) Holds(name string) bool { return d.held[name] }

// NewDiff makes a Diff of lists, for those who compare with one.
func NewDiff(changed, held []string) Diff {
	d := Diff{Changed: slices.Sorted(slices.Values(changed)), held: map[string]bool{}}
	for _, name := range held {
		for ; name != "." && !d.held[name]; name = path.Dir(name) {
			d.held[name] = true
		}
	}
	return d
}

// Diff compares the ticket's commit with the merge base. Where history to find that is missing, it is a fault.
func (r *Repo) Diff(ctx context.Context, t *Ticket) (Diff, error) {
	if len(t.tips) == 0 {
		return Diff{}, noBase(t.base)
	}
	base, err := r.git.line(ctx, call{at: r.shared(), args: append([]string{"merge-base", t.Commit}, t.tips...)})
	if exited(err, 1) {
		if err := r.whole(ctx); err != nil {
			return Diff{}, err
		}
		return Diff{}, fault.Envf(codeBase, nameBase, "%s and the default branch %q have no history in common", short(t.Commit), t.base)
	} else if err != nil {
		return Diff{}, fmt.Errorf("looking for where %s leaves the default branch: %w", short(t.Commit), err)
	}
	out, err := r.git.output(ctx, call{at: r.shared(), args: []string{
		"diff-tree", "-r", "-z", "--name-only", "--no-renames", "--ignore-submodules=none", base, t.Commit,
	}})
	if err != nil {
		return Diff{}, fmt.Errorf("comparing %s with %s: %w", short(t.Commit), short(base), partial(err))
	}
	changed := strings.FieldsFunc(string(out), func(c rune) bool { return c == 0 })
	changed = slices.DeleteFunc(changed, func(p string) bool {
		dir, name := path.Split(p)
		return dir == t.Dir+"/" && (name == HandoffName || slices.Contains(StageDocuments, name))
	})
	held, err := r.held(ctx, t)
	if err != nil {
		return Diff{}, err
	}
	names := make([]string, len(held.entries))
	for i, e := range held.entries {
		names[i] = e.name
	}
	return NewDiff(changed, names), nil
}

// Tree is the tree of the ticket's commit without validation.md, as Resolve gives it; for what Locate found.
func (r *Repo) Tree(ctx context.Context, t *Ticket) (string, error) {
	file := path.Join(t.Dir, RecordName)
	trees, err := r.chain(ctx, t.Commit, file)
	if err != nil {
		return "", err
	}
	return trees.without(file)
}
