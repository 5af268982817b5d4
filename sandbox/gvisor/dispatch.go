//go:build linux && (amd64 || arm64)

package gvisor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gvisor.dev/gvisor/runsc/cli"
	"gvisor.dev/gvisor/runsc/cmd"
	"gvisor.dev/gvisor/runsc/cmd/sentry/sentrycmd"
	"gvisor.dev/gvisor/runsc/cmd/util"
)

const (
	// fdPath begins argv[0] where a dynamically linked program runs itself again in an empty root (see reexec_cgo.go).
	fdPath = "/proc/self/fd/"
	// runtimeName begins argv[0] of every process that gVisor starts by itself, and is that of the one we start.
	runtimeName = "runsc"
	// selfExe is argv[0] where gVisor runs itself again: as root of a user namespace, and to unmount /proc.
	selfExe = "/proc/self/exe"
	// rootFlag is the first argument of the runtime process that we start.
	rootFlag = "--root="
)

// Dispatch runs gVisor's runtime and never returns if this process was started as one; otherwise it does nothing.
func Dispatch() {
	if !isRuntime(os.Args) {
		return
	}
	if err := prepareReexec(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1) //nolint:forbidigo // gVisor's process is a program of its own, and this is its main
	}
	showMemory(os.Args)
	cli.Run(nil, map[util.SubCommand]string{
		new(cmd.Run):          "",
		new(cmd.Gofer):        "",
		new(sentrycmd.Boot):   "",
		new(sentrycmd.Umount): "",
	}, nil)
}

// isRuntime recognises all ways in which gVisor's processes are started.
func isRuntime(argv []string) bool {
	if len(argv) < 2 {
		return false
	}
	if strings.HasPrefix(argv[0], fdPath) {
		return strings.HasPrefix(argv[1], fdPath)
	}
	if argv[0] == selfExe {
		return strings.HasPrefix(argv[1], rootFlag) || argv[1] == new(sentrycmd.Umount).Name()
	}
	return strings.HasPrefix(filepath.Base(argv[0]), runtimeName)
}

// showMemory makes a box that is about to boot show its limit as the machine's memory. Programs measure their heaps by
// that; gVisor would show the host's, because the limit is not a control group's.
func showMemory(argv []string) {
	var bundle string
	for _, arg := range argv {
		if dir, ok := strings.CutPrefix(arg, "--bundle="); ok {
			bundle = dir
		}
	}
	value := slices.Index(argv, "--total-memory") + 1
	if bundle == "" || value == 0 || value == len(argv) {
		return
	}
	// In the empty root that gVisor runs itself in again, there is no file: the argument is right already.
	if limit, err := os.ReadFile(filepath.Join(bundle, memoryFile)); err == nil {
		argv[value] = string(limit)
	}
}
