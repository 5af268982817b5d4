package initd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A namespace of its own would make a command root there, with all capabilities: much of the kernel can be reached with
// them that it has no business with.
const (
	newSpaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
		unix.CLONE_NEWPID | unix.CLONE_NEWNET
	newTime = unix.CLONE_NEWTIME // to unshare alone: to clone the bit is part of a signal
)

// calls are the numbers of system calls on one architecture.
type calls struct{ arch, unshare, clone, clone3, mqOpen uint32 }

// filtered are the architectures whose programs a machine runs.
var filtered = map[string][]calls{
	"amd64": {{unix.AUDIT_ARCH_X86_64, 272, 56, 435, 240}, {unix.AUDIT_ARCH_I386, 310, 120, 435, 277}},
	"arm64": {{unix.AUDIT_ARCH_AARCH64, 97, 220, 435, 180}, {unix.AUDIT_ARCH_ARM, 337, 120, 435, 274}},
}

// filter keeps the calling thread, and all that it starts from now on, from making namespaces. clone3, whose flags a
// filter cannot see, is answered as by a kernel that has none: libraries then take clone. Queues that could not be
// removed afterwards, because nothing lists them, are answered likewise.
func filter() error {
	_, err := os.Stat("/dev/mqueue")
	code := filterCode(filtered[runtime.GOARCH], !errors.Is(err, fs.ErrNotExist))
	if code == nil {
		return nil
	}
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	if _, _, e := unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); e != 0 {
		return fmt.Errorf("giving up new privileges: %w", e)
	}
	_, _, e := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(code)
	if e != 0 {
		return fmt.Errorf("filtering system calls: %w", e)
	}
	return nil
}

// filterCode is the filter, nil where no architecture is known.
func filterCode(archs []calls, queues bool) []unix.SockFilter {
	if archs == nil {
		return nil
	}
	const nr, arch, flags = 0, 4, 16 // offsets in what the kernel shows a filter
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	ret := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	when := func(test uint16, k uint32, then ...unix.SockFilter) []unix.SockFilter {
		return append([]unix.SockFilter{{Code: unix.BPF_JMP | test | unix.BPF_K, Jf: uint8(len(then)), K: k}}, then...)
	}
	allow, missing := ret(unix.SECCOMP_RET_ALLOW), ret(unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS))
	without := func(spaces uint32) []unix.SockFilter {
		refuse := when(unix.BPF_JSET, spaces, ret(unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM)))
		return append(append([]unix.SockFilter{load(flags)}, refuse...), allow)
	}
	code := []unix.SockFilter{load(arch)}
	for _, a := range archs {
		const x32 = 1 << 30 // the same calls for programs with short pointers
		rules := []unix.SockFilter{load(nr), {Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: ^uint32(x32)}}
		rules = append(rules, when(unix.BPF_JEQ, a.unshare, without(newSpaces|newTime)...)...)
		rules = append(rules, when(unix.BPF_JEQ, a.clone, without(newSpaces)...)...)
		rules = append(rules, when(unix.BPF_JEQ, a.clone3, missing)...)
		if !queues {
			rules = append(rules, when(unix.BPF_JEQ, a.mqOpen, missing)...)
		}
		code = append(code, when(unix.BPF_JEQ, a.arch, append(rules, allow)...)...)
	}
	return append(code, missing)
}
