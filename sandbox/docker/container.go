package docker

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/strslice"
	"github.com/docker/go-units"

	"github.com/trkr-dev/trkr-validate/internal/owner"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/shim"
)

// Labels of a box's container.
const (
	labelOwner   = "dev.trkr.validate.owner"   // the program that made it
	labelMachine = "dev.trkr.validate.machine" // where that program runs
	labelRun     = "dev.trkr.validate.run"
)

// initThreads are what the init itself takes of the pids: they are added to what the spec gives the subject.
const initThreads = 64

// config is what the container of a box is made from. Everything that the image could decide is decided here.
func config(spec sandbox.Spec, u *userland, p program) (*container.Config, *container.HostConfig) {
	no := false
	pids := int64(spec.Limits.Pids + initThreads)
	cfg := &container.Config{
		Image:        u.image,
		Hostname:     "box",
		User:         "0:0",
		Entrypoint:   strslice.StrSlice{sandbox.Init, shim.Arg},
		Cmd:          strslice.StrSlice{},
		Env:          environment(u),
		WorkingDir:   "/",
		Healthcheck:  &container.HealthConfig{Test: []string{"NONE"}},
		AttachStdin:  true,
		AttachStdout: true,
		AttachStderr: true,
		OpenStdin:    true,
		StdinOnce:    true,
		Labels:       map[string]string{labelOwner: owner.Self().String(), labelMachine: machine(), labelRun: spec.RunID},
	}
	host := &container.HostConfig{
		Init:           &no, // the daemon's default may be another init
		NetworkMode:    "none",
		DNS:            []string{"127.0.0.1"}, // else the container is told this machine's
		IpcMode:        container.IPCModePrivate,
		LogConfig:      container.LogConfig{Type: "none"},
		CapDrop:        strslice.StrSlice{"ALL"},
		CapAdd:         strslice.StrSlice{"SETUID", "SETGID", "SETPCAP", "KILL"},
		SecurityOpt:    []string{"no-new-privileges"},
		ReadonlyRootfs: true,
		ShmSize:        spec.Limits.Tmp,
		Tmpfs:          tmpfs(spec, u),
		Mounts:         append(u.mounts[:len(u.mounts):len(u.mounts)], bind(spec.Input, sandbox.Root), bind(p.path, sandbox.Init)),
		Resources: container.Resources{
			Memory:     spec.Limits.Memory,
			MemorySwap: spec.Limits.Memory,
			NanoCPUs:   int64(spec.Limits.CPUs * 1e9),
			PidsLimit:  &pids,
			Ulimits:    []*units.Ulimit{{Name: "core", Soft: 0, Hard: 0}},
		},
	}
	return cfg, host
}

// environment takes everything out of the init's environment that the image puts there; a name without a value
// removes it.
func environment(u *userland) []string {
	var env []string
	for _, name := range u.env {
		if name != "PATH" {
			env = append(env, name)
		}
	}
	if u.path != "" {
		env = append(env, "PATH="+u.path)
	}
	return env
}

// tmpfs are the box's own file systems, and an empty one nobody may write to in place of each volume that the image
// asks for: those would be writable directories on this machine's disk, without a limit.
func tmpfs(spec sandbox.Spec, u *userland) map[string]string {
	size := "size=" + strconv.FormatInt(spec.Limits.Tmp, 10)
	own := map[string]string{
		"/tmp":         "rw,exec,nosuid,nodev,mode=1777," + size,
		sandbox.Work:   "rw,exec,nosuid,nodev,mode=1777," + size,
		sandbox.Prefix: fmt.Sprintf("rw,exec,nosuid,nodev,mode=0755,uid=%d,gid=%d,%s", shim.InstallUID, shim.InstallUID, size),
	}
	taken := func(v string) bool {
		for target := range own {
			if v == target {
				return true
			}
		}
		return v == sandbox.Root || v == sandbox.Init || v == "/dev/shm"
	}
	targets := []string{sandbox.Root, sandbox.Init}
	for target := range own {
		targets = append(targets, target)
	}
	targets = append(targets, u.volumes...)
	for _, v := range u.volumes {
		if taken(v) {
			continue
		}
		access := "ro,mode=0555,size=4k"
		for _, t := range targets {
			if strings.HasPrefix(t, path.Join(v, "/")+"/") {
				access = "rw,mode=0755,size=64k" // something is mounted further down: its mount point has to be made
			}
		}
		own[v] = access + ",nosuid,nodev,noexec"
	}
	return own
}
