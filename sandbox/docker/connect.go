package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/api/types/versions"
	"github.com/docker/docker/client"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// oldestAPI is that of Docker 20.10.
const oldestAPI = "1.41"

// connect gives the daemon: the one that answered before, else the first that answers.
func (e *engine) connect(ctx context.Context) (*daemon, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.daemon != nil {
		return e.daemon, nil
	}
	points, err := e.endpoints()
	if err != nil {
		return nil, err
	}
	if len(points) == 0 {
		return nil, fault.Envf("docker_unreachable", startHints(),
			"no Docker daemon was found: DOCKER_HOST is not set, no context is in use, and none of these is there: %s", strings.Join(e.sockets, ", "))
	}
	var first error
	for _, p := range points {
		d, err := p.connect(ctx)
		if err == nil {
			e.daemon = d
			return d, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

func startHints() []string {
	return []string{"start Docker, or set DOCKER_HOST to where a daemon listens", "or use the engine that needs no daemon: --engine gvisor"}
}

// connect makes sure that a daemon which we can use answers here.
func (p endpoint) connect(ctx context.Context) (*daemon, error) {
	if p.remote() {
		return nil, fault.Envf("docker_remote", []string{"use a daemon of this machine: docker context use default", "or use the engine that needs no daemon: --engine gvisor"},
			"the Docker daemon at %s is another machine's and does not see this one's files", p)
	}
	cli, err := client.NewClientWithOpts(append(p.options, client.WithHost(p.host), client.WithAPIVersionNegotiation())...)
	if err != nil {
		return nil, fault.Envf("docker_address", []string{"DOCKER_HOST looks like unix:///var/run/docker.sock"}, "the Docker address %s: %w", p, err)
	}
	within, cancel := context.WithTimeout(ctx, pingLimit)
	defer cancel()
	pong, err := cli.Ping(within)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, fmt.Errorf("looking for a Docker daemon: %w", ctx.Err())
	case within.Err() != nil:
		return nil, fault.Envf("docker_silent", restartHints(), "the Docker daemon at %s did not answer within %s", p, pingLimit)
	case errors.Is(err, fs.ErrPermission):
		return nil, fault.Envf("docker_permission", []string{"join the group docker (sudo usermod -aG docker $USER, then log in again), or run as root", "or use the engine that needs no daemon and no root: --engine gvisor"},
			"this user may not use the Docker daemon at %s", p)
	default:
		return nil, fault.Envf("docker_unreachable", startHints(), "no Docker daemon answers at %s: %w", p, err)
	}
	if pong.APIVersion == "" {
		return nil, fault.Envf("docker_unreachable", startHints(), "what answers at %s is no Docker daemon", p)
	}
	if versions.LessThan(pong.APIVersion, oldestAPI) {
		return nil, fault.Envf("docker_too_old", []string{"update Docker to 20.10 or later", "or use the engine that needs no daemon: --engine gvisor"},
			"the Docker daemon at %s speaks API %s, and %s is the oldest that works", p, pong.APIVersion, oldestAPI)
	}
	if pong.OSType != "" && pong.OSType != "linux" {
		return nil, fault.Envf("docker_wrong_platform", []string{"switch Docker to Linux containers"}, "the Docker daemon at %s runs %s containers", p, pong.OSType)
	}
	cli.NegotiateAPIVersionPing(pong)
	return &daemon{Client: cli, at: p.String(), known: map[string]*userland{}}, nil
}

// about is what the daemon says about itself, which takes it some 20 ms; it is asked once.
func (d *daemon) about(ctx context.Context) (system.Info, error) {
	d.asking.Lock()
	defer d.asking.Unlock()
	if d.info != nil {
		return *d.info, nil
	}
	var info system.Info
	err := d.call(ctx, infoLimit, "asking the Docker daemon about itself", func(ctx context.Context) (err error) {
		info, err = d.Info(ctx)
		return d.tooNew(err)
	})
	if err == nil {
		d.info = &info
	}
	return info, err
}

// tooNew names the refusal of a daemon that no longer speaks our version of the API.
func (d *daemon) tooNew(err error) error {
	if err == nil || !strings.Contains(err.Error(), "is too old. Minimum supported API version") {
		return err
	}
	return fault.Envf("docker_too_new", []string{"update this program", "or use the engine that needs no daemon: --engine gvisor"},
		"the Docker daemon at %s no longer speaks API %s: %w", d.at, d.ClientVersion(), err)
}
