package main

import "slices"

// exitCode is how the program ends. The codes are stable; callers treat one they do not know as a failure.
type exitCode int

// Exit codes. 2 stays free: it is a crashed Go program.
const (
	exitClear      exitCode = 0
	exitBlocking   exitCode = 1
	exitIncomplete exitCode = 3
	exitRefused    exitCode = 4
	exitUsage      exitCode = 5
	exitError      exitCode = 6
)

// worst decides about several tickets: what says that nothing is known weighs more than what says no. A code that
// is not in the list weighs most.
func worst(codes []exitCode) exitCode {
	order := []exitCode{exitClear, exitIncomplete, exitBlocking, exitRefused, exitUsage, exitError}
	result := exitClear
	for _, c := range codes {
		rank := slices.Index(order, c)
		if rank < 0 {
			return c
		}
		if rank > slices.Index(order, result) {
			result = c
		}
	}
	return result
}

// exitWith ends the program with a code when everything was said already.
type exitWith struct{ code exitCode }

func (exitWith) Error() string { return "exit" }
