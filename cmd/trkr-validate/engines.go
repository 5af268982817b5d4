package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/rs/zerolog"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/docker"
	"github.com/trkr-dev/trkr-validate/sandbox/gvisor"
)

// engines is the explicit list of what can make a box.
func engines(log zerolog.Logger) []sandbox.Engine {
	return []sandbox.Engine{gvisor.New(gvisor.Options{}), docker.New(docker.Options{})}
}

// daemonPatience is how long "auto" waits for a daemon to answer.
const daemonPatience = 2 * time.Second

// choose finds the engine that the configuration names. For "auto" the reason says why it is this one: the embedded
// engine where the box shows this machine's userland, a daemon where an image is named and one answers in time.
func choose(ctx context.Context, all []sandbox.Engine, name, image string) (engine sandbox.Engine, reason string, err error) {
	find := func(name string) (sandbox.Engine, error) {
		for _, e := range all {
			if e.Name() == name {
				return e, nil
			}
		}
		return nil, fault.Usagef("engine", nil, "no engine is called %q", name)
	}
	switch {
	case name != "auto":
	case runtime.GOOS != "linux":
		name, reason = "docker", "auto: gvisor runs on Linux only"
	case image == "host":
		name, reason = "gvisor", "auto: the image is host"
	default:
		name, reason = "gvisor", "auto: "
		var d sandbox.Engine
		if d, err = find("docker"); err != nil {
			return nil, "", err
		}
		limited, cancel := context.WithTimeout(ctx, daemonPatience)
		defer cancel()
		if _, cerr := d.Check(limited); cerr != nil {
			reason += fmt.Sprintf("an image is named and no Docker daemon answers (%s)", firstLine(cerr.Error()))
		} else {
			name, reason = "docker", reason+"an image is named and a Docker daemon answers"
		}
	}
	engine, err = find(name)
	return engine, reason, err
}
