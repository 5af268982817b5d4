//go:build linux && (amd64 || arm64)

package gvisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trkr-dev/trkr-validate/internal/bound"
)

const (
	pipeSize  = 1 << 20
	stderrMax = 16 << 10
	// endGrace is how long a box gets to end by itself once its stdin has ended, and killGrace how long the kernel gets
	// to end what was killed.
	endGrace  = 2 * time.Second
	killGrace = 5 * time.Second
)

// process is gVisor's runtime process with the sandbox and the gofer under it, for one box.
type process struct {
	stdin  *os.File // of the init; closing it ends the box
	stdout *os.File // of the init

	cmd    *exec.Cmd
	stderr *bound.Buffer // of gVisor and the init
	ended  chan struct{} // closed when the runtime process has ended and its stderr was read
	err    error         // how it ended; valid after ended

	dir  string
	pids []*os.File // pidfds of the sandbox and the gofer
}

// startProcess starts the box described by the bundle in dir, on the cores of cpus.
//
// The program may be killed at any time, and then nothing of the box may go on: the init ends it when its stdin ends,
// and the kernel kills the runtime process, which passes it on, when the thread that started it ends. So that thread
// is held until the runtime process has ended.
func startProcess(dir, id string, rootless bool, cpus *unix.CPUSet, more ...string) (*process, error) {
	p := &process{dir: dir, ended: make(chan struct{}), stderr: bound.NewBuffer(stderrMax/2, stderrMax/2)}
	var child [3]*os.File
	var err error
	defer func() {
		for _, f := range child {
			if f != nil {
				_ = f.Close()
			}
		}
	}()
	if child[0], p.stdin, err = os.Pipe(); err != nil {
		return nil, fmt.Errorf("making the box's pipes: %w", err)
	}
	if p.stdout, child[1], err = os.Pipe(); err != nil {
		return nil, errors.Join(fmt.Errorf("making the box's pipes: %w", err), p.stdin.Close())
	}
	var stderr *os.File
	if stderr, child[2], err = os.Pipe(); err != nil {
		return nil, errors.Join(fmt.Errorf("making the box's pipes: %w", err), p.stdin.Close(), p.stdout.Close())
	}
	for _, f := range []*os.File{p.stdin, p.stdout} {
		enlarge(f)
	}
	p.cmd = &exec.Cmd{
		Path:   selfExe,
		Args:   runtimeArgs(dir, id, rootless, more...),
		Env:    []string{},
		Dir:    "/",
		Stdin:  child[0],
		Stdout: child[1],
		Stderr: child[2],
		SysProcAttr: &syscall.SysProcAttr{
			Pdeathsig: syscall.SIGKILL,
			Setsid:    true, // a terminal's signals are for this program, which then ends the box
		},
	}
	started := make(chan error)
	go p.run(cpus, started, stderr)
	if err := <-started; err != nil {
		return nil, errors.Join(err, p.stdin.Close(), p.stdout.Close())
	}
	return p, nil
}

// enlarge makes a pipe larger, which is only faster: a user near the quota of pipe memory keeps the default. (Fd would
// make the file a blocking one, which Close does not wake.)
func enlarge(pipe *os.File) {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
}

// runtimeArgs are gVisor's words. What more says comes last, and counts.
func runtimeArgs(dir, id string, rootless bool, more ...string) []string {
	args := []string{
		runtimeName,
		rootFlag + dir, // first: by it Dispatch knows gVisor's runs of itself
		"--network=none",
		"--gofer-network-namespace=new", // the default leaves a mount behind
		"--overlay2=none",
		"--file-access-mounts=exclusive", // nobody else writes what the box sees
		"--ignore-cgroups",
		"--host-settings=ignore",
	}
	if rootless {
		args = append(args, "--rootless")
	}
	return append(append(args, more...), "run", "--bundle="+dir, id)
}

// run starts the runtime process and waits for its end, on a thread of its own that ends with it.
func (p *process) run(cpus *unix.CPUSet, started chan<- error, stderr *os.File) {
	runtime.LockOSThread() // never unlocked: see startProcess, and the thread's cores are not for others
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(p.stderr, stderr)
		_ = stderr.Close()
	}()
	if err := unix.SchedSetaffinity(0, cpus); err != nil {
		started <- fmt.Errorf("binding the box to its cores: %w", err)
		return
	}
	if err := p.cmd.Start(); err != nil {
		started <- fmt.Errorf("starting gvisor: %w", err)
		return
	}
	started <- nil
	p.err = p.cmd.Wait()
	select {
	case <-read:
	case <-time.After(time.Second): // held open by what is about to be killed
	}
	close(p.ended)
}

// hold takes hold of the sandbox and the gofer process, so that their end can be waited for and forced. It returns the
// sandbox's pid. gVisor has written its state before the init runs.
func (p *process) hold() (int, error) {
	found, err := filepath.Glob(filepath.Join(p.dir, "*.state"))
	if err != nil || len(found) != 1 {
		return 0, fmt.Errorf("finding the box's processes: %d state files", len(found))
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		return 0, fmt.Errorf("finding the box's processes: %w", err)
	}
	var state struct {
		GoferPid int `json:"goferPid"`
		Sandbox  struct {
			Pid int `json:"pid"`
		} `json:"sandbox"`
	}
	if err := json.Unmarshal(text, &state); err != nil {
		return 0, fmt.Errorf("finding the box's processes: %w", err)
	}
	for _, pid := range []int{state.Sandbox.Pid, state.GoferPid} {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return 0, fmt.Errorf("finding the box's processes: %w", err)
		}
		p.pids = append(p.pids, os.NewFile(uintptr(fd), "pidfd"))
	}
	return state.Sandbox.Pid, nil
}

// hasEnded reports whether the runtime process ends within d.
func (p *process) hasEnded(d time.Duration) bool {
	select {
	case <-p.ended:
		return true
	case <-time.After(d):
		return false
	}
}

// kill ends every process of the box at once.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	for _, fd := range p.pids {
		_ = unix.PidfdSendSignal(int(fd.Fd()), unix.SIGKILL, nil, 0)
	}
}

// end ends the box and waits until none of its processes is left.
func (p *process) end() error {
	_ = p.stdin.Close()
	p.hasEnded(endGrace)
	p.kill()
	_ = p.stdout.Close()
	ctx, cancel := context.WithTimeout(context.Background(), killGrace)
	defer cancel()
	var err error
	if !p.hasEnded(killGrace) {
		err = errors.New("ending the box: gvisor's process does not end")
	}
	for _, fd := range p.pids {
		if gone := waitPidfd(ctx, fd); gone != nil {
			err = errors.Join(err, fmt.Errorf("ending the box: %w", gone))
		}
		_ = fd.Close()
	}
	return err
}

// waitPidfd waits until the process of a pidfd has ended.
func waitPidfd(ctx context.Context, fd *os.File) error {
	for {
		left := 10 * time.Millisecond
		if ctx.Err() != nil {
			left = 0
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd.Fd()), Events: unix.POLLIN}}, int(left.Milliseconds()))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return err
		case n == 1:
			return nil
		case ctx.Err() != nil:
			return errors.New("a process of the box does not end")
		}
	}
}

// Read, Write and Close make the process the connection to its init.
func (p *process) Read(b []byte) (int, error)  { return p.stdout.Read(b) }
func (p *process) Write(b []byte) (int, error) { return p.stdin.Write(b) }
func (p *process) Close() error                { return errors.Join(p.stdin.Close(), p.stdout.Close()) }

// said is what gVisor and the init wrote to stderr, for people.
func (p *process) said() string { return strings.TrimSpace(p.stderr.String()) }
