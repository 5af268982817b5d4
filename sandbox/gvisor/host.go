//go:build linux && (amd64 || arm64)

package gvisor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// host is what the engine asks this machine before it starts anything. Tests put other answers in.
type host struct {
	read       func(path string) (string, error) // a file of /proc or /sys, trimmed
	release    func() (string, error)            // the kernel's
	privileged func() (bool, error)              // whether this process may make namespaces without a user namespace
	namespaces func() error                      // tries to make a user namespace, and a mount namespace in it
}

// namespacesHere is asked once: while a build runs, nobody may look into this program, and so not set its child up.
var namespacesHere = sync.OnceValue(tryNamespaces)

func thisHost() host {
	return host{read: readTrimmed, release: kernelRelease, privileged: privileged, namespaces: namespacesHere}
}

// gVisor itself runs on 4.15; the processes of a box are held by pidfds, which came later.
const oldestMajor, oldestMinor = 5, 3

// check tells whether a box can be started on this machine, and whether a user namespace is needed for it. All that
// stands in the way is a *fault.Error with its own remedy.
func (h host) check() (rootless bool, err error) {
	release, err := h.release()
	if err != nil {
		return false, fault.Envf("kernel_unknown", nil, "reading the kernel's version: %w", err)
	}
	if older(release) {
		return false, fault.Envf("kernel_too_old", []string{"use a newer kernel, or --engine docker"},
			"gvisor needs Linux %d.%d, this is %s", oldestMajor, oldestMinor, release)
	}
	if _, err := h.read("/proc/self/status"); err != nil {
		return false, fault.Envf("proc_missing", []string{"mount /proc, or use --engine docker"}, "gvisor needs /proc: %w", err)
	}
	if scope, err := h.read("/proc/sys/kernel/yama/ptrace_scope"); err == nil && scope == "3" {
		return false, fault.Env("ptrace_forbidden", errors.New("kernel.yama.ptrace_scope is 3: no process of this machine may be traced, which gvisor needs"),
			"set kernel.yama.ptrace_scope to 2 or less at boot (it cannot be lowered while the machine runs)", "or use --engine docker")
	}
	free, err := h.privileged()
	if err != nil {
		return false, fault.Envf("proc_missing", []string{"mount /proc"}, "reading this process's rights: %w", err)
	}
	if free {
		return false, nil
	}
	if err := h.namespaces(); err != nil {
		return true, h.namespacesForbidden(err)
	}
	return true, nil
}

// namespacesForbidden finds out why an ordinary user may not make namespaces here.
func (h host) namespacesForbidden(cause error) error {
	is := func(path, value string) bool {
		got, err := h.read(path)
		return err == nil && got == value
	}
	const docker = "or use --engine docker"
	wrap := func(code, why string, hints ...string) error {
		return fault.Env(code, fmt.Errorf("%s, and gvisor needs one when not run by root: %w", why, cause), append(hints, docker)...)
	}
	switch {
	case is("/proc/sys/user/max_user_namespaces", "0"), is("/proc/sys/user/max_mnt_namespaces", "0"):
		return wrap("userns_quota", "this machine allows no user namespaces (user.max_user_namespaces or user.max_mnt_namespaces is 0)",
			"as root: sysctl -w user.max_user_namespaces=15000 user.max_mnt_namespaces=15000")
	case is("/proc/sys/kernel/unprivileged_userns_clone", "0"):
		return wrap("userns_sysctl", "this machine keeps user namespaces for root (kernel.unprivileged_userns_clone is 0)",
			"as root: sysctl -w kernel.unprivileged_userns_clone=1")
	case is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"):
		return wrap("userns_apparmor", "AppArmor restricts user namespaces (kernel.apparmor_restrict_unprivileged_userns is 1, the default since Ubuntu 23.10)",
			"as root: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
			"or allow this program alone by an AppArmor profile with \"userns,\"")
	case errors.Is(cause, unix.ENOSPC), errors.Is(cause, unix.EUSERS):
		return wrap("userns_quota", "this user has used up its user namespaces, or they are nested too deep",
			"end other sandboxes of this user, or raise user.max_user_namespaces")
	case errors.Is(cause, unix.EINVAL), errors.Is(cause, unix.ENOSYS):
		return wrap("userns_missing", "this kernel is built without user namespaces", "run as root")
	case h.filtered():
		return wrap("userns_seccomp", "a seccomp filter, most likely the container's that this runs in, forbids user namespaces",
			"start the container with --security-opt seccomp=unconfined (Docker, Podman), or with a profile that allows clone and unshare of user namespaces")
	}
	return wrap("userns_forbidden", "this system does not let this user make a user namespace",
		"look for a security module or a chroot that forbids it (dmesg, /var/log/audit), or run as root")
}

// filtered reports whether this process runs under a seccomp filter.
func (h host) filtered() bool {
	status, err := h.read("/proc/self/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(status) {
		if mode, ok := strings.CutPrefix(line, "Seccomp:"); ok {
			return strings.TrimSpace(mode) == "2"
		}
	}
	return false
}

// older reports whether a kernel release is older than the oldest that gVisor runs on. One that cannot be read is not.
func older(release string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err != nil {
		return false
	}
	return major < oldestMajor || major == oldestMajor && minor < oldestMinor
}

func readTrimmed(path string) (string, error) {
	text, err := os.ReadFile(path)
	return strings.TrimSpace(string(text)), err
}

func kernelRelease() (string, error) {
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		return "", err
	}
	return unix.ByteSliceToString(uts.Release[:]), nil
}

// privileged reports whether this process has the rights that gVisor otherwise gets from a user namespace. Root of a
// container often lacks them.
func privileged() (bool, error) {
	status, err := readTrimmed("/proc/self/status")
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(status) {
		text, ok := strings.CutPrefix(line, "CapEff:")
		if !ok {
			continue
		}
		have, err := strconv.ParseUint(strings.TrimSpace(text), 16, 64)
		if err != nil {
			return false, err
		}
		for _, c := range []int{unix.CAP_SYS_ADMIN, unix.CAP_SYS_CHROOT, unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_SETPCAP, unix.CAP_SYS_PTRACE} {
			if have&(1<<c) == 0 {
				return false, nil
			}
		}
		return os.Geteuid() == 0, nil
	}
	return false, errors.New("no CapEff in /proc/self/status")
}

// tryNamespaces makes a child that enters a user namespace, becomes root there and makes a mount namespace in it, as
// gVisor does. (Where AppArmor restricts user namespaces the first step succeeds and the last does not.) The program
// that the child would run does not exist: the child ends before it is one, and its absence shows that all went well.
func tryNamespaces() error {
	process, err := os.StartProcess("/proc/self/nowhere", []string{"nowhere"}, &os.ProcAttr{Sys: &syscall.SysProcAttr{
		Cloneflags:   unix.CLONE_NEWUSER,
		Unshareflags: unix.CLONE_NEWNS, // remounts / as private afterwards, which needs the right to mount
		UidMappings:  []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings:  []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, _ = process.Wait()
	return errors.New("/proc/self/nowhere was run")
}
