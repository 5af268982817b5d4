package docker

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"

	"github.com/trkr-dev/trkr-validate/images"
	"github.com/trkr-dev/trkr-validate/internal/owner"
)

// SweepImages removes, of the images that this program made, those that no container is made of: base images but for the
// one that a run without mounts would take now, those that were loaded or built, and those of builds whose program was
// killed. An image that got another name from somebody keeps that.
func (e *engine) SweepImages(ctx context.Context, dryRun bool) ([]string, error) {
	d, err := e.connect(ctx)
	if err != nil {
		return nil, err
	}
	tags, err := d.ownImages(ctx)
	if err != nil {
		return nil, err
	}
	keep := currentBase()
	var swept []string
	var failed []error
	for _, tag := range tags {
		if tag == keep {
			continue
		}
		if !dryRun {
			err := d.call(ctx, callLimit, "removing the image "+tag, func(ctx context.Context) error {
				_, err := d.ImageRemove(ctx, tag, image.RemoveOptions{PruneChildren: true})
				return err
			})
			if cerrdefs.IsNotFound(err) || cerrdefs.IsConflict(err) { // gone, or used since we looked
				continue
			}
			if err != nil {
				failed = append(failed, err)
				continue
			}
		}
		swept = append(swept, tag)
	}
	return swept, errors.Join(failed...)
}

// ownImages are the names of the images that this program made and that no container is made of.
func (d *daemon) ownImages(ctx context.Context) ([]string, error) {
	var boxes []container.Summary
	err := d.call(ctx, infoLimit, "listing containers", func(ctx context.Context) (err error) {
		boxes, err = d.ContainerList(ctx, container.ListOptions{All: true})
		return d.tooNew(err)
	})
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	for _, b := range boxes {
		used[b.ImageID] = true
	}
	var tags []string
	for label, name := range map[string]string{labelBase: baseName, labelImage: loadedName} {
		var found []image.Summary
		err := d.call(ctx, infoLimit, "listing images", func(ctx context.Context) (err error) {
			found, err = d.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(filters.Arg("label", label))})
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, i := range found {
			for _, tag := range i.RepoTags {
				if strings.HasPrefix(tag, name+":") && !used[i.ID] {
					tags = append(tags, tag)
				}
			}
		}
	}
	builds, err := d.deadBuilds(ctx)
	tags = append(slices.DeleteFunc(tags, func(tag string) bool { return strings.HasPrefix(tag, buildTag) }), builds...)
	slices.Sort(tags)
	return tags, err
}

// sweepBuilds removes the images of builds whose program was killed: they may be large, and nobody has a use for them.
// What fails is left to the next build, or to SweepImages, which says why: a sweep that fails stops no build.
func (d *daemon) sweepBuilds(ctx context.Context) {
	tags, _ := d.deadBuilds(ctx)
	for _, tag := range tags {
		_ = d.removeImage(ctx, tag)
	}
}

// deadBuilds are the names that builds gave to images whose program was killed. Those of another user or another machine
// are left alone, as nobody here knows whether their program lives.
func (d *daemon) deadBuilds(ctx context.Context) ([]string, error) {
	var found []image.Summary
	err := d.call(ctx, infoLimit, "listing images", func(ctx context.Context) (err error) {
		found, err = d.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(filters.Arg("reference", buildTag+"*"))})
		return err
	})
	var tags []string
	for _, i := range found {
		for _, tag := range i.RepoTags {
			rest, ok := strings.CutPrefix(tag, buildTag)
			if !ok {
				continue
			}
			// Behind the owner stand three more words; its own last field is the boot's id, which has dashes as well.
			words := strings.Split(rest, "-")
			n := max(0, len(words)-3)
			o, err := owner.Parse(strings.Join(words[:n], "-"))
			if err == nil && o.UID == os.Getuid() && words[n] == machineTag() && !o.Alive() {
				tags = append(tags, tag)
			}
		}
	}
	return tags, err
}

// currentBase is the base image of a box of this machine's userland, without mounts; empty where there is none.
func currentBase() string {
	if runtime.GOOS != "linux" {
		return ""
	}
	plan, err := images.HostRoot(nil, nil)
	if err != nil {
		return ""
	}
	layer, err := baseLayer(plan)
	if err != nil {
		return ""
	}
	return baseName + ":" + baseTag(layer)
}
