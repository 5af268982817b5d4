package initd

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
)

const threads = 24 // made before the first command: at the limit of pids no more can be

// Dispatch is shim.Dispatch.
func Dispatch() {
	if len(os.Args) > 1 && os.Args[1] == wire.Arg {
		switch {
		case len(os.Args) > 2 && os.Args[2] == wire.HelperBuild:
			os.Exit(buildMain(os.Args[3:]))
		case len(os.Args) > 2 && os.Args[2] == wire.HelperShut:
			os.Exit(shutMain(os.Args[3:]))
		case len(os.Args) > 2:
			os.Exit(helperMain(os.Args[2]))
		}
		os.Exit(initMain())
	}
	if exe, err := os.Executable(); err == nil && exe == sandbox.Init {
		code, _ := strconv.Atoi(os.Getenv(DecoyExit))
		os.Exit(code)
	}
}

// initMain is PID 1 of a box: its return ends everything in it.
func initMain() int {
	if os.Getpid() != 1 || os.Geteuid() != 0 {
		fmt.Fprintln(os.Stderr, "error: an init runs as PID 1 and uid 0 of a box")
		return 5
	}
	runtime.LockOSThread() // what changes its ids must not be the main thread
	hide()
	unix.Umask(0o022)
	all := make(chan os.Signal, 1)
	signal.Notify(all)
	runtime.GOMAXPROCS(min(4, runtime.NumCPU()))
	warm(threads)
	keepFiles()
	g, err := newBox()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 6
	}
	if err := Serve(stdio{}, g); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 6
	}
	return 0
}

// warm makes n threads, which the runtime keeps.
func warm(n int) {
	var all sync.WaitGroup
	all.Add(n)
	for range n {
		go func() {
			runtime.LockOSThread()
			all.Done()
			all.Wait()
			runtime.UnlockOSThread()
		}()
	}
	all.Wait()
}

// keepFiles keeps what the engine left open from commands.
func keepFiles() {
	if unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	for fd := 3; fd < 1024; fd++ {
		unix.CloseOnExec(fd)
	}
}

// secret is a name that nobody guesses.
func secret() string { return strings.ToLower(rand.Text()) }

// stdio is what the engine gave PID 1. Where it ends, the program is gone, and this process with all that it started
// ends at once: nothing is to be waited for, because the end of PID 1 is the end of its box.
type stdio struct{}

func (stdio) Read(p []byte) (int, error) {
	n, err := os.Stdin.Read(p)
	if err != nil && n == 0 {
		os.Exit(0)
	}
	return n, nil
}

func (stdio) Write(p []byte) (int, error) { return os.Stdout.Write(p) }

// Close ends the box as well: a Read that hangs could not be freed otherwise.
func (stdio) Close() error {
	os.Exit(0)
	return nil
}
