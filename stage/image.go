package stage

import (
	"path/filepath"
	"strings"

	"github.com/trkr-dev/trkr-validate/config"
	"github.com/trkr-dev/trkr-validate/images"
	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// checkImage refuses an image that cannot be meant, before a long build, and one that the ticket could have made: the
// userland of the box would be the implementer's.
func (r *run) checkImage() error {
	name, err := images.ParseName(r.req.Config.Validate.Image)
	if err != nil || !name.Local() {
		return err
	}
	dir, err := r.imageDir()
	if err != nil {
		return err
	}
	worktree, err := filepath.EvalSymlinks(r.ticket.Worktree)
	if err != nil {
		return fault.Env("folder", err)
	}
	path := name.In(dir)
	if real, err := filepath.EvalSymlinks(path); err == nil { // one that is not there is the engine's to tell
		path = real
	}
	if path == worktree || strings.HasPrefix(path, worktree+string(filepath.Separator)) {
		return fault.Usagef("image_of_ticket",
			[]string{
				"keep the image outside of the ticket's worktree: call this program from a checkout of the default branch, or name an absolute path elsewhere",
				"or push it to a registry and name it by its digest",
			}, "the image %q lies in the ticket's own worktree %s, where the ticket decides what it is", r.req.Config.Validate.Image, worktree)
	}
	return nil
}

// imageDir is where relative paths of images begin: the root of the checkout that the program was called in.
func (r *run) imageDir() (string, error) {
	dir, err := config.Root(r.req.Dir)
	if err != nil || dir == "" {
		return r.repo.Root(), err
	}
	return dir, nil
}
