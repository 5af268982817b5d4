//go:build linux && !cgo && (amd64 || arm64)

package gvisor

// prepareReexec has nothing to do: a static program can run itself again in any root.
func prepareReexec() error { return nil }

// loads has nothing to refuse: a static program is the init of any image.
func loads(string) error { return nil }
