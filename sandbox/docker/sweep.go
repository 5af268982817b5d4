package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"sync"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"

	"github.com/trkr-dev/trkr-validate/internal/owner"
)

// Sweep removes the containers whose program is dead: it was killed before it could remove them. Those of another
// user, another machine or a pid namespace that is not this one are left alone, as nobody here knows whether their
// program lives.
func (e *engine) Sweep(ctx context.Context, dryRun bool) ([]string, error) {
	d, err := e.connect(ctx)
	if err != nil {
		return nil, err
	}
	var found []container.Summary
	err = d.call(ctx, infoLimit, "listing boxes", func(ctx context.Context) (err error) {
		found, err = d.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", labelOwner))})
		return d.tooNew(err)
	})
	if err != nil {
		return nil, err
	}
	var swept []string
	var failed []error
	for _, c := range found {
		o, err := owner.Parse(c.Labels[labelOwner])
		if err != nil || o.UID != os.Getuid() || c.Labels[labelMachine] != machine() || o.Alive() {
			continue
		}
		if !dryRun {
			if err := d.remove(ctx, c.ID, false); err != nil {
				failed = append(failed, err)
				continue
			}
		}
		name := c.ID
		if len(c.Names) > 0 {
			name = strings.TrimPrefix(c.Names[0], "/")
		}
		swept = append(swept, name)
	}
	return swept, errors.Join(failed...)
}

// machineTag stands for machine where a name would be too long.
func machineTag() string {
	sum := sha256.Sum256([]byte(machine()))
	return hex.EncodeToString(sum[:4])
}

// machine is this one's name: a daemon may serve several, and another machine's boot tells nothing of its programs here.
var machine = sync.OnceValue(func() string {
	host, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return host
})
