package ticket

import (
	"cmp"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/pattern"
)

// numbered is an issue id as trackers count them, at the start of a name that goes on with a dash.
var numbered = pattern.Regexp(`^([0-9]+|[A-Za-z][A-Za-z0-9]*-[0-9]+)(-|$)`)

// IssueOfBranch is the issue that a branch belongs to by its name alone: what the branch holds must not choose whose
// contract it is judged by. template is as in Query. "trkr/7" and "trkr/7-fix-it" are of 7, "trkr/ABC-12-fix" of
// ABC-12, "trkr/login" of login. A name that may mean several issues, or none, is a usage fault.
func IssueOfBranch(template, branch string) (string, error) {
	fits := issuesOf(template, branch)
	hint := "name the issue: trkr-validate ISSUE"
	if len(fits) == 0 {
		return "", fault.Usagef("issue_unknown", []string{hint, "ticket.branch says what tickets' branches are called"},
			"the branch %q is no ticket's: those are called %q", branch, cmp.Or(template, DefaultBranchTemplate))
	}
	if len(fits) == 1 {
		return fits[0], nil
	}
	if m := numbered().FindStringSubmatch(fits[len(fits)-1]); m != nil {
		return m[1], nil
	}
	return "", fault.Usagef("issue_unknown", []string{hint}, "the branch %q may be that of issue %s", branch, strings.Join(fits, " or "))
}

// IsTicketBranch reports whether a branch is some ticket's by its name. template is as in Query.
func IsTicketBranch(template, branch string) bool { return len(issuesOf(template, branch)) > 0 }

// issuesOf are the issues that a branch may belong to by its name.
func issuesOf(template, branch string) (fits []string) {
	template = cmp.Or(template, DefaultBranchTemplate)
	from := strings.Index(template, "{issue}")
	for to := from + 1; from >= 0 && to <= len(branch); to++ {
		if !strings.HasPrefix(branch, template[:from]) {
			break
		}
		issue := branch[from:to]
		if id, err := ParseIssue(issue); err != nil || id != issue {
			continue
		}
		if name := expand(template, issue); branch == name || strings.HasPrefix(branch, name+"-") {
			fits = append(fits, issue)
		}
	}
	return fits
}
