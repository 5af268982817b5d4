package probe

import (
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/verdict"
)

// Where the image is the product, its programs are what is judged, and none of them is a judge.
func TestImageThatIsTheProduct(t *testing.T) {
	for text, c := range map[string]struct {
		status verdict.Status
		why    string
	}{
		"`cat say hello` prints `hello`":               {verdict.Met, "ran /usr/bin/cat"},
		"`cat code xx` succeeds":                       {verdict.Unmet, "got 2"},
		"`tool say hello` prints `hello`":              {verdict.Met, "/validate/artifact/tool"},
		"`tool say hello | grep hello` succeeds":       {verdict.Unverified, "its own judge"},
		"`tool; true` succeeds":                        {verdict.Unverified, "its own judge"},
		"`env A=b cat say x` succeeds":                 {verdict.Unverified, "its own judge"},
		"`cat` creates nothing":                        {verdict.Blocked, "the image is the product"},
		"after `cat`, `tool say hello` prints `hello`": {verdict.Met, ""},
	} {
		b := box()
		b.Product = true
		report, err := New(Options{}).Validate(t.Context(), b, task(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := report.Criteria[0]; got.Status != c.status || !strings.Contains(got.Evidence, c.why) {
			t.Errorf("%s: %s because %q, want %s because %q", text, got.Status, got.Evidence, c.status, c.why)
		}
	}
}
