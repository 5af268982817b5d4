// Package fault carries what a person needs to know of a failure that is not the product's: a stable code, whether
// the caller or the environment has to change something, and what to do next.
package fault

import (
	"errors"
	"fmt"
)

// Error is a failure of the call (Usage) or of the environment. It is never a statement about the product.
type Error struct {
	Code  string   // stable, snake_case: "no_repository", "busy", "image_not_found"
	Usage bool     // true: the call or the config is wrong (exit 5); false: the environment is (exit 6)
	Hints []string // what to do next, one sentence each, without the word "hint"
	Err   error    // what happened
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Env reports that the environment failed: engine, image, disk, git. err must not be nil.
func Env(code string, err error, hints ...string) error {
	return &Error{Code: code, Err: err, Hints: hints}
}

// Usage reports that the call or the configuration is wrong. err must not be nil.
func Usage(code string, err error, hints ...string) error {
	return &Error{Code: code, Usage: true, Err: err, Hints: hints}
}

// Envf is Env with a formatted message; %w wraps.
func Envf(code string, hints []string, format string, args ...any) error {
	return Env(code, fmt.Errorf(format, args...), hints...)
}

// Usagef is Usage with a formatted message; %w wraps.
func Usagef(code string, hints []string, format string, args ...any) error {
	return Usage(code, fmt.Errorf(format, args...), hints...)
}

// Of finds the Error in err's chain. An error that has none is an unexpected failure of the environment: code
// "internal", no hints, the whole text kept. Of(nil) is nil.
func Of(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return &Error{Code: e.Code, Usage: e.Usage, Hints: e.Hints, Err: err}
	}
	return &Error{Code: "internal", Err: err}
}
