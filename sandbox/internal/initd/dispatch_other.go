//go:build !linux

package initd

// Dispatch is shim.Dispatch: boxes hold Linux alone.
func Dispatch() {}
