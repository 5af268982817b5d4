package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// attack does to PID 1, and to every thread of it, what would end, freeze, read or write it, and prints what worked.
func attack() {
	runtime.LockOSThread()
	tids := []int{1}
	if names, err := os.ReadDir("/proc/1/task"); err == nil {
		for _, n := range names {
			if id, err := strconv.Atoi(n.Name()); err == nil && id != 1 {
				tids = append(tids, id)
			}
		}
	}
	for sig := 1; sig <= 64; sig++ {
		try(fmt.Sprintf("kill %d 1", sig), syscall.Kill(1, syscall.Signal(sig)))
		for _, tid := range tids {
			_, _, e := syscall.RawSyscall(syscall.SYS_TGKILL, 1, uintptr(tid), uintptr(sig))
			try(fmt.Sprintf("tgkill %d %d", sig, tid), errno(e))
		}
	}
	for _, tid := range tids {
		try("ptrace attach", syscall.PtraceAttach(tid))
		const seize = 0x4206
		_, _, e := syscall.RawSyscall6(syscall.SYS_PTRACE, seize, uintptr(tid), 0, 0, 0, 0)
		try("ptrace seize", errno(e))
	}
	for _, f := range []string{"mem", "environ", "auxv", "maps", "syscall", "stack", "io"} {
		try("reading "+f, read("/proc/1/"+f))
	}
	_, err := os.ReadDir("/proc/1/fd")
	try("listing fd", err)
	for _, fd := range []string{"0", "1", "2"} {
		f, err := os.OpenFile("/proc/1/fd/"+fd, os.O_RDWR|syscall.O_NONBLOCK, 0)
		if err == nil {
			f.WriteString("CRITERION: pass")
			f.Close()
		}
		try("opening fd "+fd, err)
	}
	f, err := os.OpenFile("/proc/1/mem", os.O_RDWR, 0)
	if err == nil {
		f.Close()
	}
	try("opening mem for writing", err)
	var local [8]byte
	iov := []syscall.Iovec{{Base: &local[0], Len: 8}}
	_, _, e := syscall.RawSyscall6(sysVMReadv, 1, uintptr(unsafe.Pointer(&iov[0])), 1, uintptr(unsafe.Pointer(&iov[0])), 1, 0)
	try("process_vm_readv", errno(e))
	_, _, e = syscall.RawSyscall(syscall.SYS_SETPRIORITY, 0, 1, 19)
	try("setpriority", errno(e))
	try("setuid 0", syscall.Setuid(0))
	try("mount", syscall.Mount("none", "/tmp", "tmpfs", 0, ""))
	try("chroot", syscall.Chroot("/tmp"))
	try("sethostname", syscall.Sethostname([]byte("x")))
	_, _, e = syscall.RawSyscall(syscall.SYS_UNSHARE, syscall.CLONE_NEWNET, 0, 0)
	try("unshare", errno(e))
	try("clone with a user namespace", child(syscall.SYS_CLONE, syscall.CLONE_NEWUSER|uintptr(syscall.SIGCHLD), 0))
	args := [8]uint64{0: syscall.CLONE_NEWUSER, 4: uint64(syscall.SIGCHLD)} // flags and exit_signal of clone_args
	try("clone3 with a user namespace", child(sysClone3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args)))
	_, _, e = syscall.RawSyscall(syscall.SYS_UNSHARE, syscall.CLONE_NEWUSER, 0, 0)
	try("unshare of the user namespace", errno(e))
	time.Sleep(10 * time.Millisecond) // signals that were taken have arrived
	tried()
}

func errno(e syscall.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}

// read fails unless a byte came out: an empty file tells nothing.
func read(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.ReadFull(f, make([]byte, 1))
	return err
}

const sysClone3 = 435

// child makes a process by the call, which ends at once.
func child(call, a, b uintptr) error {
	pid, _, e := syscall.RawSyscall6(call, a, b, 0, 0, 0, 0)
	if e != 0 {
		return e
	}
	if pid == 0 {
		for {
			syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	_, err := syscall.Wait4(int(pid), nil, 0, nil)
	return err
}

// pauseInChild forks without exec: the child has one thread and waits for ever.
func pauseInChild() error {
	pid, _, e := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if e != 0 {
		return e
	}
	for pid == 0 {
		syscall.RawSyscall6(syscall.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
	}
	return nil
}

// comet leaves a process that for ever forks and ends, so that whoever looks for it finds its predecessor.
func comet() error {
	pid, _, e := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if e != 0 {
		return e
	}
	if pid != 0 {
		return nil
	}
	for {
		pid, _, e := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
		if pid != 0 && e == 0 {
			syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
}

func size() string {
	var ws struct{ rows, cols, x, y uint16 }
	_, _, e := syscall.Syscall(syscall.SYS_IOCTL, 0, syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&ws)))
	if e != 0 {
		return e.Error()
	}
	return fmt.Sprint(ws.rows, "x", ws.cols)
}
