package images

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// files is a folder, or an archive of one.
type files interface {
	// open opens a regular file, for reading from its beginning, and tells its size. What is not there is fs.ErrNotExist.
	open(name string) (io.ReadCloser, int64, error)
}

// folder is files of a folder of this machine. No link leads out of it.
type folder struct{ *os.Root }

func (f folder) open(name string) (io.ReadCloser, int64, error) {
	info, err := f.Stat(name)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%q is no regular file", name)
	}
	file, err := f.Open(name)
	return file, info.Size(), err
}

const (
	layoutIndex = "index.json"
	refName     = "org.opencontainers.image.ref.name"
)

// findLayout finds an image in an OCI layout: the one that want names by tag or digest, or else the only one there is for
// the platform.
func findLayout(ref, want, platform string, in files) (*source, error) {
	raw, err := readFile(in, layoutIndex)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, notImage("the image %q is no OCI layout: it has no %s", ref, layoutIndex)
	}
	if err != nil {
		return nil, unreadable(ref, err)
	}
	var index v1.IndexManifest
	if err := json.Unmarshal(raw, &index); err != nil {
		return nil, damaged("reading the %s of the image %q: %w", layoutIndex, ref, err)
	}
	top, err := pick(ref, want, platform, index.Manifests)
	if err != nil {
		return nil, err
	}
	from := layoutBlobs{ref, in}
	read := func(ctx context.Context) (*content, error) {
		manifest, err := readBlob(ctx, from, top)
		if err != nil {
			return nil, err
		}
		if mediaIsIndex(top.MediaType, manifest) {
			d, err := choosePlatform(ref, platform, manifest)
			if err != nil {
				return nil, err
			}
			if manifest, err = readBlob(ctx, from, d); err != nil {
				return nil, err
			}
		}
		return readManifest(ctx, ref, platform, manifest, from)
	}
	return &source{digest: top.Digest.String(), read: read}, nil
}

// pick finds the image that is meant among those of a layout.
func pick(ref, want, platform string, all []v1.Descriptor) (v1.Descriptor, error) {
	var found []v1.Descriptor
	var tags []string
	for _, d := range all {
		tag := d.Annotations[refName]
		if tag != "" {
			tags = append(tags, tag)
		}
		named := want == "" || tag == want || strings.HasSuffix(tag, ":"+want) || d.Digest.String() == want
		same := func(o v1.Descriptor) bool { return o.Digest == d.Digest }
		if named && !slices.ContainsFunc(found, same) {
			found = append(found, d)
		}
	}
	fits := func(d v1.Descriptor) bool {
		return d.Platform == nil || d.Platform.OS+"/"+d.Platform.Architecture == platform
	}
	if len(found) > 1 {
		found = slices.DeleteFunc(found, func(d v1.Descriptor) bool { return !fits(d) })
		if len(found) == 0 {
			return v1.Descriptor{}, WrongPlatform(ref, platform, "none of the layout's images is made for it")
		}
	}
	hint := "it holds images without a tag: name one by its digest"
	if len(tags) > 0 {
		hint = "it holds the tags " + strings.Join(tags[:min(len(tags), 10)], ", ")
	}
	switch {
	case len(found) == 0:
		return v1.Descriptor{}, fault.Envf("image_not_found", []string{hint}, "there is no image %q", ref)
	case len(found) > 1:
		return v1.Descriptor{}, fault.Usagef("image_ambiguous", []string{hint, "write oci:FOLDER:TAG or oci:FOLDER@sha256:..."}, "the image %q could be any of %d", ref, len(found))
	}
	return found[0], nil
}

// layoutBlobs are the parts of an image in a layout.
type layoutBlobs struct {
	ref string
	in  files
}

func (b layoutBlobs) open(_ context.Context, d v1.Descriptor) (io.ReadCloser, error) {
	if d.Digest.Hex == "" {
		return nil, damaged("the image %q has a part without a digest", b.ref)
	}
	r, _, err := b.in.open(path.Join("blobs", d.Digest.Algorithm, d.Digest.Hex))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, damaged("the image %q lacks a part: %s", b.ref, d.Digest)
	}
	if err != nil {
		return nil, unreadable(b.ref, err)
	}
	return verify(r, d, func(err error) error {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		return unreadable(b.ref, err)
	})
}

// readFile reads a file that describes an image.
func readFile(in files, name string) ([]byte, error) {
	r, size, err := in.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if size > maxJSON {
		return nil, tooLarge("the image's %q holds %d bytes, and %d is the most", name, size, maxJSON)
	}
	return io.ReadAll(r)
}

// unreadable names why the files of an image that is on this machine could not be read.
func unreadable(ref string, err error) error {
	if _, named := errors.AsType[*fault.Error](err); named {
		return err
	}
	hint := "make sure that its files can be read"
	if errors.Is(err, fs.ErrNotExist) {
		return fault.Envf("image_not_found", []string{"check the path: it is taken from the repository's root where it is not absolute"}, "there is no image %q: %w", ref, err)
	}
	return fault.Envf("image_unreadable", []string{hint}, "reading the image %q: %w", ref, err)
}
