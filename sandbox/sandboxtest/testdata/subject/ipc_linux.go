package main

import (
	"fmt"
	"syscall"
	"unsafe"
)

const ipcKey, ipcCreate = 0x7472, 0o1000

// ipc opens each object that can outlive its maker, under names that all know. With flags it makes them, open to all.
func ipc(each func(what string, err error), flags uintptr) {
	call := func(what string, n, a, b, c, d uintptr) {
		_, _, e := syscall.RawSyscall6(n, a, b, c, d, 0, 0)
		each(what, errno(e))
	}
	mode := flags
	if flags != 0 {
		mode |= 0o666
	}
	call("shared memory", syscall.SYS_SHMGET, ipcKey, 4096, mode, 0)
	call("a message queue", syscall.SYS_MSGGET, ipcKey, mode, 0, 0)
	call("semaphores", syscall.SYS_SEMGET, ipcKey, 1, mode, 0)
	name := []byte("left-queue\x00")
	open := uintptr(syscall.O_RDWR)
	if flags != 0 {
		open |= syscall.O_CREAT
	}
	call("a POSIX queue", sysMqOpen, uintptr(unsafe.Pointer(&name[0])), open, 0o666, 0)
}

func leave() {
	syscall.Umask(0)
	ipc(func(what string, err error) {
		if err == nil {
			fmt.Println("left", what)
		}
	}, ipcCreate)
}

func found() {
	ipc(func(what string, err error) {
		if err == nil {
			fmt.Println("found", what)
		}
	}, 0)
}
