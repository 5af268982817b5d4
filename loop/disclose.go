package loop

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/trkr-dev/trkr-validate/contract"
	"github.com/trkr-dev/trkr-validate/internal/pattern"
	"github.com/trkr-dev/trkr-validate/ticket"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// Handed is what came of checking a handoff.
type Handed struct {
	Present  bool               // there is one
	Problems []contract.Problem // what keeps it from being one
	Findings []Finding          // what it does not disclose, and the issues that it does
}

// OK reports whether the handoff can be taken: it is one, and it leaves nothing undisclosed. Issues that it discloses
// itself do not count against it.
func (h Handed) OK() bool {
	return h.Present && len(h.Problems) == 0 && !slices.ContainsFunc(h.Findings, func(f Finding) bool { return f.Source == FromHandoff })
}

// CheckHandoff reads the handoff that is committed in the ticket's folder and compares it with the contract and with
// what the branch changes. The error is the environment's.
func CheckHandoff(ctx context.Context, repo *ticket.Repo, t *ticket.Ticket, c contract.Contract) (Handed, error) {
	name := path.Join(t.Dir, ticket.HandoffName)
	data, err := repo.File(ctx, t.Commit, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Handed{Problems: []contract.Problem{{Text: name + " is not committed on the ticket's branch"}}}, nil
	case errors.Is(err, ticket.ErrNotRegular):
		return Handed{Present: true, Problems: []contract.Problem{{Text: err.Error()}}}, nil
	case err != nil:
		return Handed{}, err
	}
	diff, err := repo.Diff(ctx, t)
	if err != nil {
		return Handed{}, err
	}
	h, problems := ParseHandoff(data, c)
	return Handed{Present: true, Problems: problems, Findings: h.Disclosed(c, diff)}, nil
}

// maxFiles is how many files are named one by one that a handoff does not mention.
const maxFiles = 50

// Disclosed compares the handoff with the contract and with what the branch changes. Every gap is a BLOCKING finding;
// the issues that the implementer discovered follow.
func (h Handoff) Disclosed(c contract.Contract, d ticket.Diff) []Finding {
	all := []Finding{}
	said := map[string]bool{}
	for _, it := range slices.Concat(h.Implemented, h.Undone) {
		for _, id := range it.IDs {
			said[id] = true
		}
	}
	for _, a := range c.Assertions {
		if !said[a.ID] {
			all = append(all, blocking(FromHandoff, ticket.HandoffName, a.ID+" is neither implemented nor left undone", a.ID))
		}
	}
	all = append(all, h.unmentioned(d)...)
	all = append(all, h.unchanged(d)...)
	for _, cmd := range h.Commands {
		if cmd.Exit != 0 && cmd.Why == "" {
			all = append(all, blocking(FromHandoff, at(cmd.Line), fmt.Sprintf("`%s` ended with %d and nothing explains it", cmd.Text, cmd.Exit)))
		}
	}
	for _, is := range h.Issues {
		f := verdict.Finding{Severity: is.Severity, Place: is.Place, Text: is.Text}
		if f.Place == "" {
			f.Place = at(is.Line)
		}
		for _, id := range anID().FindAllString(is.Text, 64) {
			if _, ok := c.Lookup(id); ok && !slices.Contains(f.Criteria, id) {
				f.Criteria = append(f.Criteria, id)
			}
		}
		all = append(all, Typed(f, FromImplementer))
	}
	return once(all)
}

// once leaves out what is there already, by its id.
func once(all []Finding) []Finding {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(f Finding) bool {
		again := seen[f.ID]
		seen[f.ID] = true
		return again
	})
}

var anID = pattern.Regexp(`\bVAL-(?:[A-Z][A-Z0-9]{0,15}-[0-9]{1,6}|[1-9][0-9]{0,5})\b`)

func at(line int) string { return fmt.Sprintf("%s:%d", ticket.HandoffName, line) }

// unmentioned finds the files that changed and that no item names, by themselves or by a folder that ends in a slash.
func (h Handoff) unmentioned(d ticket.Diff) []Finding {
	named := map[string]bool{}
	for _, it := range slices.Concat(h.Implemented, h.Undone) {
		for _, word := range words(it.Text) {
			named[word] = true
		}
	}
	var missing []string
	for _, file := range d.Changed {
		mentioned := named[file]
		for dir := path.Dir(file); dir != "." && !mentioned; dir = path.Dir(dir) {
			mentioned = named[dir+"/"]
		}
		if !mentioned {
			missing = append(missing, file)
		}
	}
	var all []Finding
	for _, file := range missing[:min(len(missing), maxFiles)] {
		all = append(all, blocking(FromHandoff, file, "changed, and the handoff does not mention it"))
	}
	if len(missing) > maxFiles {
		all = append(all, blocking(FromHandoff, ticket.HandoffName, "still more files changed than the handoff mentions"))
	}
	return all
}

// unchanged finds the files that an item of Implemented names in backticks and that did not change.
func (h Handoff) unchanged(d ticket.Diff) []Finding {
	var all []Finding
	for _, it := range h.Implemented {
		for _, span := range spans(it.Text) {
			name := fileOf(span)
			if !d.Holds(strings.TrimSuffix(name, "/")) && !looksLikePath(name) {
				continue
			}
			changed := slices.ContainsFunc(d.Changed, func(c string) bool {
				return c == name || strings.HasPrefix(c, strings.TrimSuffix(name, "/")+"/")
			})
			if !changed {
				all = append(all, blocking(FromHandoff, at(it.Line), fmt.Sprintf("`%s` is named among what was implemented and did not change", name), it.IDs...))
			}
		}
	}
	return all
}

var pathLike = pattern.Regexp(`^[A-Za-z0-9_.@+][^\s:*?$<>|"'{}()=,;]*/[^\s/:*?$<>|"'{}()=,;]*\.[A-Za-z0-9]+$`)

// looksLikePath reports whether a name can only be meant as a file of the repository.
func looksLikePath(name string) bool {
	return pathLike().MatchString(name) && path.Clean(name) == name && !strings.HasPrefix(name, "../")
}

// spans are the texts in backticks.
func spans(s string) []string {
	var all []string
	for {
		i := strings.IndexByte(s, '`')
		if i < 0 {
			return all
		}
		inside, rest, ok := codeSpan(s[i:])
		if !ok {
			return all
		}
		all = append(all, inside)
		s = rest
	}
}

// words are what a text may name files with: spans in backticks, and words without what punctuation does to them.
func words(s string) []string {
	all := []string{}
	for _, span := range spans(s) {
		all = append(all, fileOf(span))
	}
	for _, w := range strings.Fields(s) {
		all = append(all, fileOf(strings.TrimRight(strings.Trim(w, "`\"'()[]{}<>*,;:!?"), ".")))
	}
	return all
}

// fileOf takes a leading ./ and line numbers off a name.
func fileOf(name string) string {
	if m := numbered().FindStringSubmatch(name); m != nil {
		name = m[1]
	}
	return strings.TrimPrefix(name, "./")
}

// Blocking tells what keeps the handoff from being one as findings that block.
func (h Handed) Blocking() []Finding {
	var all []Finding
	for _, p := range h.Problems {
		place := ticket.HandoffName
		if p.Line > 0 {
			place = at(p.Line)
		}
		all = append(all, blocking(FromHandoff, place, p.Text))
	}
	return once(all)
}
