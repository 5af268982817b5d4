package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/docker"
	"github.com/trkr-dev/trkr-validate/sandbox/gvisor"
)

// engines is the explicit list of what can make a box.
func engines() []sandbox.Engine {
	return []sandbox.Engine{gvisor.New(gvisor.Options{}), docker.New(docker.Options{})}
}

// named finds an engine by its name.
func named(all []sandbox.Engine, name string) (sandbox.Engine, error) {
	names := make([]string, len(all))
	for i, e := range all {
		if e.Name() == name {
			return e, nil
		}
		names[i] = e.Name()
	}
	return nil, fault.Usagef("engine", []string{"known are " + strings.Join(names, ", ")}, "no engine is called %q", name)
}

// daemonPatience is how long "auto" waits for a daemon to answer.
const daemonPatience = 2 * time.Second

// choose finds the engine that the configuration names. For "auto" the reason says why it is this one: the embedded
// engine where the box shows this machine's userland, a daemon where an image is named. The embedded engine runs no
// images, so without a daemon there is none: the error is what keeps the daemon from being used.
func choose(ctx context.Context, all []sandbox.Engine, name, image string) (engine sandbox.Engine, reason string, err error) {
	switch {
	case name != "auto":
	case runtime.GOOS != "linux":
		name, reason = "docker", "auto: gvisor runs on Linux only"
	case image == "host":
		name, reason = "gvisor", "auto: the image is host"
	default:
		if err := unanswered(ctx, all); err != nil {
			f := fault.Of(err)
			hints := slices.DeleteFunc(slices.Clone(f.Hints), func(h string) bool { return strings.Contains(h, "--engine gvisor") })
			if errors.Is(err, context.DeadlineExceeded) {
				f.Code, f.Err = "docker_silent", fmt.Errorf("no Docker daemon answered within %s", daemonPatience)
				hints = []string{"restart the daemon, and look into its log"}
			}
			return nil, "", fault.Envf(f.Code, append(hints, `or use the image "host", which needs no daemon`),
				"the image %q needs a Docker daemon, as gvisor cannot run images yet: %w", image, f.Err)
		}
		name, reason = "docker", "auto: an image is named and a Docker daemon answers"
	}
	engine, err = named(all, name)
	return engine, reason, err
}

// unanswered tells why no Docker daemon can be used, nil where one answers.
func unanswered(ctx context.Context, all []sandbox.Engine) error {
	docker, err := named(all, "docker")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, daemonPatience)
	defer cancel()
	_, err = docker.Check(ctx)
	return err
}
