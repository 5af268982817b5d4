package ticket

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trkr-dev/trkr-validate/verdict"
)

// search looks for the branch of one issue.
type search struct {
	issue    string
	refs     []ref
	branch   string // named outright, else by template
	template string
}

// run looks for the branch here and then on the remotes, each time for the exact name and then for the only one that
// goes on with a dash.
func (s search) run() (ref, *verdict.Refusal) {
	name := s.branch
	if name == "" {
		name = expand(s.template, s.issue)
	}
	exact := func(b ref) bool { return b.short == name }
	longer := func(b ref) bool { return strings.HasPrefix(b.short, name+"-") }
	steps := []func(ref) bool{exact, longer}
	if s.branch != "" {
		steps = steps[:1]
	}
	for _, remote := range []bool{false, true} {
		for _, match := range steps {
			found := s.matching(func(b ref) bool { return (b.remote != "") == remote && match(b) })
			if len(found) == 1 || len(found) > 1 && same(found) {
				return found[0], nil
			}
			if len(found) > 1 {
				return ref{}, &verdict.Refusal{Reason: verdict.BranchAmbiguous,
					Detail: fmt.Sprintf("issue %s has %d branches: %s", s.issue, len(found), list(found)),
					Hints:  []string{"name one with --branch"}}
			}
		}
	}
	return ref{}, s.missing(name)
}

func (s search) matching(match func(ref) bool) []ref {
	var found []ref
	for _, b := range s.refs {
		if match(b) {
			found = append(found, b)
		}
	}
	// The remote that people have in mind first.
	slices.SortStableFunc(found, func(a, b ref) int {
		switch {
		case a.remote == b.remote:
			return 0
		case a.remote == "origin":
			return -1
		case b.remote == "origin":
			return 1
		}
		return 0
	})
	return found
}

// same reports whether all are one branch that several remotes hold at the same commit.
func same(found []ref) bool {
	return !slices.ContainsFunc(found, func(b ref) bool { return b.short != found[0].short || b.commit != found[0].commit })
}

func list(found []ref) string {
	names := make([]string, len(found))
	for i, b := range found {
		names[i] = b.String()
	}
	return strings.Join(names, ", ")
}

func (s search) missing(name string) *verdict.Refusal {
	looked := fmt.Sprintf("%q", name)
	if s.branch == "" {
		looked += fmt.Sprintf(" and %q", name+"-*")
	}
	r := &verdict.Refusal{Reason: verdict.TicketNotFound,
		Detail: fmt.Sprintf("issue %s has no branch: looked for %s among the local branches and the remotes'", s.issue, looked)}
	if near := s.near(name); len(near) > 0 {
		r.Detail += "; near it: " + list(near)
		r.Hints = append(r.Hints, "name the branch with --branch")
	}
	r.Hints = append(r.Hints, "fetch if it was made elsewhere, or make it: git branch "+name, "--ref REV judges any commit")
	return r
}

// near picks at most five branches that might have been meant: first those that hold the issue's id as a word, then
// those in the same folder.
func (s search) near(name string) []ref {
	const most = 5
	folder := name[:strings.LastIndexByte(name, '/')+1]
	words := s.matching(func(b ref) bool { return b.symbol == "" && holdsWord(b.short, s.issue) })
	rest := s.matching(func(b ref) bool {
		return b.symbol == "" && folder != "" && strings.HasPrefix(b.short, folder) && !slices.Contains(words, b)
	})
	near := append(words, rest...)
	return near[:min(len(near), most)]
}

// holdsWord reports whether text holds word, any case, with no letter or digit on either side.
func holdsWord(text, word string) bool {
	text, word = strings.ToLower(text), strings.ToLower(word)
	alnum := func(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' }
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(word)
		if (start == 0 || !alnum(text[start-1])) && (end == len(text) || !alnum(text[end])) {
			return true
		}
		from = start + 1
	}
}
