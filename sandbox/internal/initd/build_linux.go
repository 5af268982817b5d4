package initd

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
)

const (
	buildGrace = 300 * time.Millisecond // for what is about to end anyway, like the other end of a pipe
	// overLooks is how many looks in a row must find too much memory: a process that is about to run another program
	// counts twice for a moment.
	overLooks  = 3
	shell      = "/bin/sh"
	mostCPUs   = 1024 // that a set can hold
	namesShown = 16
)

// buildMain is PID 1 of a build's container: it runs the command and, when that has ended, kills whatever is left.
func buildMain(args []string) int {
	if os.Getpid() != 1 || len(args) != 1 {
		fmt.Fprintln(os.Stderr, "error: the supervisor of a build runs as PID 1 of a container")
		return 5
	}
	runtime.LockOSThread()
	hide()
	signal.Notify(make(chan os.Signal, 1)) // all: a signal of the command's must not end this
	raw, err := os.ReadFile(args[0])
	var o wire.BuildOrder
	if err == nil {
		err = json.Unmarshal(raw, &o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 6
	}
	warm(threads)
	keepFiles()
	if o.Lifeline {
		if _, err := os.Stdout.WriteString(wire.BuildReady); err != nil {
			return 6
		}
		if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
			return 6
		}
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(6)
		}()
	}
	raw, err = json.Marshal(buildOf(o))
	if err == nil {
		// The command may have put something else there.
		if err = os.RemoveAll(o.Result); err == nil {
			err = os.WriteFile(o.Result, raw, 0o600)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 6
	}
	return 0
}

func buildOf(o wire.BuildOrder) (res wire.BuildResult) {
	done, err := startBuild(o)
	if err != nil {
		return wire.BuildResult{Failure: err.Error()}
	}
	began := time.Now()
	late := time.NewTimer(time.Duration(o.Timeout))
	look := time.NewTicker(lookEvery)
	defer late.Stop()
	defer look.Stop()
	var st Status
	var over int
	var crowded, ended bool
	for !ended && res.Cause == "" {
		select {
		case st = <-done:
			ended = true
		case <-late.C:
			res.Cause = string(sandbox.CauseDeadline)
		case <-look.C:
			seen := others()
			crowded = crowded || seen.threads >= o.Pids
			if over++; o.Memory == 0 || seen.memory <= o.Memory {
				over = 0
			}
			if over == overLooks {
				res.Cause, res.Detail = string(sandbox.CauseMemory), fmt.Sprintf("its processes used %d MiB", seen.memory>>20)
			}
		}
	}
	res.Elapsed = int64(time.Since(began))
	if ended {
		for until := time.Now().Add(buildGrace); len(others().names) > 0 && time.Now().Before(until); {
			time.Sleep(10 * time.Millisecond)
		}
		left := slices.Compact(slices.Sorted(slices.Values(others().names)))
		res.Leftovers = left[:min(len(left), namesShown)]
	}
	if left := killOthers(); left > 0 {
		return wire.BuildResult{Code: -1, Cause: string(sandbox.CauseUnknown), Detail: fmt.Sprintf("%d processes of the command do not end", left)}
	}
	if !ended {
		st = <-done
	}
	res.Code, res.Signal = st.Code, st.Signal
	if crowded && ended && res.Code != 0 {
		res.Cause = string(sandbox.CausePids)
	}
	return res
}

// startBuild starts the command on this thread, which keeps what it took for that.
func startBuild(o wire.BuildOrder) (<-chan Status, error) {
	if err := runnable(shell, o.UID); err != nil {
		return nil, fmt.Errorf("the image has no %s: %w", shell, err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("giving up new privileges: %w", err)
	}
	if err := syscall.Setrlimit(unix.RLIMIT_FSIZE, &syscall.Rlimit{Cur: wire.BuildFile, Max: wire.BuildFile}); err != nil {
		return nil, fmt.Errorf("limiting the size of files: %w", err)
	}
	if err := limitCPUs(o.CPUs); err != nil {
		return nil, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	env := make([]string, len(o.Env))
	for i, v := range o.Env {
		env[i] = string(v)
	}
	sys := &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: uint32(o.UID), Gid: uint32(o.UID)}}
	if o.UID == 0 {
		id := []syscall.SysProcIDMap{{ContainerID: wire.BuildUID, HostID: 0, Size: 1}}
		sys.Cloneflags, sys.UidMappings, sys.GidMappings = syscall.CLONE_NEWUSER, id, id
		sys.Credential = &syscall.Credential{Uid: wire.BuildUID, Gid: wire.BuildUID, NoSetGroups: true}
	} else if err := syscall.Setrlimit(unix.RLIMIT_NPROC, &syscall.Rlimit{Cur: uint64(o.Pids), Max: uint64(o.Pids)}); err != nil {
		return nil, fmt.Errorf("limiting processes: %w", err)
	}
	args := []string{sandbox.Init, wire.Arg, wire.HelperShut, shell, "-c", string(o.Script)}
	done, err := newReaper().start(sandbox.Init, args, &syscall.ProcAttr{
		Dir: o.Dir, Env: env, Files: []uintptr{null.Fd(), 1, 1}, Sys: sys,
	})
	if err != nil {
		return nil, fmt.Errorf("starting %s in %s: %w", shell, o.Dir, err)
	}
	return done, nil
}

// shutMain makes this process a command that can make no namespaces: the one it may be in already could not have been made
// behind the filter.
func shutMain(args []string) int {
	runtime.LockOSThread()
	err := filter()
	if err == nil && len(args) > 0 {
		err = syscall.Exec(args[0], args, os.Environ())
	}
	fmt.Fprintln(os.Stderr, "error: starting the build:", err)
	return 127
}

// limitCPUs binds what this thread starts to the first n cores that it may use.
func limitCPUs(n int) error {
	var all, first unix.CPUSet
	if n <= 0 || unix.SchedGetaffinity(0, &all) != nil {
		return nil
	}
	for cpu := 0; n > 0 && cpu < mostCPUs; cpu++ {
		if all.IsSet(cpu) {
			first.Set(cpu)
			n--
		}
	}
	if err := unix.SchedSetaffinity(0, &first); err != nil {
		return fmt.Errorf("binding the build to its cores: %w", err)
	}
	return nil
}

// crowd is every process but this one.
type crowd struct {
	names   []string
	threads int
	memory  int64
}

func others() (c crowd) {
	dirs, _ := filepath.Glob("/proc/[1-9]*")
	for _, dir := range dirs {
		if dir == "/proc/1" {
			continue
		}
		status, err := os.ReadFile(dir + "/status")
		if err != nil || strings.HasPrefix(field(status, "State:"), "Z") {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(string(status), "Name:"), "\n")
		c.names = append(c.names, strings.TrimSpace(name))
		n, _ := strconv.Atoi(field(status, "Threads:"))
		c.threads += n
		for _, part := range []string{"RssAnon:", "RssShmem:"} {
			kib, _ := strconv.ParseInt(field(status, part), 10, 64)
			c.memory += kib << 10
		}
	}
	return c
}

// killOthers kills every process but this one and tells how many do not end.
func killOthers() int {
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		_ = syscall.Kill(-1, syscall.SIGKILL) // ESRCH: none is left
		n := len(others().names)
		if n == 0 || time.Since(begin) > killWithin {
			return n
		}
	}
}
