package contract

// ErrNoSection says that an issue's body has no section "Validation contract". It is an *Error.
var ErrNoSection error = &Error{Problems: []Problem{{Text: `the issue has no section "Validation contract"`}}}

// ParseIssue reads the section "Validation contract" of an issue's body.
func ParseIssue(body []byte) (Contract, []Problem, error) {
	return Contract{}, nil, ErrNoSection
}
