package ticket

import (
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

func TestIssueOfBranch(t *testing.T) {
	for _, c := range []struct{ template, branch, want string }{
		{"", "trkr/7", "7"},
		{"", "trkr/7-fix-it", "7"},
		{"", "trkr/7-2", "7"},
		{"", "trkr/ABC-12", "ABC-12"},
		{"", "trkr/abc-12-fix", "abc-12"},
		{"", "trkr/login", "login"},
		{"", "trkr/v1.2_x", "v1.2_x"},
		{"{issue}", "7", "7"},
		{"fix/{issue}/late", "fix/7/late", "7"},
		{"fix/{issue}/late", "fix/7/late-again", "7"},
		{"{issue}/{issue}", "7/7-x", "7"},
		{"t-{issue}-x", "t-7-x-x", "7"},
		{"", "main", ""},
		{"", "trkr/", ""},
		{"", "trkr/fix-login", ""},
		{"", "trkr/7/x", ""},
		{"", "xtrkr/7", ""},
		{"", "trkr/7;id", ""},
		{"", "trkr/a..b", ""},
		{"", "gh-readonly-queue/main/pr-7-abc", ""},
		{"fixed", "fixed", ""},
		{"{issue}/{issue}", "7/8", ""},
		{"", "", ""},
	} {
		got, err := IssueOfBranch(c.template, c.branch)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("IssueOfBranch(%q, %q) = %q, %v, want %q", c.template, c.branch, got, err, c.want)
		}
		if err != nil && (!fault.Of(err).Usage || !strings.Contains(err.Error(), c.branch)) {
			t.Errorf("%q: %v is no usage fault that names it", c.branch, err)
		}
	}
}
