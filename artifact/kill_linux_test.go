package artifact

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// changes are the system calls by which a program changes a file system, as far as this package uses them.
var changes = []uint64{
	unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_MKDIRAT, unix.SYS_UNLINKAT, unix.SYS_SYMLINKAT, unix.SYS_LINKAT,
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FTRUNCATE, unix.SYS_UTIMENSAT, unix.SYS_PWRITE64,
}

// syscallInfo is the kernel's struct ptrace_syscall_info at the entry of a call.
type syscallInfo struct {
	op     uint8
	_      [3]uint8
	arch   uint32
	ip, sp uint64
	nr     uint64
	args   [6]uint64
	_      [2]uint64
}

func (i syscallInfo) changes() bool {
	if i.nr == unix.SYS_OPENAT {
		return i.args[2]&unix.O_CREAT != 0
	}
	// What goes to stdout and stderr is no file of ours.
	return slices.Contains(changes, i.nr) || i.nr == unix.SYS_WRITE && i.args[0] > 2
}

// killBefore runs this test's program with args and kills it before the n-th call, counted from 0, by which it changes
// a file system. It reports whether there was one; else the program has ended by itself.
func killBefore(t *testing.T, n int, args ...string) (killed bool) {
	t.Helper()
	runtime.LockOSThread() // the kernel lets only the thread that traces ask
	defer runtime.UnlockOSThread()
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	must(t, cmd.Start())
	pid := cmd.Process.Pid
	var ws unix.WaitStatus
	_, err := unix.Wait4(pid, &ws, 0, nil)
	must(t, err)
	must(t, unix.PtraceSetOptions(pid, unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_EXITKILL))
	must(t, unix.PtraceSyscall(pid, 0))
	for {
		thread, err := unix.Wait4(-1, &ws, unix.WALL|unix.WNOTHREAD, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		must(t, err)
		switch {
		case ws.Exited() || ws.Signaled():
			if thread != pid {
				continue
			}
			if !killed && ws.ExitStatus() != 0 {
				t.Fatalf("%q ended with %v", args, ws)
			}
			return killed
		case killed:
			continue
		case ws.StopSignal() == unix.SIGTRAP|0x80:
			var info syscallInfo
			_, _, errno := unix.Syscall6(unix.SYS_PTRACE, 0x420e, uintptr(thread), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
			if errno != 0 {
				continue // it is just being killed
			}
			if info.op == 1 && info.changes() {
				if n == 0 {
					killed = true
					must(t, unix.Kill(pid, unix.SIGKILL))
					continue
				}
				n--
			}
			_ = unix.PtraceSyscall(thread, 0)
		case ws.StopSignal() == unix.SIGTRAP || ws.StopSignal() == unix.SIGSTOP: // a thread was born
			_ = unix.PtraceSyscall(thread, 0)
		default:
			_ = unix.PtraceSyscall(thread, int(ws.StopSignal()))
		}
	}
}

// Killed before any of its file operations, the program leaves each file at its place or whole in a folder that git
// does not see, and the next run puts all of them back.
func TestKilledAtAnyMomentLosesNothing(t *testing.T) {
	top := t.TempDir()
	for _, build := range []string{"builds", "makes nothing"} {
		for n, killed := 0, true; killed; n++ {
			root := filepath.Join(top, fmt.Sprint(build, n))
			grow(t, root, "dist/app", "dist/made", "dist/sub/x", "dist/l -> app", "dist/new\nline \xff", "pkg.tgz", "src/a.go")
			before := everything(t, root)
			killed = killBefore(t, n, "aside", root, build)
			kept, _ := filepath.Glob(root + "/" + asideDir + "/" + asidePrefix + "*/*")
			for _, p := range kept {
				if b, err := os.ReadFile(filepath.Dir(p) + "/.gitignore"); filepath.Base(p) != ".gitignore" && (err != nil || string(b) != "*\n") {
					t.Errorf("killed before operation %d, and git sees %s: %q, %v", n, p, b, err)
				}
			}
			if killed { // else nothing is left to do
				cycle(root, "makes nothing")
			}
			after := slices.DeleteFunc(everything(t, root), func(s string) bool { return strings.HasPrefix(s, ".trkr/") }) // what the killed build made is kept there
			for i := range after {
				after[i] = strings.Replace(after[i], "dist/made: new\n", "dist/made: this is dist/made\n", 1)
			}
			if !slices.Equal(after, before) {
				t.Fatalf("%s, killed before operation %d:\nafter  %q\nbefore %q", build, n, after, before)
			}
			must(t, os.RemoveAll(root))
			if !killed {
				t.Logf("%s: %d operations", build, n)
			}
		}
	}
}
