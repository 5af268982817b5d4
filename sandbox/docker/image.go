package docker

import (
	"context"
	"path"
	"slices"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/mount"

	"github.com/trkr-dev/trkr-validate/images"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

// hostImage is the image that means this machine's own userland.
const hostImage = "host"

// userland is where a box's root filesystem comes from.
type userland struct {
	image   string // what a container is made of: an id, or the base image's name
	digest  string // "sha256:..."; empty for the host's
	path    string // PATH
	name    string // PRETTY_NAME, where it is known before the box runs
	env     []string
	volumes []string // paths that the image asks volumes for
	mounts  []mount.Mount
	found   image.InspectResponse
	product bool                        // of the artifact set: it is removed with its box
	prepare func(context.Context) error // makes the image if it is not there
}

// pulled finds the image of a reference, and pulls it if it is not there. Which one it is is settled by the first that
// asks: a tag may be given to another while this program runs.
func (e *engine) pulled(ctx context.Context, d *daemon, p program, ref string) (*userland, error) {
	name, err := parseReference(ref)
	if err != nil {
		return nil, err
	}
	d.pulling.Lock()
	defer d.pulling.Unlock()
	if u, ok := d.known[ref]; ok {
		return u, nil
	}
	u, err := d.inspect(ctx, p, ref, reference.TagNameOnly(name).String())
	if cerrdefs.IsNotFound(err) {
		if err := d.pull(ctx, name, "linux/"+p.arch, e.silence); err != nil {
			return nil, err
		}
		u, err = d.inspect(ctx, p, ref, reference.TagNameOnly(name).String())
	}
	if err != nil {
		return nil, err
	}
	u.digest = digestOf(u.found, name)
	u.prepare = func(ctx context.Context) error { // removed in the meantime
		if err := d.pull(ctx, name, "linux/"+p.arch, e.silence); err != nil {
			return err
		}
		again, err := d.inspect(ctx, p, ref, reference.TagNameOnly(name).String())
		if err == nil && again.image != u.image {
			err = imageChanged(ref)
		}
		return err
	}
	d.known[ref] = u
	return u, nil
}

func imageChanged(ref string) error {
	return fault.Envf("image_changed", []string{"run again, with nothing that removes images meanwhile"}, "the image %q was removed while this program ran, and is another one now", ref)
}

// inspect looks at an image that the daemon has under a name; ref is how the user calls it.
func (d *daemon) inspect(ctx context.Context, p program, ref, name string) (*userland, error) {
	u := new(userland)
	err := d.call(ctx, callLimit, "looking for the image "+ref, func(ctx context.Context) (err error) {
		u.found, err = d.ImageInspect(ctx, name)
		return err
	})
	if err != nil {
		return nil, d.tooNew(err)
	}
	if u.found.Os != "linux" || u.found.Architecture != p.arch {
		return nil, images.WrongPlatform(ref, "linux/"+p.arch, "it is for "+u.found.Os+"/"+u.found.Architecture)
	}
	u.image, u.digest = u.found.ID, u.found.ID
	if c := u.found.Config; c != nil {
		for _, v := range c.Env {
			key, value, _ := strings.Cut(v, "=")
			if key == "PATH" {
				u.path = value
			}
			u.env = append(u.env, key)
		}
		for v := range c.Volumes {
			u.volumes = append(u.volumes, path.Clean("/"+v))
		}
		slices.Sort(u.volumes)
	}
	if u.path == "" {
		u.path = sandbox.DefaultPath
	}
	for _, v := range u.volumes {
		for _, own := range []string{sandbox.Root, path.Dir(sandbox.Init)} {
			if strings.HasPrefix(v, own+"/") {
				return nil, fault.Envf("image_unusable", []string{"use an image without that VOLUME"}, "the image %q asks for a volume at %s, where the box has its own things", ref, v)
			}
		}
	}
	return u, nil
}

// parseReference reads the name of an image in a registry.
func parseReference(ref string) (reference.Named, error) {
	name, err := reference.ParseDockerRef(ref)
	if err != nil {
		return nil, fault.Usagef("image_invalid", []string{"an image is \"host\" or looks like debian:12 or registry.example.com/team/name@sha256:..."}, "the image %q: %w", ref, err)
	}
	return name, nil
}

// digestOf is that of the image's manifest as its repository knows it; an image that came from no registry has only the
// digest of its configuration, which is as good at telling two images apart.
func digestOf(found image.InspectResponse, name reference.Named) string {
	for _, known := range found.RepoDigests {
		repository, sum, ok := strings.Cut(known, "@")
		if parsed, err := reference.ParseNormalizedNamed(repository); ok && err == nil && parsed.Name() == name.Name() {
			return sum
		}
	}
	return found.ID
}
