package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const nonblock = unix.O_NONBLOCK

func pointer(s string) uintptr {
	p, err := unix.BytePtrFromString(s)
	check(err)
	return uintptr(unsafe.Pointer(p))
}

func call(nr uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	_, _, e := unix.RawSyscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	return errno(e)
}

// regain tries to get back the rights that the init took away, and to reach the kernel with what is left.
func regain([]string) {
	try("setresuid", unix.Setresuid(0, 0, 0))
	try("setresuid of the saved one", unix.Setresuid(-1, -1, 0))
	try("setresgid", unix.Setresgid(0, 0, 0))
	try("setgroups", unix.Setgroups([]int{0}))
	for c := uintptr(0); c <= 40; c++ {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var data [2]unix.CapUserData
		data[c/32].Effective, data[c/32].Permitted = 1<<(c%32), 1<<(c%32)
		err := unix.Capset(&header, &data[0])
		if err == nil && (unix.Capget(&header, &data[0]) != nil || data[c/32].Permitted == 0) { // gVisor takes it, and gives nothing
			err = unix.EPERM
		}
		try(fmt.Sprint("capset ", c), err)
		try(fmt.Sprint("ambient capability ", c), unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, c, 0, 0))
	}
	try("securebits", unix.Prctl(unix.PR_SET_SECUREBITS, 1, 0, 0, 0))
	try("no_new_privs off", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0))
	for name, flag := range map[string]int{
		"mount": unix.CLONE_NEWNS, "cgroup": unix.CLONE_NEWCGROUP, "uts": unix.CLONE_NEWUTS, "ipc": unix.CLONE_NEWIPC,
		"user": unix.CLONE_NEWUSER, "pid": unix.CLONE_NEWPID, "net": unix.CLONE_NEWNET, "time": unix.CLONE_NEWTIME,
	} {
		try("unshare "+name, unix.Unshare(flag))
	}
	spaces, err := filepath.Glob("/proc/[0-9]*/ns/*")
	check(err)
	for _, ns := range spaces {
		if f, err := os.Open(ns); err == nil {
			try("setns "+ns, unix.Setns(int(f.Fd()), 0))
			f.Close()
		}
	}
	mounts()
	kernel()
	for _, p := range []string{
		"/proc/sys/kernel/hostname", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/vm/overcommit_memory", "/proc/sysrq-trigger",
		"/proc/1/oom_score_adj", "/proc/1/comm", "/proc/1/clear_refs", "/proc/1/coredump_filter", "/proc/1/uid_map", "/proc/1/cgroup",
		"/sys/kernel/uevent_helper", "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/pids/pids.max",
		"/dev/mem", "/dev/kmem", "/dev/kmsg", "/dev/port", "/dev/sda", "/dev/vda", "/dev/kvm", "/dev/loop-control",
	} {
		f, err := os.OpenFile(p, os.O_WRONLY|nonblock, 0)
		if err == nil {
			f.Close()
		}
		try("opening "+p+" for writing", err)
	}
	for _, p := range []string{"/proc/kcore", "/proc/kmsg", "/dev/mem"} {
		try("reading "+p, read(p))
	}
	try("another's security label", forge("/proc/1/attr/current")) // everybody may open it
	try("a control group", os.Mkdir("/sys/fs/cgroup/mine", 0o755))
	tried()
}

func mounts() {
	try("mount proc", unix.Mount("proc", "/tmp", "proc", 0, ""))
	try("bind mount", unix.Mount("/", "/tmp", "", unix.MS_BIND, ""))
	for _, at := range []string{"/", "/validate", "/proc", "/usr"} {
		try("remount of "+at, unix.Mount("", at, "", unix.MS_REMOUNT|unix.MS_BIND, ""))
		try("unmount of "+at, unix.Unmount(at, unix.MNT_DETACH))
	}
	if fd, err := unix.Open("/dev/fuse", unix.O_RDWR, 0); err == nil { // gVisor has one for all
		try("mount fuse", unix.Mount("fuse", "/tmp", "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd)))
	}
	if fd, err := unix.Open("/dev/net/tun", unix.O_RDWR, 0); err == nil {
		ifreq, err := unix.NewIfreq("trkr0")
		check(err)
		ifreq.SetUint16(unix.IFF_TUN)
		try("a tunnel", unix.IoctlIfreq(fd, unix.TUNSETIFF, ifreq))
	}
	try("pivot_root", unix.PivotRoot("/tmp", "/tmp"))
	_, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE)
	try("open_tree", err)
	_, err = unix.Fsopen("tmpfs", 0)
	try("fsopen", err)
	for name, mode := range map[string]uint32{"block": unix.S_IFBLK, "character": unix.S_IFCHR} {
		try("a "+name+" device", unix.Mknod("node-"+name, mode|0o666, int(unix.Mkdev(1, 1))))
	}
	for _, at := range []string{"/", "/validate", "/tmp"} {
		fd, err := unix.Open(at, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		check(err)
		_, err = unix.OpenByHandleAt(fd, unix.NewFileHandle(1, []byte{2, 0, 0, 0, 0, 0, 0, 0}), unix.O_RDONLY)
		try("open_by_handle_at "+at, err)
		unix.Close(fd)
	}
}

// kernel asks for parts of the kernel that a command has no business with.
func kernel() {
	try("init_module", call(unix.SYS_INIT_MODULE, pointer("x"), 1, pointer("")))
	try("kexec_load", call(unix.SYS_KEXEC_LOAD, 0, 0, 0, 0))
	try("acct", call(unix.SYS_ACCT, pointer("/tmp/acct")))
	try("swapoff", call(unix.SYS_SWAPOFF, pointer("/swap")))
	try("swapon", call(unix.SYS_SWAPON, pointer("/swap"), 0))
	try("quotactl", call(unix.SYS_QUOTACTL, 0, 0, 0, 0))
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}
	_, err := unix.PerfEventOpen(&attr, 1, -1, -1, 0)
	try("perf_event_open of the init", err)
	var bpf [64]byte
	bpf[0], bpf[4], bpf[8], bpf[12] = 2, 4, 8, 1 // an array of one
	try("bpf", call(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&bpf)), uintptr(len(bpf))))
	var limit unix.Rlimit
	check(unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	if limit.Max != unix.RLIM_INFINITY {
		limit.Max++
		try("more descriptors than allowed", unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	}
	realtime := int32(1)
	try("real time", call(unix.SYS_SCHED_SETSCHEDULER, 0, 1, uintptr(unsafe.Pointer(&realtime))))
}

// keys uses the kernel's keyrings: they are in no namespace, and outlive their maker.
func keys([]string) {
	_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true)
	try("a keyring", err)
	_, err = unix.AddKey("user", "left", []byte("left"), unix.KEY_SPEC_USER_KEYRING)
	try("a key", err)
	tried()
}

// sockets knocks at what this machine listens on and makes sockets that see more than their own: the words are
// udp:HOST:PORT, tcp:HOST:PORT, unix:PATH and unix:@NAME.
func sockets(a []string) {
	for _, what := range a {
		try("reaching "+what, reach(what))
	}
	for name, s := range map[string][3]int{
		"raw IPv4": {unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP}, "raw IPv6": {unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6},
		"any packet": {unix.AF_PACKET, unix.SOCK_RAW, 0x0300}, "cooked packet": {unix.AF_PACKET, unix.SOCK_DGRAM, 0x0300},
		"key management": {unix.AF_KEY, unix.SOCK_RAW, 2},
	} {
		fd, err := unix.Socket(s[0], s[1], s[2])
		if err == nil {
			unix.Close(fd)
		}
		try("a socket of "+name, err)
	}
	if fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0); err == nil {
		for _, port := range []uint32{22, 1024, 2375} {
			try(fmt.Sprint("vsock ", port), unix.Connect(fd, &unix.SockaddrVM{CID: unix.VMADDR_CID_HOST, Port: port}))
		}
	}
	if fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE); err == nil { // a link of its own making
		name := append([]byte{12, 0, 3, 0}, "trkr0\x00\x00\x00"...)
		b := make([]byte, 32, 64)
		b = append(b, name...)
		b[0], b[4], b[6], b[7] = byte(len(b)), unix.RTM_NEWLINK, unix.NLM_F_REQUEST|unix.NLM_F_ACK, (unix.NLM_F_CREATE|unix.NLM_F_EXCL)>>8
		err := unix.Sendto(fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
		if err == nil {
			answer := make([]byte, 4096)
			unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1})
			var n int
			if n, _, err = unix.Recvfrom(fd, answer, 0); err == nil && n >= 20 {
				err = errno(syscall.Errno(-*(*int32)(unsafe.Pointer(&answer[16]))))
			}
		}
		try("a network link", err)
	}
	tried()
}
