package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/distribution/reference"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"

	"github.com/trkr-dev/trkr-validate/images"
	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// pull fetches an image. It takes as long as it makes progress: after silence without any it is given up.
func (d *daemon) pull(ctx context.Context, name reference.Named, platform string, silence time.Duration) error {
	ref := reference.FamiliarString(name)
	silent := fmt.Errorf("the registry reported nothing for %s", silence)
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(silence, func() { cancel(silent) })
	defer watch.Stop()

	err := func() error {
		body, err := d.ImagePull(within, name.String(), image.PullOptions{Platform: platform})
		if err != nil {
			return err
		}
		defer body.Close()
		return progress(body, func() { watch.Reset(silence) })
	}()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("pulling the image %q: %w", ref, ctx.Err())
	case errors.Is(context.Cause(within), silent):
		err = silent
	case client.IsErrConnectionFailed(err):
		return fault.Envf("docker_unreachable", restartHints(), "pulling the image %q: %w", ref, err)
	}
	return pullFault(ref, platform, err)
}

// progress reads a pull's reports to their end and gives the failure that they tell of.
func progress(body io.Reader, alive func()) error {
	reports := json.NewDecoder(body)
	for {
		var report struct {
			Error       string
			ErrorDetail struct{ Message string }
		}
		switch err := reports.Decode(&report); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case report.ErrorDetail.Message != "":
			return errors.New(report.ErrorDetail.Message)
		case report.Error != "":
			return errors.New(report.Error)
		}
		alive()
	}
}

// pullFault names a failed pull. The daemon hands on what the registry said as words only, so that its kind has to be
// told from them.
func pullFault(ref, platform string, err error) error {
	says := func(words ...string) bool {
		text := strings.ToLower(err.Error())
		for _, w := range words {
			if strings.Contains(text, w) {
				return true
			}
		}
		return false
	}
	switch {
	case says("no space left on device"):
		return fault.Envf("docker_disk_full", diskHints(), "pulling the image %q: %w", ref, err)
	case says("toomanyrequests", "too many requests", "rate limit"):
		return fault.Envf("image_rate_limited", []string{"wait, or log in to the registry: docker login, then docker pull " + ref, "an image that is there already is not pulled"},
			"the registry gives no more pulls for now of the image %q: %w", ref, err)
	case says("no matching manifest", "does not match the specified platform", "cannot be used on this platform"):
		return images.WrongPlatform(ref, platform, err.Error())
	case says("repository does not exist", "manifest unknown", "name unknown", "not found", "does not exist"):
		return fault.Envf("image_not_found", []string{"check its name and tag", "if it is private: docker login, then docker pull " + ref},
			"there is no image %q: %w", ref, err)
	case says("unauthorized", "authentication required", "no basic auth", "denied", "forbidden"):
		return fault.Envf("image_unauthorised", []string{"docker login, then docker pull " + ref + ": an image that is there already is not pulled"},
			"the registry refuses the image %q: %w", ref, err)
	}
	return fault.Envf("image_unreachable", []string{"check the network and the registry's name, or pull it by hand: docker pull " + ref, "or use the image \"host\", which needs no registry"},
		"pulling the image %q: %w", ref, err)
}
