package stage

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/trkr-dev/trkr-validate/artifact"
	"github.com/trkr-dev/trkr-validate/config"
	"github.com/trkr-dev/trkr-validate/images"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/validator"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// checkImage refuses an image that cannot be meant, before a long build, and one that the ticket could have made: the
// userland of the box, or of the build, would be the implementer's.
func (r *run) checkImage(ctx context.Context, image string) error {
	name, err := images.ParseName(image)
	if err != nil {
		return err
	}
	if name.Kind == images.KindArtifact {
		for _, agent := range r.req.Agents {
			if agent.Trust() == validator.Inside {
				return fault.Usagef("image_of_product", []string{"use an agent that stands outside of the box, such as the probe", "or name an image that is not of the artifact set"},
					"the agent %s would live in the product: the image is %q", agent.Name(), image)
			}
		}
	}
	if !name.Local() {
		return nil
	}
	dir, err := r.imageDir()
	if err != nil {
		return err
	}
	path := name.In(dir)
	if real, err := filepath.EvalSymlinks(path); err == nil { // one that is not there is the engine's to tell
		path = real
	}
	worktree, err := r.repo.OfTicket(ctx, r.ticket, r.req.Config.Ticket.Branch, path)
	if err != nil || worktree == "" {
		return err
	}
	return fault.Usagef("image_of_ticket",
		[]string{
			"keep the image outside of worktrees that a ticket's work is checked out in: call this program from a checkout of the default branch, or name an absolute path elsewhere",
			"or push it to a registry and name it by its digest",
		}, "the image %q lies in %s, where a ticket's work is checked out and decides what it is", image, worktree)
}

// imageDir is where relative paths of images begin: the root of the checkout that the program was called in.
func (r *run) imageDir() (string, error) {
	dir, err := config.Root(r.req.Dir)
	if err != nil || dir == "" {
		return r.repo.Root(), err
	}
	return dir, nil
}

// productImage makes of what is wrong with an image of the artifact set what it is: the product's fault.
func (r *run) productImage(err error) error {
	name, perr := images.ParseName(r.req.Config.Validate.Image)
	f := fault.Of(err)
	if perr != nil || name.Kind != images.KindArtifact || f == nil || !strings.HasPrefix(f.Code, "image_") {
		return err
	}
	reason := verdict.ArtifactUnsafe
	switch f.Code {
	case "image_not_found":
		reason = verdict.ArtifactMissing
	case "image_too_large":
		reason = verdict.ArtifactTooLarge
	}
	return &verdict.Refusal{Reason: reason, Detail: f.Error(), Hints: f.Hints}
}

// installed is what of the artifact set an install may be about: an image of it is in place already.
func (r *run) installed() []verdict.Entry {
	name, err := images.ParseName(r.req.Config.Validate.Image)
	if err != nil || name.Kind != images.KindArtifact {
		return r.record.Subject.Manifest
	}
	return slices.DeleteFunc(slices.Clone(r.record.Subject.Manifest), func(e verdict.Entry) bool {
		raw, err := artifact.UnescapePath(e.Path)
		return err == nil && raw == filepath.ToSlash(filepath.Clean(name.Path))
	})
}
