package docker

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/go-units"

	"github.com/trkr-dev/trkr-validate/sandbox"
)

// info tells what is known of the box, its limits as the daemon says that they are in force.
func (b *box) info(ctx context.Context, spec sandbox.Spec, u *userland) (sandbox.Info, error) {
	about, err := b.daemon.about(ctx)
	if err != nil {
		return sandbox.Info{}, err
	}
	var seen container.InspectResponse
	err = b.daemon.call(ctx, callLimit, "looking at the box", func(ctx context.Context) (err error) {
		seen, err = b.daemon.ContainerInspect(ctx, b.id)
		return err
	})
	if err != nil {
		return sandbox.Info{}, err
	}
	return sandbox.Info{
		Engine: Name, EngineVersion: about.ServerVersion,
		Image: spec.Image, ImageDigest: u.digest, Userland: u.name, Product: u.product, Path: u.path,
		Limits: limits(spec.Limits, seen.HostConfig.Resources, b.warnings),
	}, nil
}

// limits tells how each limit is kept. A daemon that cannot keep one drops it and warns.
func limits(asked sandbox.Limits, kept container.Resources, warnings []string) map[string]string {
	unavailable := "unavailable: the daemon does not say why"
	if len(warnings) > 0 {
		unavailable = "unavailable: " + strings.Join(warnings, "; ")
	}
	out := map[string]string{
		"memory": unavailable, "cpus": unavailable, "pids": unavailable,
		"output": units.BytesSize(float64(asked.Output)) + " enforced",
		"tmp":    units.BytesSize(float64(asked.Tmp)) + " enforced",
	}
	if kept.Memory > 0 {
		out["memory"] = units.BytesSize(float64(kept.Memory)) + " enforced"
		if kept.MemorySwap != kept.Memory {
			out["memory"] += ", swap beyond it not limited"
		}
	}
	if kept.NanoCPUs > 0 {
		cores := float64(kept.NanoCPUs) / 1e9
		out["cpus"] = cpus(cores) + " enforced"
		if cores < asked.CPUs {
			out["cpus"] += fmt.Sprintf(", all that there are of %s", cpus(asked.CPUs))
		}
	}
	if kept.PidsLimit != nil && *kept.PidsLimit > 0 {
		out["pids"] = fmt.Sprintf("%d enforced (%d and the %d threads of the init)", *kept.PidsLimit, *kept.PidsLimit-initThreads, initThreads)
	}
	return out
}

func cpus(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
