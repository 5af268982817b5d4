package ticket

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// trunk finds the default branch and its commits; both are empty where there is none.
func (r *Repo) trunk(all []ref, given string) (name string, tips []string, err error) {
	if name, err = defaultBranch(all, given, r.bare); err != nil {
		return "", nil, err
	}
	return name, tipsOf(all, name, given), nil
}

// defaultBranch is the short name of the branch that no record is ever committed to: given where somebody names it, else
// where origin/HEAD points, in a bare repository where its own HEAD does, else the local main or master. Empty where
// there is nothing of all that. Where there are both, or only a remote has one, it is a fault: whoever may push a branch
// may push one of that name.
func defaultBranch(all []ref, given string, bare bool) (string, error) {
	if given != "" {
		return givenBranch(all, given)
	}
	for _, b := range all {
		if to, ok := strings.CutPrefix(b.symbol, remotes+"origin/"); ok && b.full == remotes+"origin/HEAD" {
			return to, nil
		}
	}
	if i := slices.IndexFunc(all, func(b ref) bool { return bare && b.head }); i >= 0 {
		return all[i].short, nil
	}
	var here []string
	var candidates []ref
	for _, b := range all {
		if b.short != "main" && b.short != "master" {
			continue
		}
		candidates = append(candidates, b)
		if b.remote == "" {
			here = append(here, b.short)
		}
	}
	switch {
	case len(candidates) == 0:
		return "", nil
	case len(here) == 1 && !slices.ContainsFunc(candidates, func(b ref) bool { return b.short != here[0] }):
		return here[0], nil
	}
	return "", fault.Envf(codeBase, nameBase, "nothing tells which branch is the default one, and the name alone does not: there is %s", list(candidates))
}

// nameBase is what to do where nothing names the default branch.
var nameBase = []string{"take the remote's word: git remote set-head origin -a", "or name it from outside: TRKR_VALIDATE_TICKET_BASE=main"}

// givenBranch is the short name of the branch that somebody named: main, origin/main, or either in full.
func givenBranch(all []ref, given string) (string, error) {
	if short, ok := strings.CutPrefix(given, heads); ok {
		return short, nil
	}
	var here, there *ref
	for i, b := range all {
		switch {
		case b.remote == "" && b.short == given:
			here = &all[i]
		case b.remote != "" && (b.String() == given || b.full == given):
			there = &all[i]
		}
	}
	switch {
	case there == nil:
		return given, nil
	case here != nil && here.commit != there.commit:
		return "", ambiguous(given, []string{here.full, there.full})
	}
	return there.short, nil
}

// tipsOf are the commits of the default branch that defaultBranch found for given: the local branch's and origin's, or
// those of the remote that given names. Another remote counts only where there is no origin, neither has the branch and
// it is the only one that does: anybody's fork may be a remote here.
func tipsOf(all []ref, base, given string) []string {
	remote := "origin"
	if name, ok := strings.CutSuffix(strings.TrimPrefix(given, remotes), "/"+base); ok && slices.ContainsFunc(all, func(b ref) bool { return b.remote == name }) {
		remote = name
	}
	var tips, elsewhere []string
	for _, b := range all {
		switch {
		case base == "" || b.short != base:
		case b.remote == "" || b.remote == remote:
			tips = append(tips, b.commit)
		default:
			elsewhere = append(elsewhere, b.commit)
		}
	}
	if len(tips) == 0 && len(elsewhere) == 1 && !slices.ContainsFunc(all, func(b ref) bool { return b.remote == "origin" }) {
		return elsewhere
	}
	return tips
}

// notItsOwn makes sure that a default branch that was found out is not the ticket's own branch: a clone of a checkout
// takes for the default one what was checked out there.
func notItsOwn(name string, q Query) error {
	if q.Base != "" || q.Issue == "" || name == "" {
		return nil
	}
	own := expand(cmp.Or(q.BranchTemplate, DefaultBranchTemplate), q.Issue)
	if name != own && !strings.HasPrefix(name, own+"-") && name != strings.TrimPrefix(q.Branch, heads) {
		return nil
	}
	return fault.Env(codeBase, fmt.Errorf("%q is taken for the default branch here, and is issue %s's own", name, q.Issue),
		"say which branch is the default one (a clone of a checkout takes what was checked out there): git remote set-head origin BRANCH, in a bare repository git symbolic-ref HEAD refs/heads/BRANCH",
		"or name it from outside: TRKR_VALIDATE_TICKET_BASE=BRANCH")
}
