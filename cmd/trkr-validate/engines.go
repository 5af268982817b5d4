package main

import (
	"context"
	"runtime"
	"strings"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/docker"
	"github.com/trkr-dev/trkr-validate/sandbox/gvisor"
)

// engines is the explicit list of what can make a box.
func engines() []sandbox.Engine {
	return []sandbox.Engine{gvisor.New(gvisor.Options{Build: docker.NewBuilder(docker.Options{})}), docker.New(docker.Options{})}
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
// engine where the box shows this machine's userland; where an image is named, a daemon if one answers, as it most
// likely has the image already.
func choose(ctx context.Context, all []sandbox.Engine, name, image string) (engine sandbox.Engine, reason string, err error) {
	switch {
	case name != "auto":
	case runtime.GOOS != "linux":
		name, reason = "docker", "auto: gvisor runs on Linux only"
	case image == "host":
		name, reason = "gvisor", "auto: the image is host"
	case answers(ctx, all):
		name, reason = "docker", "auto: an image is named and a Docker daemon answers"
	default:
		name, reason = "gvisor", "auto: an image is named and no Docker daemon answers"
	}
	engine, err = named(all, name)
	return engine, reason, err
}

// answers tells whether there is a Docker daemon that can be used.
func answers(ctx context.Context, all []sandbox.Engine) bool {
	docker, err := named(all, "docker")
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, daemonPatience)
	defer cancel()
	_, err = docker.Check(ctx)
	return err == nil
}
