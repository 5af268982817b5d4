package images

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/zstd"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// source is an image that was found: what it is, and how its content is read. Nothing of its content has been read yet.
type source struct {
	digest string // for the record
	once   bool   // not worth keeping: another run of the product has another
	read   func(ctx context.Context) (*content, error)
	close  func() error // nil: nothing is held open; read may set it
}

func (s *source) end() error {
	if s.close == nil {
		return nil
	}
	return s.close()
}

// content is an image for one platform. Its layers are read in order, each once.
type content struct {
	config v1.ConfigFile
	layers []layer
}

// layer is a layer as it is stored.
type layer struct {
	name   string  // for people
	diffID v1.Hash // of the layer, unpacked; the zero value where nobody says
	open   func(ctx context.Context) (io.ReadCloser, error)
}

// blobs is where the parts of an image are kept. What open gives fails, with a fault, where it is not what the
// descriptor says.
type blobs interface {
	open(ctx context.Context, d v1.Descriptor) (io.ReadCloser, error)
}

// choose gives the descriptor for a platform ("linux/amd64") among those of an index.
func choosePlatform(ref, platform string, index []byte) (v1.Descriptor, error) {
	var list v1.IndexManifest
	if err := json.Unmarshal(index, &list); err != nil {
		return v1.Descriptor{}, damaged("reading the index of the image %q: %w", ref, err)
	}
	var offered []string
	for _, d := range list.Manifests {
		if d.Platform == nil || d.Platform.OS == "unknown" { // a statement about an image, not an image
			continue
		}
		is := d.Platform.OS + "/" + d.Platform.Architecture
		if is == platform {
			return d, nil
		}
		offered = append(offered, is)
	}
	if len(offered) == 0 {
		return v1.Descriptor{}, notImage("the image %q is an index without any image for a platform", ref)
	}
	return v1.Descriptor{}, WrongPlatform(ref, platform, "it is made for "+strings.Join(offered, ", "))
}

// readManifest gives the image that a manifest describes.
func readManifest(ctx context.Context, ref, platform string, manifest []byte, from blobs) (*content, error) {
	var m v1.Manifest
	if err := json.Unmarshal(manifest, &m); err != nil {
		return nil, damaged("reading the manifest of the image %q: %w", ref, err)
	}
	if m.SchemaVersion != 2 || !m.Config.MediaType.IsConfig() {
		return nil, notImage("%q is no container image: its configuration is of the type %q", ref, m.Config.MediaType)
	}
	config, err := readBlob(ctx, from, m.Config)
	if err != nil {
		return nil, err
	}
	c, err := newContent(ref, platform, config)
	if err != nil {
		return nil, err
	}
	if len(c.config.RootFS.DiffIDs) != len(m.Layers) {
		return nil, damaged("the image %q has %d layers, and its configuration tells of %d", ref, len(m.Layers), len(c.config.RootFS.DiffIDs))
	}
	for i, d := range m.Layers {
		if !d.MediaType.IsLayer() || !d.MediaType.IsDistributable() {
			return nil, notImage("the image %q has a layer of the type %q, which is none for Linux", ref, d.MediaType)
		}
		c.layers = append(c.layers, layer{
			name: d.Digest.String(), diffID: c.config.RootFS.DiffIDs[i],
			open: func(ctx context.Context) (io.ReadCloser, error) { return from.open(ctx, d) },
		})
	}
	return c, c.check(ref)
}

// newContent reads the configuration of an image and makes sure that it is for the platform.
func newContent(ref, platform string, config []byte) (*content, error) {
	c := new(content)
	if err := json.Unmarshal(config, &c.config); err != nil {
		return nil, damaged("reading the configuration of the image %q: %w", ref, err)
	}
	if is := c.config.OS + "/" + c.config.Architecture; is != platform {
		return nil, WrongPlatform(ref, platform, fmt.Sprintf("it is made for %q", is))
	}
	return c, nil
}

func (c *content) check(ref string) error {
	if len(c.layers) > maxLayers {
		return tooLarge("the image %q has %d layers, and %d is the most", ref, len(c.layers), maxLayers)
	}
	return nil
}

// path is PATH of the image, or empty.
func (c *content) path() string {
	for _, v := range c.config.Config.Env {
		if value, ok := strings.CutPrefix(v, "PATH="); ok && !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' }) {
			return value
		}
	}
	return ""
}

// readBlob reads a small part of an image whole.
func readBlob(ctx context.Context, from blobs, d v1.Descriptor) ([]byte, error) {
	if d.Size > maxJSON {
		return nil, tooLarge("a part of the image that describes it (%s) holds %d bytes, and %d is the most", d.Digest, d.Size, maxJSON)
	}
	r, err := from.open(ctx, d)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// unpack calls use with the layer's tar, and makes sure that the layer is the one that the image's configuration tells
// of. use reads to the end.
func (l layer) unpack(ctx context.Context, b *budget, use func(io.Reader) error) error {
	stored, err := l.open(ctx)
	if err != nil {
		return err
	}
	defer stored.Close()
	plain, done, err := decompress(bufio.NewReaderSize(stored, 64<<10))
	if err == nil {
		sum := newDigester()
		err = use(io.TeeReader(b.reader(plain), sum))
		done()
		if err == nil && l.diffID.Hex != "" && sum.digest() != l.diffID.String() {
			err = wrongDigest(l.name, l.diffID.String(), sum.digest())
		}
	}
	if _, known := errors.AsType[*fault.Error](err); err == nil || known || ctx.Err() != nil {
		return err
	}
	if ours(err) {
		return err
	}
	// What cannot be unpacked most often is not what was asked for: that is the better word for it.
	if _, whole := io.Copy(io.Discard, stored); whole != nil {
		return whole
	}
	return damaged("unpacking the layer %s of the image: %w", l.name, err)
}

// decompress tells by its first bytes how a layer is compressed. done gives back what the decompressor holds.
func decompress(r *bufio.Reader) (plain io.Reader, done func(), err error) {
	head, err := r.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(r)
		return z, func() {}, err
	case bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	return r, func() {}, nil
}

func wrongDigest(what, want, got string) error {
	return fault.Envf("image_digest", []string{"what is stored is not what its digest says: push or pull the image anew", "or name another image"},
		"a part of the image (%s) has the digest %s, not %s", what, got, want)
}

func truncated(what string, got, want int64) error {
	return fault.Envf("image_truncated", []string{"run again; if it stays, push or save the image anew"},
		"a part of the image (%s) ends after %d of %d bytes", what, got, want)
}

// mediaIsIndex tells an index from a manifest, also where no type is stated.
func mediaIsIndex(stated types.MediaType, raw []byte) bool {
	if stated.IsIndex() || stated.IsImage() {
		return stated.IsIndex()
	}
	var probe struct{ Manifests []json.RawMessage }
	return json.Unmarshal(raw, &probe) == nil && probe.Manifests != nil
}
