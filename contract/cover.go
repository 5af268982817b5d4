package contract

import (
	"fmt"
	"slices"
	"strings"
)

// Ticket is one ticket of several that together are to bring about what a specification asserts.
type Ticket struct {
	Name   string
	Claims []Claim
}

// Coverage says who completes each assertion of a specification.
type Coverage struct {
	Assertions []Covered // in the specification's order
	Gaps       []Gap     // empty: each assertion is completed by exactly one ticket
}

// Covered is one assertion and the tickets that complete it, and that only contribute to it.
type Covered struct {
	Assertion
	Completed   []string
	Contributed []string
}

// GapCode names a kind of Gap. The names are stable.
type GapCode string

// What is wrong with a division into tickets.
const (
	Unclaimed    GapCode = "unclaimed"     // nobody would notice that it is missing
	ClaimedTwice GapCode = "claimed_twice" // each of them can leave it to the other
	Unknown      GapCode = "unknown"       // the specification does not ask for it
	Reworded     GapCode = "reworded"      // the ticket would be judged by something else
	Contradicted GapCode = "contradicted"  // one ticket says both
)

// Gap is one thing that is wrong.
type Gap struct {
	Code    GapCode
	ID      string
	Tickets []string
	Text    string
}

// Cover compares a specification with the tickets that it was divided into. Contributing is not completing: an assertion
// that several tickets only contribute to is claimed by none.
func Cover(spec Contract, tickets []Ticket) Coverage {
	var c Coverage
	gap := func(code GapCode, id string, of []string, format string, args ...any) {
		c.Gaps = append(c.Gaps, Gap{Code: code, ID: id, Tickets: of, Text: fmt.Sprintf(format, args...)})
	}
	for _, a := range spec.Assertions {
		one := Covered{Assertion: a}
		for _, t := range tickets {
			var completes, contributes bool
			for _, claim := range t.Claims {
				if claim.ID != a.ID {
					continue
				}
				completes, contributes = completes || !claim.Contributes, contributes || claim.Contributes
				if claim.Text != "" && claim.Text != a.Text {
					gap(Reworded, a.ID, []string{t.Name}, "%s words %s otherwise: %q, not %q", t.Name, a.ID, claim.Text, a.Text)
				}
			}
			switch {
			case completes && contributes:
				gap(Contradicted, a.ID, []string{t.Name}, "%s says both that it completes %s and that it contributes to it", t.Name, a.ID)
				one.Completed = append(one.Completed, t.Name)
			case completes:
				one.Completed = append(one.Completed, t.Name)
			case contributes:
				one.Contributed = append(one.Contributed, t.Name)
			}
		}
		switch {
		case len(one.Completed) > 1:
			gap(ClaimedTwice, a.ID, one.Completed, "%s is completed by more than one ticket: %s", a.ID, strings.Join(one.Completed, ", "))
		case len(one.Completed) == 0 && len(one.Contributed) > 0:
			gap(Unclaimed, a.ID, one.Contributed, "%s is completed by no ticket; %s only contribute to it", a.ID, strings.Join(one.Contributed, ", "))
		case len(one.Completed) == 0:
			gap(Unclaimed, a.ID, nil, "%s is completed by no ticket", a.ID)
		}
		c.Assertions = append(c.Assertions, one)
	}
	for _, t := range tickets {
		var told []string
		for _, claim := range t.Claims {
			if _, ok := spec.Lookup(claim.ID); !ok && !slices.Contains(told, claim.ID) {
				told = append(told, claim.ID)
				gap(Unknown, claim.ID, []string{t.Name}, "%s claims %s, which the specification does not have", t.Name, claim.ID)
			}
		}
	}
	return c
}
