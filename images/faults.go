package images

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// useAnother is what helps where an image is broken and nobody here can mend it.
const useAnother = "name another image, or pull or build this one anew"

func damaged(format string, args ...any) error {
	return fault.Envf("image_damaged", []string{useAnother}, format, args...)
}

func notImage(format string, args ...any) error {
	return fault.Envf("image_not_image", []string{"name a container image for Linux"}, format, args...)
}

func unsafe(format string, args ...any) error {
	return fault.Envf("image_unsafe", []string{useAnother}, format, args...)
}

func tooLarge(format string, args ...any) error {
	return fault.Envf("image_too_large", []string{"name a smaller image"}, format, args...)
}

// WrongPlatform is the fault of an image that is made for another platform than want.
func WrongPlatform(ref, want, why string) error {
	return fault.Envf("image_wrong_platform", []string{"name an image that is made for " + want},
		"the image %q does not run on %s: %s", ref, want, why)
}

// cacheFault names why the cache could not be written or read.
func cacheFault(dir string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fault.Envf("no_space", []string{
			"free some space on the disk of " + dir + ": trkr-validate sweep --images removes the images that no run uses",
			"or set XDG_CACHE_HOME to a folder on another disk",
		}, "keeping the image: %w", err)
	case errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.EINVAL):
		return damaged("the image holds a name that no file can have: %w", err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fault.Envf("cache_unwritable", []string{"set XDG_CACHE_HOME to a folder that you may write"}, "keeping the image: %w", err)
	}
	return fmt.Errorf("keeping the image: %w", err)
}
