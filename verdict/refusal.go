package verdict

import "errors"

// Refusals gathers every refusal in err's tree, in order; nil where there is none.
func Refusals(err error) []Refusal {
	switch e := err.(type) { //nolint:errorlint // this walks the tree itself
	case nil:
		return nil
	case *Refusal:
		return []Refusal{*e}
	case interface{ Unwrap() []error }:
		var all []Refusal
		for _, one := range e.Unwrap() {
			all = append(all, Refusals(one)...)
		}
		return all
	default:
		return Refusals(errors.Unwrap(err))
	}
}

// IsRefusal reports whether err is refusals and nothing else; anything else in its tree is the environment's.
func IsRefusal(err error) bool {
	switch e := err.(type) { //nolint:errorlint // likewise
	case nil:
		return false
	case *Refusal:
		return true
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if !IsRefusal(one) {
				return false
			}
		}
		return true
	default:
		return IsRefusal(errors.Unwrap(err))
	}
}
