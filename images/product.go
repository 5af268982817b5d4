package images

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// findProduct gives the image that the artifact set holds: what docker save or an exporter of OCI layouts wrote, or the
// tar of a root filesystem, any of them also compressed. It is not kept when its last box is gone.
func (s *Store) findProduct(ctx context.Context, n Name, req Request) (_ *source, err error) {
	root, err := os.OpenRoot(filepath.Join(req.Input, "artifact"))
	if err != nil {
		return nil, unreadable(req.Name, err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if info, err := root.Stat(n.Path); err != nil || !info.Mode().IsRegular() {
		return nil, unreadable(req.Name, errors.Join(err, errors.New("the artifact set has no such file")))
	}
	file, err := root.Open(n.Path)
	if err != nil {
		return nil, unreadable(req.Name, err)
	}
	sum := newDigester()
	if _, err = io.Copy(sum, contextReader{ctx, file}); err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(unreadable(req.Name, err), file.Close())
	}
	src, err := s.findArchive(ctx, req.Name, file)
	if f := fault.Of(err); f != nil && f.Code == "image_not_image" && src == nil {
		return s.rootArchive(n, req, sum.digest())
	}
	if err == nil {
		src.once = true
	}
	return src, err
}

// rootArchive takes a tar for a root filesystem.
func (s *Store) rootArchive(n Name, req Request, digest string) (*source, error) {
	open := func(context.Context) (io.ReadCloser, error) {
		file, err := openRegular(filepath.Join(req.Input, "artifact", n.Path))
		if err != nil {
			return nil, unreadable(req.Name, err)
		}
		return file, nil
	}
	c := &content{
		config: v1.ConfigFile{OS: "linux", Architecture: strings.TrimPrefix(s.platform, "linux/")},
		layers: []layer{{name: n.Path, open: open}},
	}
	return &source{digest: digest, once: true, read: func(context.Context) (*content, error) { return c, nil }}, nil
}
