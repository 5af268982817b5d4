package contract

import "errors"

// Review is all that can be said about the text of a contract.
type Review struct {
	Contract Contract  // valid only where there are no problems
	Problems []Problem // each makes the contract invalid
	Warnings []Problem // lines of an issue that are passed over
	Hints    []Hint    // about the assertions that could be read, also of an invalid contract
}

// Hint says why an assertion may be hard to check. It is advice: a contract with hints is valid.
type Hint struct {
	Line int
	ID   string // of the assertion
	Code HintCode
	Text string
}

// HintCode names a kind of hint. The names are stable.
type HintCode string

// What makes an assertion hard to check for somebody who has the built artifact and nothing else.
const (
	NotCheckable      HintCode = "not_checkable"      // it is about the code or its making
	NamesSource       HintCode = "names_source"       // it names files that are not in the box
	TwoAssertions     HintCode = "two_assertions"     // a half that fails hides the other
	Vague             HintCode = "vague"              // two people would judge it differently
	NothingObservable HintCode = "nothing_observable" // it does not say what would be seen
)

// Lint reviews contract.md.
func Lint(data []byte) Review {
	b := parse(data)
	c, err := b.finish()
	return review(b, c, err)
}

// LintIssue reviews the section of an issue's body.
func LintIssue(body []byte) Review {
	s, c, err := parseIssue(body)
	return review(&s.builder, c, err)
}

func review(b *builder, c Contract, err error) Review {
	r := Review{Contract: c, Warnings: bounded(b.warnings)}
	if wrong, ok := errors.AsType[*Error](err); ok {
		r.Problems = wrong.Problems
	}
	for _, a := range b.assertions {
		r.Hints = append(r.Hints, hints(a)...)
	}
	return r
}
