// Package docker makes boxes with a Docker daemon, of which it only asks that it runs containers of this platform on
// this machine: the daemon sees the same files, and needs neither a network nor a registry for the image "host".
package docker

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/client"

	"github.com/trkr-dev/trkr-validate/images"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

// Name is the engine's name.
const Name = "docker"

// Options of the engine.
type Options struct {
	// Init is the program that is the box's init: a Linux program for the daemon's processor which calls
	// shim.Dispatch first. Empty: this program itself.
	Init string
	// ImageDir is where images of this machine are kept and unpacked on their way to the daemon. Empty: the user's cache.
	ImageDir string
}

// Limits of time. A daemon answers within them or is taken for silent.
const (
	pingLimit   = 2 * time.Second
	infoLimit   = 10 * time.Second
	callLimit   = time.Minute     // making, starting or importing on a slow disk
	endLimit    = 3 * time.Second // for an init to end by itself
	pullSilence = time.Minute     // a pull that reports nothing for so long
	loadSilence = 5 * time.Minute // a daemon that lays a large layer down on a slow disk says nothing meanwhile
)

var (
	removeLimit = 20 * time.Second
	lostLimit   = 5 * time.Second // for why a box went; whoever asks waits for 10
)

// New gives the engine. It does nothing yet: the daemon is looked for when it is first needed, and again after it
// could not be found.
func New(o Options) sandbox.Engine { return newEngine(o) }

func newEngine(o Options) *engine {
	return &engine{options: o, sockets: knownSockets(), silence: pullSilence, greeting: callLimit, program: sync.OnceValues(o.program)}
}

type engine struct {
	options  Options
	sockets  []string      // where a daemon listens by default
	silence  time.Duration // limit of a pull that reports nothing
	greeting time.Duration // limit of an init that says nothing
	program  func() (program, error)
	spoil    func(*container.HostConfig) // tests: takes a promise away from every box

	mu     sync.Mutex
	daemon *daemon
	images *images.Store
}

// daemon is a daemon that has answered.
type daemon struct {
	*client.Client
	at string // for people: the address, and who named it

	asking sync.Mutex
	info   *system.Info // what it said about itself, once it did

	proving sync.Mutex
	local   bool // it has been shown to run on this machine

	making sync.Mutex // one base image at a time

	pulling sync.Mutex
	known   map[string]*userland // what references mean, as long as this program runs
}

func (*engine) Name() string { return Name }

// Check asks the daemon about itself and looks at the program that would be the init.
func (e *engine) Check(ctx context.Context) (sandbox.Version, error) {
	d, err := e.connect(ctx)
	if err != nil {
		return sandbox.Version{}, err
	}
	info, err := d.about(ctx)
	if err != nil {
		return sandbox.Version{}, err
	}
	p, err := e.program()
	if err != nil {
		return sandbox.Version{}, err
	}
	if arch := goarch(info.Architecture); arch != p.arch {
		return sandbox.Version{}, fault.Envf("docker_wrong_platform", []string{"use a daemon of this machine"},
			"the Docker daemon at %s runs linux/%s, and this program's init is linux/%s", d.at, arch, p.arch)
	}
	detail := []string{"API " + d.ClientVersion(), info.Driver, "cgroup v" + info.CgroupVersion, d.at}
	if info.CgroupVersion == "" {
		detail[2] = "cgroup version unknown"
	}
	if slices.Contains(info.SecurityOptions, "name=rootless") {
		detail = append(detail, "rootless")
	}
	return sandbox.Version{Version: info.ServerVersion, Detail: strings.Join(detail, ", ")}, nil
}

// goarch is Go's name of a processor that the daemon names as the kernel does.
func goarch(machine string) string {
	switch machine {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	case "armv7l", "armv6l":
		return "arm"
	case "i686", "i386":
		return "386"
	}
	return machine
}

// call bounds one call of the daemon and names its failure.
func (d *daemon) call(ctx context.Context, limit time.Duration, doing string, f func(context.Context) error) error {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := f(within)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", doing, ctx.Err())
	}
	if within.Err() != nil {
		return fault.Envf("docker_silent", restartHints(), "%s: the Docker daemon at %s did not answer within %s", doing, d.at, limit)
	}
	if client.IsErrConnectionFailed(err) {
		return fault.Envf("docker_unreachable", restartHints(), "%s: %w", doing, err)
	}
	if strings.Contains(err.Error(), "no space left on device") {
		return fault.Envf("docker_disk_full", diskHints(), "%s: %w", doing, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

func diskHints() []string {
	return []string{"free space where Docker keeps its data: docker system df tells what takes it, docker system prune removes what is unused"}
}

func restartHints() []string {
	hint := "restart Docker, and look into its log"
	if runtime.GOOS == "linux" {
		hint = "restart the daemon (systemctl restart docker), and look into its log (journalctl -u docker)"
	}
	return []string{hint, "or use the engine that needs no daemon: --engine gvisor"}
}
