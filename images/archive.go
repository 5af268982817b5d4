package images

import (
	"archive/tar"
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// archive is files of a tar.
type archive struct {
	file  *os.File
	parts map[string]part
}

// maxParts is how many entries of an archive are looked at: images have some hundreds.
const maxParts = 1 << 16

type part struct {
	at, size int64
	link     string // the part that is meant instead
}

// openArchive looks through a tar once, for where its parts are. One that is compressed is unpacked first, into a file
// in dir that has no name.
func openArchive(ctx context.Context, file *os.File, dir string) (_ *archive, err error) {
	if file, err = uncompressed(ctx, file, dir); err != nil {
		return nil, err
	}
	a := &archive{file: file, parts: map[string]part{}}
	in := tar.NewReader(contextReader{ctx, file})
	for n := 0; ; n++ {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return a, nil
		}
		if err != nil {
			return a, err
		}
		if n > maxParts {
			return a, nil // what describes an image stands among fewer
		}
		name := path.Clean(h.Name)
		switch h.Typeflag {
		case tar.TypeReg:
			at, err := file.Seek(0, io.SeekCurrent) // the reader takes no more than the header
			if err != nil {
				return a, err
			}
			a.parts[name] = part{at: at, size: h.Size}
		case tar.TypeSymlink:
			a.parts[name] = part{link: path.Join(path.Dir(name), h.Linkname)}
		case tar.TypeLink:
			a.parts[name] = part{link: path.Clean(h.Linkname)}
		}
	}
}

func (a *archive) open(name string) (io.ReadCloser, int64, error) {
	for range maxLinks {
		p, ok := a.parts[name]
		if !ok {
			break
		}
		if p.link == "" {
			return io.NopCloser(io.NewSectionReader(a.file, p.at, p.size)), p.size, nil
		}
		name = p.link
	}
	return nil, 0, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func (a *archive) has(name string) bool {
	_, ok := a.parts[name]
	return ok
}

const dockerManifest = "manifest.json"

// findArchive finds the image in what docker save or an exporter of OCI layouts wrote.
func findArchive(ref, platform string, a *archive) (*source, error) {
	switch {
	case a.has(dockerManifest):
		return findSaved(ref, platform, a)
	case a.has(layoutIndex):
		return findLayout(ref, "", platform, a)
	}
	return nil, notImage("%q is no archive of an image: it has neither a %s nor an %s", ref, dockerManifest, layoutIndex)
}

// findSaved finds the image in what docker save wrote. Its digest is that of its configuration, which names its layers.
func findSaved(ref, platform string, a *archive) (*source, error) {
	raw, err := readFile(a, dockerManifest)
	if err != nil {
		return nil, unreadable(ref, err)
	}
	var list []struct {
		Config string
		Layers []string
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, damaged("reading the %s of the image %q: %w", dockerManifest, ref, err)
	}
	if len(list) != 1 {
		return nil, fault.Envf("image_ambiguous", []string{"save one image: docker save NAME -o FILE"}, "the archive %q holds %d images", ref, len(list))
	}
	config, err := readFile(a, path.Clean(list[0].Config))
	if err != nil {
		return nil, lacking(ref, list[0].Config, err)
	}
	read := func(context.Context) (*content, error) {
		c, err := newContent(ref, platform, config)
		if err != nil {
			return nil, err
		}
		if len(c.config.RootFS.DiffIDs) != len(list[0].Layers) {
			return nil, damaged("the image %q has %d layers, and its configuration tells of %d", ref, len(list[0].Layers), len(c.config.RootFS.DiffIDs))
		}
		for i, name := range list[0].Layers {
			c.layers = append(c.layers, a.layer(ref, name, c.config.RootFS.DiffIDs[i]))
		}
		return c, c.check(ref)
	}
	return &source{digest: digestOf(config), read: read}, nil
}

func (a *archive) layer(ref, name string, diffID v1.Hash) layer {
	return layer{name: name, diffID: diffID, open: func(context.Context) (io.ReadCloser, error) {
		r, _, err := a.open(path.Clean(name))
		if err != nil {
			return nil, lacking(ref, name, err)
		}
		return r, nil
	}}
}

func lacking(ref, name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return damaged("the image %q lacks a part: %q", ref, name)
	}
	return unreadable(ref, err)
}

// uncompressed gives the file, or what is in it where that is compressed.
func uncompressed(ctx context.Context, file *os.File, dir string) (*os.File, error) {
	buffered := bufio.NewReader(contextReader{ctx, file})
	plain, done, err := decompress(buffered)
	if err != nil {
		return nil, err
	}
	defer done()
	if plain == io.Reader(buffered) {
		_, err := file.Seek(0, io.SeekStart)
		return file, err
	}
	temp, err := nameless(dir)
	if err != nil {
		return nil, cacheFault(dir, err)
	}
	if _, err = io.Copy(temp, newBudget(ctx).reader(plain)); err == nil {
		_, err = temp.Seek(0, io.SeekStart)
	}
	if err == nil {
		return temp, file.Close()
	}
	if ours(err) {
		err = cacheFault(dir, err)
	}
	return nil, errors.Join(err, temp.Close())
}

// contextReader ends when its context does.
type contextReader struct {
	ctx context.Context
	io.ReadSeeker
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, fmt.Errorf("reading the image: %w", err)
	}
	return r.ReadSeeker.Read(p)
}
