package contract

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const spec = "VAL-1: one\nVAL-2: two\nVAL-A-3: three\n"

func TestCoverFindsEachKindOfGap(t *testing.T) {
	want, err := Parse([]byte(spec))
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		tickets []string
		gaps    []string
	}{
		"each once":              {[]string{"VAL-1: one\nVAL-2: two", "VAL-A-3: three"}, nil},
		"by name":                {[]string{"Completes: VAL-1, VAL-2 and `VAL-A-3`."}, nil},
		"decorated":              {[]string{"- **Completes:** VAL-1 VAL-2\n### completes: VAL-A-3"}, nil},
		"by an issue's section":  {[]string{"## Validation contract\n- VAL-1: one\n\n## Else\nCompletes: VAL-2, VAL-A-3"}, nil},
		"unclaimed":              {[]string{"Completes: VAL-1, VAL-2"}, []string{"unclaimed VAL-A-3"}},
		"no ticket":              {nil, []string{"unclaimed VAL-1", "unclaimed VAL-2", "unclaimed VAL-A-3"}},
		"twice":                  {[]string{"Completes: VAL-1, VAL-2, VAL-A-3", "VAL-1: one"}, []string{"claimed_twice VAL-1"}},
		"the same ticket twice":  {[]string{"Completes: VAL-1, VAL-1, VAL-2, VAL-A-3"}, nil},
		"contributing is not it": {[]string{"Completes: VAL-1, VAL-2\nContributes to: VAL-A-3", "Contributes to: VAL-A-3"}, []string{"unclaimed VAL-A-3"}},
		"contributing beside it": {[]string{"Completes: VAL-1, VAL-2, VAL-A-3", "Contributes to: VAL-A-3"}, nil},
		"both":                   {[]string{"Completes: VAL-1, VAL-2, VAL-A-3\nContributes to: VAL-1"}, []string{"contradicted VAL-1"}},
		"unknown":                {[]string{"Completes: VAL-1, VAL-2, VAL-A-3, VAL-9, VAL-9"}, []string{"unknown VAL-9"}},
		"unknown contribution":   {[]string{"Completes: VAL-1, VAL-2, VAL-A-3", "Contributes to: VAL-9"}, []string{"unknown VAL-9"}},
		"reworded":               {[]string{"VAL-1: one or so\nVAL-2: two\nVAL-A-3: three"}, []string{"reworded VAL-1"}},
		"in a comment":           {[]string{"Completes: VAL-1, VAL-2\n<!--\nCompletes: VAL-A-3\n-->"}, []string{"unclaimed VAL-A-3"}},
		"in a fence":             {[]string{"Completes: VAL-1, VAL-2\n```\nCompletes: VAL-A-3\n```"}, []string{"unclaimed VAL-A-3"}},
	} {
		var tickets []Ticket
		for i, text := range x.tickets {
			claims, problems := Claims([]byte(text))
			if len(problems) > 0 {
				t.Errorf("%s: %v", name, problems)
			}
			tickets = append(tickets, Ticket{Name: string(rune('a' + i)), Claims: claims})
		}
		var got []string
		for _, g := range Cover(want, tickets).Gaps {
			got = append(got, string(g.Code)+" "+g.ID)
		}
		if !slices.Equal(got, x.gaps) {
			t.Errorf("%s: %v, want %v", name, got, x.gaps)
		}
	}
}

func TestCoverSaysWhoCompletesWhat(t *testing.T) {
	s, err := Parse([]byte("VAL-1: one\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := Cover(s, []Ticket{{Name: "7", Claims: []Claim{{ID: "VAL-1"}}}, {Name: "8", Claims: []Claim{{ID: "VAL-1", Contributes: true}}}})
	want := Coverage{Assertions: []Covered{{Assertion: s.Assertions[0], Completed: []string{"7"}, Contributed: []string{"8"}}}}
	if !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

func TestClaimsThatCannotBeReadAreProblems(t *testing.T) {
	for text, line := range map[string]int{
		"x\nCompletes: VAL-1, everything":         2,
		"Completes:":                              1,
		"Completes: VAL-01":                       1,
		"## Validation contract\n\nVAL 1: broken": 3,
		"VAL-1: one\nVAL 2: two":                  2,
	} {
		if _, problems := Claims([]byte(text)); len(problems) != 1 || problems[0].Line != line {
			t.Errorf("%q: %v, want one in line %d", text, problems, line)
		}
	}
	if claims, problems := Claims([]byte("just prose that completes: nothing")); len(claims)+len(problems) > 0 {
		t.Errorf("%v %v", claims, problems)
	}
}
