//go:build linux && (amd64 || arm64)

package gvisor

import (
	"context"
	"os"
	"path/filepath"

	"github.com/trkr-dev/trkr-validate/images"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

const (
	hostImage = "host"
	imageLink = "image"
)

// userland is what a box's root filesystem is.
type userland struct {
	image   *images.Root // nil: the host's
	host    images.Host  // of the image "host"
	path    string       // PATH
	name    string
	digest  string
	product bool // the image is of the artifact set
}

// userland finds the root filesystem that a box is to have. The caller closes it.
func (e *engine) userland(ctx context.Context, spec sandbox.Spec) (*userland, error) {
	if spec.Image == hostImage {
		plan, err := images.HostRoot(spec.Mounts, spec.Hidden)
		return &userland{host: plan, path: plan.Path, name: plan.Userland}, err
	}
	if len(spec.Mounts) > 0 {
		return nil, fault.Usagef("mount_invalid", []string{"remove validate.mounts, or use the image \"host\""},
			"folders of this machine are mounted with the image \"host\" only, not with %q", spec.Image)
	}
	if err := loads(spec.Image); err != nil {
		return nil, err
	}
	root, err := e.images.Open(ctx, images.Request{Name: spec.Image, Dir: spec.ImageDir, Input: spec.Input, Build: e.options.Build})
	if err != nil {
		return nil, err
	}
	u := &userland{image: root, path: root.Path, name: root.Userland, digest: root.Digest, product: root.Product}
	if u.path == "" {
		u.path = sandbox.DefaultPath
	}
	return u, nil
}

// Fetch implements sandbox.Fetcher.
func (e *engine) Fetch(ctx context.Context, image, dir string) error {
	name, err := images.ParseName(image)
	if err != nil || name.Kind == images.KindHost || name.Kind == images.KindArtifact {
		return err
	}
	if err := loads(image); err != nil {
		return err
	}
	root, err := e.images.Open(ctx, images.Request{Name: image, Dir: dir, Build: e.options.Build})
	if err != nil {
		return err
	}
	return root.Close()
}

func (u *userland) close() error {
	if u.image == nil {
		return nil
	}
	return u.image.Close()
}

// lay gives the path of the root filesystem, as the bundle in dir names it. An image's is shown from where it is kept:
// it has a place for everything that a box mounts.
func (u *userland) lay(dir string) (string, error) {
	if u.image != nil {
		return asText(u.image.Dir, filepath.Join(dir, imageLink))
	}
	root := filepath.Join(dir, rootfsDir)
	if err := os.Mkdir(root, 0o755); err != nil {
		return "", err
	}
	if err := os.Chmod(root, 0o755); err != nil { // whatever the umask: all uids of the box must come in
		return "", err
	}
	if err := u.host.Write(root); err != nil {
		return "", err
	}
	return rootfsDir, os.WriteFile(filepath.Join(root, sandbox.Init), nil, 0o755)
}
