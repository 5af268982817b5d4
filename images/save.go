package images

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// Found is an image of this machine, for a daemon that is to load it.
type Found struct {
	Digest string // "sha256:..."
	Once   bool   // not worth keeping: the next run of the product has another

	ref    string
	store  *Store
	source *source
}

// Find finds an image of this machine (Name.Local, or of the artifact set) and settles which one is meant by its name.
// The caller closes it.
func (s *Store) Find(ctx context.Context, req Request) (*Found, error) {
	src, err := s.find(ctx, req)
	if err != nil {
		return nil, err
	}
	f := &Found{Digest: src.digest, Once: src.once, ref: req.Name, store: s, source: src}
	if err := s.settled(req, src); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Close ends the reading of the image.
func (f *Found) Close() error { return f.source.end() }

// Save writes the image as docker save does, with that tag and these labels. Of its configuration only PATH is kept. The
// layers are unpacked one by one into a file without a name, and looked through, before any of it is written.
func (f *Found) Save(ctx context.Context, tag string, labels map[string]string, to io.Writer) error {
	c, err := f.source.read(ctx)
	if err != nil {
		return err
	}
	dir, err := f.store.open()
	if err != nil {
		return err
	}
	w := tar.NewWriter(to)
	b := newBudget(ctx)
	config := v1.ConfigFile{
		OS: c.config.OS, Architecture: c.config.Architecture, Variant: c.config.Variant,
		RootFS: v1.RootFS{Type: "layers"}, Config: v1.Config{Labels: labels},
	}
	if p := c.path(); p != "" {
		config.Config.Env = []string{"PATH=" + p}
	}
	var names []string
	for i, l := range c.layers {
		name := fmt.Sprintf("%d/layer.tar", i)
		sum, err := saveLayer(ctx, l, b, dir, w, name)
		if err != nil {
			return f.fault(ctx, dir, err)
		}
		names = append(names, name)
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, sum)
	}
	if len(names) == 0 {
		return notImage("the image %q has no layers", f.ref)
	}
	if err := addJSON(w, "config.json", config); err != nil {
		return err
	}
	type saved struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	if err := addJSON(w, dockerManifest, []saved{{"config.json", []string{tag}, names}}); err != nil {
		return err
	}
	return w.Close()
}

func (f *Found) fault(ctx context.Context, dir string, err error) error {
	if _, named := errors.AsType[*fault.Error](err); named {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("reading the image %q: %w", f.ref, context.Cause(ctx))
	}
	if ours(err) {
		return cacheFault(dir, err)
	}
	return err
}

// saveLayer writes one layer, and gives the digest of what is in it.
func saveLayer(ctx context.Context, l layer, b *budget, dir string, w *tar.Writer, name string) (_ v1.Hash, err error) {
	temp, err := nameless(dir)
	if err != nil {
		return v1.Hash{}, err
	}
	defer func() { err = errors.Join(err, temp.Close()) }()
	sum := newDigester()
	err = l.unpack(ctx, b, func(r io.Reader) error { return scan(io.TeeReader(r, io.MultiWriter(temp, sum)), b) })
	if err != nil {
		return v1.Hash{}, err
	}
	size, err := temp.Seek(0, io.SeekCurrent)
	if err != nil {
		return v1.Hash{}, err
	}
	if _, err := temp.Seek(0, io.SeekStart); err != nil {
		return v1.Hash{}, err
	}
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: size}); err != nil {
		return v1.Hash{}, err
	}
	if _, err := io.Copy(w, temp); err != nil {
		return v1.Hash{}, err
	}
	return v1.NewHash(sum.digest())
}

// scan looks through a layer that somebody else lays down, and refuses what tree would.
func scan(r io.Reader, b *budget) error {
	in := tar.NewReader(r)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			_, err := io.Copy(io.Discard, r)
			return err
		}
		if err != nil {
			return err
		}
		if err := b.entry(h.Size); err != nil {
			return err
		}
		if !local(path.Clean(strings.TrimLeft(h.Name, "/"))) ||
			h.Typeflag == tar.TypeLink && !local(path.Clean(strings.TrimLeft(h.Linkname, "/"))) {
			return unsafe("the image's layers hold an entry outside of the root: %q", h.Name)
		}
	}
}

func addJSON(w *tar.Writer, name string, what any) error {
	data, err := json.Marshal(what)
	if err != nil {
		return fmt.Errorf("describing the image: %w", err)
	}
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(data))}); err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// nameless makes a file that is gone when it is closed.
func nameless(dir string) (*os.File, error) {
	temp, err := os.CreateTemp(dir, "part-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(temp.Name()); err != nil {
		return nil, errors.Join(err, temp.Close())
	}
	return temp, nil
}
