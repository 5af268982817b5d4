package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	imagetypes "github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

const (
	lostPatience = 2 * time.Second // for a container to be seen to have ended
	lostPause    = 20 * time.Millisecond
)

// lost tells why the box went: asked after its stream broke or its init fell silent.
func (b *box) lost(ctx context.Context) *sandbox.LostError {
	ctx, cancel := context.WithTimeout(ctx, lostLimit)
	defer cancel()
	patience := time.Now().Add(lostPatience)
	for {
		seen, err := b.daemon.ContainerInspect(ctx, b.id)
		switch {
		case cerrdefs.IsNotFound(err):
			return &sandbox.LostError{Cause: sandbox.CauseUnknown, Detail: "its container was removed by somebody else"}
		case err != nil:
			return &sandbox.LostError{Cause: sandbox.CauseUnknown, Engine: true, Detail: fmt.Sprintf("the Docker daemon at %s no longer answers: %v", b.daemon.at, err)}
		case !seen.State.Running:
			return b.ended(seen.State)
		case time.Now().After(patience):
			return &sandbox.LostError{Cause: sandbox.CauseUnknown, Detail: "its init no longer answers"}
		}
		// The stream ends a moment before the daemon knows that the container has, and why.
		time.Sleep(lostPause)
	}
}

func (b *box) ended(state *container.State) *sandbox.LostError {
	if state.OOMKilled {
		return &sandbox.LostError{Cause: sandbox.CauseMemory, Detail: "its init was killed for memory"}
	}
	detail := fmt.Sprintf("its init ended with exit code %d", state.ExitCode)
	for _, more := range []string{state.Error, b.stream.said()} {
		if more != "" {
			detail += ": " + more
		}
	}
	return &sandbox.LostError{Cause: sandbox.CauseUnknown, Detail: detail}
}

// close ends the box and removes its container. The init ends it when its stdin does, which costs less than a kill by
// the daemon; one that does not is killed.
func (b *box) close() error {
	_ = b.stream.Close() // it may be closed already; the daemon then knows
	ctx, cancel := context.WithTimeout(context.Background(), endLimit)
	defer cancel()
	ended, failed := b.daemon.ContainerWait(ctx, b.id, container.WaitConditionNotRunning)
	select {
	case <-ended:
	case <-failed: // whatever it was, what counts is whether the container can be removed
	}
	return errors.Join(b.daemon.remove(context.Background(), b.id, false), b.daemon.removeImage(context.Background(), b.image))
}

// discard removes what a start that did not succeed may have left.
func (b *box) discard(ctx context.Context) error {
	if b.stream != nil {
		_ = b.stream.Close()
	}
	ctx = context.WithoutCancel(ctx)
	return errors.Join(b.daemon.remove(ctx, b.name, b.unsure), b.daemon.removeImage(ctx, b.image))
}

// removeImage removes an image of ours, unless another box uses it.
func (d *daemon) removeImage(ctx context.Context, image string) error {
	if image == "" {
		return nil
	}
	err := d.call(ctx, callLimit, "removing the image "+image, func(ctx context.Context) error {
		_, err := d.ImageRemove(ctx, image, imagetypes.RemoveOptions{PruneChildren: true})
		return err
	})
	if cerrdefs.IsNotFound(err) || cerrdefs.IsConflict(err) {
		return nil
	}
	return err
}

// remove removes a container, running or not, and tries again for a while. One that is not there is removed; with
// appears, it is given a moment to appear.
func (d *daemon) remove(ctx context.Context, name string, appears bool) error {
	ctx, cancel := context.WithTimeout(ctx, removeLimit)
	defer cancel()
	patience := time.Now().Add(2 * time.Second)
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		err := d.ContainerRemove(ctx, name, container.RemoveOptions{Force: true, RemoveVolumes: true})
		switch {
		case err == nil:
			return nil
		case cerrdefs.IsNotFound(err):
			if !appears || time.Now().After(patience) {
				return nil
			}
		case ctx.Err() != nil, client.IsErrConnectionFailed(err) && time.Now().After(patience):
			return fault.Envf("docker_leftover", []string{"once Docker answers again: trkr-validate sweep, or docker rm -f " + name},
				"removing the container %s: %w", name, err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}
