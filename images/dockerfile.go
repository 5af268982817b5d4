package images

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// Limits of what is sent to the builder beside a Dockerfile.
const (
	maxContextBytes = 1 << 30
	maxContextFiles = 100_000
)

// Dockerfile is a Dockerfile with its folder, which is all that a build of it sees.
type Dockerfile struct {
	Path string // of the file, absolute, its links resolved
	root *os.Root
}

// OpenDockerfile opens the Dockerfile of an image's name; dir is the checkout, where a relative path begins. A folder
// that holds the checkout, or any other, is refused: COPY would carry the source into the box. The caller closes it.
func OpenDockerfile(text, dir string) (*Dockerfile, error) {
	n, err := ParseName(text)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, unreadable(text, err)
	}
	path, err := filepath.EvalSymlinks(n.In(dir))
	if err != nil {
		return nil, unreadable(text, err)
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, unreadable(text, errors.Join(err, fmt.Errorf("%s is no regular file", path)))
	}
	folder := filepath.Dir(path)
	checkout, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, unreadable(text, err)
	}
	_, git := os.Lstat(filepath.Join(folder, ".git"))
	if git == nil || within(folder, checkout) {
		return nil, fault.Usagef("image_exposes_repository", []string{"give the Dockerfile a folder of its own, such as .trkr/box/Dockerfile, with what it copies beside it"},
			"the image %q: what lies beside a Dockerfile is sent to the builder, and the folder %s holds a repository", text, folder)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, unreadable(text, err)
	}
	return &Dockerfile{Path: path, root: root}, nil
}

// Name is the file's name in its folder.
func (d *Dockerfile) Name() string { return filepath.Base(d.Path) }

// Close ends the reading of the folder.
func (d *Dockerfile) Close() error { return d.root.Close() }

// Pack writes the folder as a tar. Links are kept as links; devices, sockets and FIFOs are left out.
func (d *Dockerfile) Pack(ctx context.Context, to io.Writer) error {
	w := tar.NewWriter(to)
	var bytes, files int64
	err := fs.WalkDir(d.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil || name == "." {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if files++; info.Mode().IsRegular() {
			bytes += info.Size()
		}
		if files > maxContextFiles || bytes > maxContextBytes {
			return tooLarge("the folder of the Dockerfile %s holds more than %d files or %d MiB", d.Path, maxContextFiles, maxContextBytes>>20)
		}
		return d.pack(w, name, info)
	})
	if err != nil {
		if _, named := errors.AsType[*fault.Error](err); named || ctx.Err() != nil {
			return err
		}
		return unreadable(d.Path, err)
	}
	return w.Close()
}

func (d *Dockerfile) pack(w *tar.Writer, name string, info fs.FileInfo) (err error) {
	target := ""
	switch info.Mode().Type() {
	case 0, fs.ModeDir:
	case fs.ModeSymlink:
		if target, err = d.root.Readlink(name); err != nil {
			return err
		}
	default:
		return nil
	}
	h, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return err
	}
	h.Name = name
	if info.IsDir() {
		h.Name += "/"
	}
	h.Uid, h.Gid, h.Uname, h.Gname = 0, 0, "", "" // who calls this program does not change what is built
	if err := w.WriteHeader(h); err != nil || !info.Mode().IsRegular() {
		return err
	}
	f, err := d.root.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = io.Copy(w, f)
	return err
}

// Builder builds the images of Dockerfiles.
type Builder interface {
	// Build builds the image for a platform ("linux/amd64") and writes it as docker save, or an exporter of OCI layouts,
	// would.
	Build(ctx context.Context, file *Dockerfile, platform string, to io.Writer) error
}

// findBuilt gives the image of a Dockerfile. It is built once; later it is built again only where it is no longer kept.
func (s *Store) findBuilt(ctx context.Context, req Request) (*source, error) {
	s.mu.Lock()
	digest, ok := s.known[req.key()]
	s.mu.Unlock()
	if ok {
		src := &source{digest: digest}
		src.read = func(ctx context.Context) (*content, error) {
			again, err := s.build(ctx, req)
			if err != nil {
				return nil, err
			}
			src.close = again.close
			if err := s.settled(req, again); err != nil {
				return nil, err
			}
			return again.read(ctx)
		}
		return src, nil
	}
	return s.build(ctx, req)
}

func (s *Store) build(ctx context.Context, req Request) (_ *source, err error) {
	if req.Build == nil {
		return nil, fault.Envf("image_no_builder", noBuilder(), "the image %q needs a builder, and there is none here", req.Name)
	}
	file, err := OpenDockerfile(req.Name, req.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	dir, err := s.open()
	if err != nil {
		return nil, err
	}
	to, err := nameless(dir)
	if err != nil {
		return nil, cacheFault(dir, err)
	}
	err = req.Build.Build(ctx, file, s.platform, to)
	if err == nil {
		_, err = to.Seek(0, io.SeekStart)
	}
	if err != nil {
		if ours(err) {
			err = cacheFault(dir, err)
		} else if f := fault.Of(err); strings.HasPrefix(f.Code, "docker_") && f.Code != "docker_disk_full" {
			err = fault.Envf("image_no_builder", append(withoutEngine(f.Hints), noBuilder()...), "the image %q needs the BuildKit of a Docker daemon: %w", req.Name, err)
		}
		return nil, errors.Join(err, to.Close())
	}
	return s.findArchive(ctx, req.Name, to)
}

// withoutEngine leaves out the advice to use the engine that needs no daemon: it asked.
func withoutEngine(hints []string) []string {
	var left []string
	for _, h := range hints {
		if !strings.Contains(h, "--engine gvisor") {
			left = append(left, h)
		}
	}
	return left
}

func noBuilder() []string {
	return []string{"or build the image elsewhere, and name it docker-archive:FILE (docker save), oci:FOLDER, or by its reference in a registry"}
}
