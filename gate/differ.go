package gate

import (
	"fmt"
	"strings"

	"github.com/trkr-dev/trkr-validate/artifact"
	"github.com/trkr-dev/trkr-validate/contract"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// outcome refuses one that the record itself does not bear out.
func (g *judge) outcome() {
	r := g.record
	if computed := r.Computed(); r.Outcome != computed {
		g.refuse(verdict.RecordContradicts, "its outcome is %q, and what it says of criteria, findings and diagnostics amounts to %q", r.Outcome, computed)
	}
	if r.ExitCode != r.Outcome.ExitCode() {
		g.refuse(verdict.RecordContradicts, "its exit code is %d, and that of %q is %d", r.ExitCode, r.Outcome, r.Outcome.ExitCode())
	}
}

// run refuses a record that no run writes.
func (g *judge) run() {
	r := g.record
	if len(r.Refusals) > 0 {
		g.refuse(verdict.RecordContradicts, "it holds a refusal: %s", r.Refusals[0].Error())
	}
	if is := artifact.Digest(r.Subject.Manifest); is != r.Subject.ManifestDigest {
		g.refuse(verdict.RecordContradicts, "its manifest has the digest %q, not %q", is, r.Subject.ManifestDigest)
	}
	if len(r.Subject.Manifest) == 0 {
		g.refuse(verdict.RecordContradicts, "it is about no artifact")
	}
	for _, c := range r.Criteria {
		if c.Status == verdict.Met && (strings.TrimSpace(c.Evidence) == "" || !judgedBy(r, c.By)) {
			g.refuse(verdict.RecordContradicts, "%s is met without evidence, or by %q, who is none of its agents", c.ID, c.By)
		}
	}
}

func judgedBy(r verdict.Record, name string) bool {
	for _, a := range r.Agents {
		if a.Name == name {
			return true
		}
	}
	return false
}

// firstDifference names the first line in which two texts differ, from 1.
func firstDifference(is, want []byte) (n int, a, b string, same bool) {
	x, y := strings.Split(string(is), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(x), len(y)) {
		a, b := at(x, i), at(y, i)
		if a != b || i >= len(x) || i >= len(y) {
			return i + 1, cut(a), cut(b), false
		}
	}
	return 0, "", "", true
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

// cut keeps a line that somebody wrote from filling a screen.
func cut(s string) string {
	if r := []rune(s); len(r) > 120 {
		return string(r[:120]) + "…"
	}
	return s
}

// criteriaDiffer tells assertion by assertion how what was judged is not what the contract asserts.
func criteriaDiffer(c contract.Contract, judged []verdict.Criterion) []string {
	var out []string
	seen := map[string]bool{}
	for _, j := range judged {
		a, ok := c.Lookup(j.ID)
		switch {
		case seen[j.ID]:
			out = append(out, fmt.Sprintf("it judges %s twice", j.ID))
		case !ok:
			out = append(out, fmt.Sprintf("it judges %s, which the contract does not have: %q", j.ID, j.Text))
		case a.Text != j.Text:
			out = append(out, fmt.Sprintf("it judges %s as %q, and the contract says %q", j.ID, j.Text, a.Text))
		}
		seen[j.ID] = true
	}
	for _, a := range c.Assertions {
		if !seen[a.ID] {
			out = append(out, fmt.Sprintf("it does not judge %s: %q", a.ID, a.Text))
		}
	}
	return out
}

// manifestsDiffer names the first paths in which two artifact sets differ.
func manifestsDiffer(was, now []verdict.Entry) string {
	const most = 10
	var out []string
	before := map[string]verdict.Entry{}
	for _, e := range was {
		before[e.Path] = e
	}
	for _, e := range now {
		b, ok := before[e.Path]
		delete(before, e.Path)
		switch {
		case !ok:
			out = append(out, fmt.Sprintf("%q is new", e.Path))
		case b != e:
			out = append(out, fmt.Sprintf("%q is another one", e.Path))
		}
	}
	for _, e := range was {
		if _, gone := before[e.Path]; gone {
			out = append(out, fmt.Sprintf("%q is not made", e.Path))
		}
	}
	if more := len(out) - most; more > 0 {
		out = append(out[:most:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, ", ")
}
