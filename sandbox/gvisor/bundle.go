//go:build linux && (amd64 || arm64)

package gvisor

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"unicode/utf8"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/trkr-dev/trkr-validate/images"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/shim"
)

const (
	shmSize    = 64 << 20 // of /dev/shm at most
	openFiles  = 4096     // descriptors of one process of the box
	rootfsDir  = "rootfs"
	memoryFile = "memory" // the limit, for showMemory
	inputLink  = "input"
	// leastPids is what the init needs: its threads have a uid of their own, but the same limit.
	leastPids = 64
)

// bundle lays the OCI bundle of a box down in dir: its root filesystem and config.json. shown is what is mounted beside
// what every box has, and more what the init may do beside what every init may.
func bundle(dir string, limits sandbox.Limits, u *userland, shown []specs.Mount, args []string, spoil func(*specs.Spec), more ...string) error {
	root, err := u.lay(dir)
	if err != nil {
		return stateError(err)
	}
	if err := os.WriteFile(filepath.Join(dir, memoryFile), []byte(strconv.FormatInt(limits.Memory, 10)), 0o600); err != nil {
		return stateError(err)
	}
	described := ociSpec(limits, u, root, shown, args, more)
	if spoil != nil {
		spoil(described)
	}
	config, err := json.Marshal(described)
	if err != nil {
		return fmt.Errorf("describing the box: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), config, 0o600); err != nil {
		return stateError(err)
	}
	return nil
}

// asText is a name of path that JSON can carry: path itself, or where its bytes are no UTF-8 a link to it.
func asText(path, link string) (string, error) {
	if utf8.ValidString(path) {
		return path, nil
	}
	return link, os.Symlink(path, link)
}

// ociSpec describes the box to gVisor. The init is uid 0 of the box with the rights it needs to start commands under
// other uids, to end them, and to take every right away from what it starts.
func ociSpec(limits sandbox.Limits, u *userland, root string, shown []specs.Mount, args, more []string) *specs.Spec {
	caps := append([]string{"CAP_SETUID", "CAP_SETGID", "CAP_KILL", "CAP_SETPCAP"}, more...)
	nproc := uint64(max(limits.Pids, leastPids))
	return &specs.Spec{
		Version: "1.2.0",
		Root:    &specs.Root{Path: root, Readonly: true},
		Process: &specs.Process{
			Args:            args,
			Env:             []string{"PATH=" + u.path},
			Cwd:             "/",
			NoNewPrivileges: true,
			Capabilities:    &specs.LinuxCapabilities{Bounding: caps, Effective: caps, Permitted: caps},
			// gVisor counts tasks by uid and checks this from the first one on. Without it a fork bomb becomes
			// thousands of host processes, which can lock the host kernel when they end.
			Rlimits: []specs.POSIXRlimit{
				{Type: "RLIMIT_NPROC", Soft: nproc, Hard: nproc},
				{Type: "RLIMIT_NOFILE", Soft: openFiles, Hard: openFiles},
				{Type: "RLIMIT_CORE"},
			},
		},
		Hostname: "validate",
		Mounts:   append(mounts(limits, u.host.Binds), shown...),
		Linux:    &specs.Linux{},
	}
}

func mounts(limits sandbox.Limits, binds []images.Bind) []specs.Mount {
	list := []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"nosuid", "nodev", "noexec"}},
		tmpfs("/tmp", "mode=1777", size(limits.Tmp)),
		tmpfs("/dev/shm", "mode=1777", size(min(limits.Tmp, shmSize))),
	}
	for _, b := range binds {
		list = append(list, bind(b.Source, b.Target, "rbind", "ro"))
	}
	return list
}

// boxMounts are what a box of an artifact has of its own. input is the host's path of its inputs, program of its init.
func boxMounts(limits sandbox.Limits, input, program string) []specs.Mount {
	return []specs.Mount{
		tmpfs(sandbox.Work, "mode=1777", size(limits.Tmp)),
		tmpfs(sandbox.Prefix, "mode=0755", fmt.Sprintf("uid=%d", shim.InstallUID), fmt.Sprintf("gid=%d", shim.InstallUID), size(limits.Tmp)),
		bind(input, sandbox.Root, "bind", "ro"),
		bind(program, sandbox.Init, "bind", "ro"),
	}
}

func size(bytes int64) string { return "size=" + strconv.FormatInt(bytes, 10) }

func tmpfs(at string, data ...string) specs.Mount {
	return specs.Mount{Destination: at, Type: "tmpfs", Source: "tmpfs", Options: append([]string{"nosuid", "nodev"}, data...)}
}

// bind shows a host path. Those of the system are recursive: in a user namespace the kernel refuses to bind a directory
// without the file systems that are mounted in it.
func bind(source, at, kind, access string) specs.Mount {
	return specs.Mount{Destination: at, Type: "bind", Source: source, Options: []string{kind, access, "nosuid", "nodev"}}
}
