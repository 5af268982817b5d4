//go:build linux && (amd64 || arm64)

package gvisor

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// good is a machine on which an ordinary user can start a box.
func good(files map[string]string) host {
	return host{
		read: func(path string) (string, error) {
			if text, ok := files[path]; ok {
				return text, nil
			}
			if path == "/proc/self/status" {
				return "Name:\tx\nSeccomp:\t0", nil
			}
			return "", fs.ErrNotExist
		},
		release:    func() (string, error) { return "6.8.0-41-generic", nil },
		privileged: func() (bool, error) { return false, nil },
		namespaces: func() error { return nil },
	}
}

func TestHostCheck(t *testing.T) {
	const quota, clone, apparmor = "/proc/sys/user/max_user_namespaces", "/proc/sys/kernel/unprivileged_userns_clone", "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
	refuse := func(h host, errno error) host {
		h.namespaces = func() error { return errno }
		return h
	}
	for name, c := range map[string]struct {
		host       host
		code, hint string
	}{
		"fine":            {good(nil), "", ""},
		"quota of zero":   {refuse(good(map[string]string{quota: "0", clone: "1"}), unix.ENOSPC), "userns_quota", "sysctl -w user.max_user_namespaces"},
		"no mount spaces": {refuse(good(map[string]string{quota: "9", "/proc/sys/user/max_mnt_namespaces": "0"}), unix.ENOSPC), "userns_quota", "user.max_mnt_namespaces"},
		"debian's switch": {refuse(good(map[string]string{quota: "9", clone: "0"}), unix.EPERM), "userns_sysctl", "sysctl -w kernel.unprivileged_userns_clone=1"},
		"apparmor":        {refuse(good(map[string]string{quota: "9", clone: "1", apparmor: "1"}), unix.EACCES), "userns_apparmor", "kernel.apparmor_restrict_unprivileged_userns=0"},
		"used up":         {refuse(good(map[string]string{quota: "9"}), unix.ENOSPC), "userns_quota", "raise user.max_user_namespaces"},
		"not built in":    {refuse(good(nil), unix.EINVAL), "userns_missing", "run as root"},
		"container":       {refuse(good(map[string]string{quota: "9", "/proc/self/status": "Name:\tx\nSeccomp:\t2\n"}), unix.EPERM), "userns_seccomp", "--security-opt seccomp=unconfined"},
		"something else":  {refuse(good(map[string]string{quota: "9"}), unix.EPERM), "userns_forbidden", "dmesg"},
		// A restriction that is set but does not bite (a profile allows this program) is no reason.
		"apparmor allows": {good(map[string]string{apparmor: "1"}), "", ""},
		"no tracing":      {good(map[string]string{"/proc/sys/kernel/yama/ptrace_scope": "3"}), "ptrace_forbidden", "ptrace_scope to 2"},
		"old kernel":      {func() host { h := good(nil); h.release = func() (string, error) { return "4.9.0", nil }; return h }(), "kernel_too_old", "newer kernel"},
		"no proc": {func() host {
			h := good(nil)
			h.read = func(string) (string, error) { return "", fs.ErrNotExist }
			return h
		}(), "proc_missing", "mount /proc"},
	} {
		t.Run(name, func(t *testing.T) {
			rootless, err := c.host.check()
			if c.code == "" {
				if err != nil || !rootless {
					t.Fatalf("got %v, %v", rootless, err)
				}
				return
			}
			f, ok := errors.AsType[*fault.Error](err)
			if !ok || f.Code != c.code || f.Usage || !strings.Contains(strings.Join(f.Hints, "\n"), c.hint) {
				t.Fatalf("got %+v, want %s with a hint at %q", err, c.code, c.hint)
			}
		})
	}
}

// Root needs no user namespace, whatever the switches say.
func TestHostCheckRoot(t *testing.T) {
	h := good(map[string]string{"/proc/sys/user/max_user_namespaces": "0"})
	h.privileged = func() (bool, error) { return true, nil }
	h.namespaces = func() error { return unix.EPERM }
	if rootless, err := h.check(); rootless || err != nil {
		t.Fatalf("got %v, %v", rootless, err)
	}
}

func TestOlder(t *testing.T) {
	for release, want := range map[string]bool{
		"3.10.0-1160.el7": true, "4.19": true, "5.2.9": true, "5.3.0": false, "5.4.0-x": false, "6.18.44": false, "10.1": false, "odd": false,
	} {
		if older(release) != want {
			t.Errorf("%s: %v", release, !want)
		}
	}
}
