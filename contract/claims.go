package contract

import (
	"errors"
	"slices"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/pattern"
)

// Claim is what one ticket says that it completes, or only contributes to.
type Claim struct {
	Line        int
	ID          string
	Text        string // as the ticket's own contract words it; empty where only the id is named
	Contributes bool   // something is still missing when the ticket is done
}

var (
	claimLine = pattern.Regexp(`(?i)^[ \t]*(?:[-*+][ \t]+|#{1,6}[ \t]+)?(?:\[[ x]\][ \t]+)?[*_]*(completes|contributes to)[*_]*:[*_]*[ \t]*(.*)$`)
	claimGap  = pattern.Regexp(`(?i)[\s,;]+(?:and\b[\s,;]*)?`)
	wholeID   = pattern.Regexp(`^` + idPattern + `$`)
)

// Claims reads which assertions a ticket is about: those of the contract in its text (contract.md, or an issue with the
// section "Validation contract") and what lines like "Completes: VAL-1, VAL-3" and "Contributes to: VAL-2" outside of
// that section name. A ticket may claim nothing. The problems are those of a contract that cannot be read, and lines
// that name something else than ids.
func Claims(text []byte) ([]Claim, []Problem) {
	c, err := Parse(text)
	if err == nil {
		return own(c), nil
	}
	claims, problems := claimsOfIssue(text)
	if len(claims)+len(problems) > 0 || !slices.ContainsFunc(splitLines(text), func(l line) bool { return startsAlmost(l.text) }) {
		return claims, problems
	}
	return nil, Lint(text).Problems // a contract.md that is broken, and not a ticket that claims nothing
}

func own(c Contract) []Claim {
	claims := make([]Claim, len(c.Assertions))
	for i, a := range c.Assertions {
		claims[i] = Claim{Line: a.Line, ID: a.ID, Text: a.Text}
	}
	return claims
}

func claimsOfIssue(text []byte) ([]Claim, []Problem) {
	var b builder
	c, _, err := ParseIssue(text)
	if wrong, ok := errors.AsType[*Error](err); ok && !errors.Is(err, ErrNoSection) {
		return nil, wrong.Problems
	}
	claims := own(c)
	var code fence
	comment := false
	for _, l := range splitLines(text) {
		if !comment && code.step(l.text) || code.open() {
			continue
		}
		l.text, comment = strip(l.text, comment)
		m := claimLine().FindStringSubmatch(l.text)
		if m == nil {
			continue
		}
		for name := range strings.SplitSeq(claimGap().ReplaceAllString(strings.TrimSpace(m[2]), " "), " ") {
			id := strings.Trim(name, "`*_.")
			if !wholeID().MatchString(id) {
				b.problem(l.n, "%s is no id of an assertion: write %s: VAL-1, VAL-2", shown(name), m[1])
				continue
			}
			claims = append(claims, Claim{Line: l.n, ID: id, Contributes: strings.EqualFold(m[1], "contributes to")})
		}
	}
	return claims, bounded(b.problems)
}
