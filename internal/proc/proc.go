// Package proc runs one shell command and leaves nothing of it behind.
package proc

// Dispatch turns this process into a supervisor where it was started as one; then it does not return. It must be the
// first thing that main, or TestMain of a package that runs commands, does.
func Dispatch() {}
