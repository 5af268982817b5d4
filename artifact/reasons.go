package artifact

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/trkr-dev/trkr-validate/verdict"
)

// fault classes of single paths, each one refusal that names them all.
const (
	special    = "neither file, directory nor link"
	escaping   = "links that lead out of the artifacts"
	outside    = "links to something that no glob takes"
	unreadable = "not readable"
	changed    = "changed while they were read"
	foreign    = "programs for another platform"
	overlong   = "paths of more than 3072 bytes or 256 levels"
)

var classHints = map[string]string{
	special:    "a box gets files, directories and links only: let the globs leave them out",
	escaping:   "make the links relative and let them stay below the artifacts, or copy what they point to",
	outside:    "let a glob take what they point to as well, or copy it",
	unreadable: "let the build make them readable for whoever runs this",
	changed:    "something besides the build writes there: stop it and run again",
	overlong:   "shorten them: they cannot be opened below the folders of the box",
}

// classes in the order in which they are told.
var classes = []string{special, escaping, outside, overlong, unreadable, changed, foreign}

const namesShown = 20

// reasons gathers why a set cannot be sealed. Its methods may be called at the same time.
type reasons struct {
	mu    sync.Mutex
	whole []*verdict.Refusal  // about more than single paths
	paths map[string][]string // by class: path, or path and what is wrong with it
}

func (r *reasons) add(refusal *verdict.Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.whole = append(r.whole, refusal)
}

// blame says that a path belongs to a class. about may be empty.
func (r *reasons) blame(class, path, about string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.paths == nil {
		r.paths = map[string][]string{}
	}
	name := quote(path)
	if about != "" {
		name += " (" + about + ")"
	}
	r.paths[class] = append(r.paths[class], name)
}

func (r *reasons) unreadable(path string, err error) {
	if errors.Is(err, errChanged) {
		r.blame(changed, path, "")
		return
	}
	r.blame(unreadable, path, cause(err))
}

// any reports whether there is a reason.
func (r *reasons) any() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.whole) > 0 || len(r.paths) > 0
}

// refusals joins all reasons in a stable order; nil where there is none.
func (c *collection) refusals() error {
	r := &c.reasons
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, w := range r.whole {
		errs = append(errs, w)
	}
	for _, class := range classes {
		if names := r.paths[class]; len(names) > 0 {
			hint := classHints[class]
			if class == foreign {
				hint = fmt.Sprintf("the box is %s: build for it, or let the globs leave the others out", c.o.Platform)
			}
			errs = append(errs, &verdict.Refusal{Reason: verdict.ArtifactUnsafe, Detail: class + ": " + list(names), Hints: []string{hint}})
		}
	}
	return errors.Join(errs...)
}

// list sorts names and names as many as a person reads.
func list(names []string) string {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	if more := len(names) - namesShown; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:namesShown], ", "), more)
	}
	return strings.Join(names, ", ")
}

// quote writes a path for people: without control characters, and so that its ends can be seen.
func quote(path string) string { return `"` + EscapePath(path) + `"` }

// cause is what the system said, without the path that stands beside it anyway.
func cause(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// size writes a number of bytes for people.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}
