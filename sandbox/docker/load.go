package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"

	"github.com/trkr-dev/trkr-validate/images"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

const (
	// loadedName is the repository of the images that this program gave to the daemon: those of layouts and archives.
	loadedName = "trkr-validate-image"
	// labelImage marks one, with the digest of what it was made of.
	labelImage = "dev.trkr.validate.image"
)

// store gives the store of images for the daemon's processor.
func (e *engine) store(arch string) *images.Store {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.images == nil {
		e.images = images.NewStore(e.options.ImageDir, arch)
	}
	return e.images
}

// loaded gives an image of this machine's files, which the daemon is given where it does not have it.
func (e *engine) loaded(ctx context.Context, d *daemon, p program, spec sandbox.Spec) (_ *userland, err error) {
	req := images.Request{Name: spec.Image, Dir: spec.ImageDir, Input: spec.Input}
	found, err := e.store(p.arch).Find(ctx, req)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	tag := loadedName + ":" + strings.TrimPrefix(found.Digest, "sha256:")[:32]
	if err := d.load(ctx, tag, found); err != nil {
		return nil, err
	}
	u, err := d.inspect(ctx, p, spec.Image, tag)
	if err != nil {
		return nil, err
	}
	u.digest, u.product = found.Digest, found.Once
	u.prepare = func(ctx context.Context) error { // swept in the meantime
		again, err := e.store(p.arch).Find(ctx, req)
		if err != nil {
			return err
		}
		return errors.Join(d.load(ctx, tag, again), again.Close())
	}
	return u, nil
}

// load gives an image to the daemon under a tag, unless it is there.
func (d *daemon) load(ctx context.Context, tag string, found *images.Found) error {
	d.making.Lock()
	defer d.making.Unlock()
	var there image.InspectResponse
	err := d.call(ctx, callLimit, "looking for the image "+tag, func(ctx context.Context) (err error) {
		there, err = d.ImageInspect(ctx, tag)
		return err
	})
	if err == nil && there.Config != nil && there.Config.Labels[labelImage] == found.Digest {
		return nil
	}
	if err != nil && !cerrdefs.IsNotFound(err) {
		return d.tooNew(err)
	}
	return d.give(ctx, tag, found)
}

// errTaken ends the writing of an image that the daemon no longer reads.
var errTaken = errors.New("the daemon has read enough")

// give has the daemon load what docker save would have written. It takes as long as it makes progress.
func (d *daemon) give(ctx context.Context, tag string, found *images.Found) error {
	silent := fmt.Errorf("the Docker daemon at %s did nothing for %s", d.at, loadSilence)
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(loadSilence, func() { cancel(silent) })
	defer watch.Stop()

	read, write := io.Pipe()
	saved := make(chan error, 1)
	go func() {
		err := found.Save(within, tag, map[string]string{labelImage: found.Digest}, write)
		saved <- err
		_ = write.CloseWithError(err) // a pipe's never fails
	}()
	err := func() error {
		answer, err := d.ImageLoad(within, awake{read, watch}, client.ImageLoadWithQuiet(false))
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		return progress(answer.Body, func() { watch.Reset(loadSilence) })
	}()
	_ = read.CloseWithError(errTaken)
	wrong := <-saved
	switch {
	case err == nil && wrong == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("giving the image %s to Docker: %w", tag, ctx.Err())
	case context.Cause(within) == silent:
		return fault.Envf("docker_silent", restartHints(), "giving the image %s to Docker: %w", tag, silent)
	case wrong != nil && !errors.Is(wrong, errTaken):
		return wrong // the daemon saw only that it ended
	case err == nil:
		err = wrong
	}
	return loadFault(tag, err)
}

// awake tells a watch that what it reads goes on.
type awake struct {
	io.Reader
	watch *time.Timer
}

func (a awake) Read(p []byte) (int, error) {
	a.watch.Reset(loadSilence)
	return a.Reader.Read(p)
}

func loadFault(tag string, err error) error {
	switch {
	case client.IsErrConnectionFailed(err):
		return fault.Envf("docker_unreachable", restartHints(), "giving the image %s to Docker: %w", tag, err)
	case strings.Contains(err.Error(), "no space left on device"):
		return fault.Envf("docker_disk_full", diskHints(), "giving the image %s to Docker: %w", tag, err)
	}
	return fault.Envf("image_damaged", []string{"name another image, or save or build this one anew"}, "Docker does not take the image as %s: %w", tag, err)
}
