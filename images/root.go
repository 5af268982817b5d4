package images

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// Root is an image's root filesystem in the cache. It may be shown to several boxes at once, and must not be changed.
type Root struct {
	Dir      string // everything in it belongs to the calling user
	Digest   string // "sha256:..."
	Path     string // PATH of the image, or empty
	Userland string // PRETTY_NAME of its os-release, or empty
	Product  bool   // it is of the artifact set

	lease   *os.File
	discard func() error // for what is not kept
}

// rootDir and factsFile are what the cache keeps of an image.
const (
	rootDir   = "root"
	factsFile = "image.json"
)

type facts struct{ Path, Userland string }

// layoutVersion changes with what is unpacked, and how.
const layoutVersion = "1"

// Open gives the root filesystem of an image, which is fetched and unpacked where the cache does not have it. It is not
// removed before the caller closes it. Several programs that want the same at once unpack it once. What goes wrong is a
// fault, within a bounded time where a registry is asked.
func (s *Store) Open(ctx context.Context, req Request) (*Root, error) {
	src, err := s.find(ctx, req)
	if err != nil {
		return nil, err
	}
	defer src.end() //nolint:errcheck // what was only read is closed in any case
	if err := s.settled(req, src); err != nil {
		return nil, err
	}
	dir, err := s.open()
	if err != nil {
		return nil, err
	}
	key := strings.Replace(src.digest, ":", "-", 1) + "-" + strings.TrimPrefix(s.platform, "linux/") + "-" + layoutVersion
	at := filepath.Join(dir, key)
	for {
		lease, err := lock(ctx, at+lockSuffix, unix.LOCK_SH)
		if err != nil {
			return nil, lockFault(ctx, req.Name, dir, err)
		}
		r, err := openRoot(at, src.digest)
		if err == nil {
			r.lease = lease
			if r.Product = src.once; src.once {
				r.discard = func() error { return s.discard(dir, key) }
			}
			return r, nil
		}
		if err := lease.Close(); err != nil {
			return nil, cacheFault(dir, err)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, cacheFault(dir, err)
		}
		if err := s.make(ctx, req.Name, dir, at, src); err != nil {
			return nil, err
		}
	}
}

func openRoot(at, digest string) (*Root, error) {
	raw, err := os.ReadFile(filepath.Join(at, factsFile))
	if err != nil {
		return nil, err
	}
	var f facts
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, err
	}
	return &Root{Dir: filepath.Join(at, rootDir), Digest: digest, Path: f.Path, Userland: f.Userland}, nil
}

// Close gives the image back: from now on it may be removed.
func (r *Root) Close() error {
	err := r.lease.Close()
	if r.discard != nil {
		err = errors.Join(err, r.discard())
	}
	return err
}

// discard removes an image that is not kept, unless it is used elsewhere.
func (s *Store) discard(dir, key string) error {
	held, err := tryLock(filepath.Join(dir, key+lockSuffix), unix.LOCK_EX)
	if errors.Is(err, errHeld) {
		return nil
	}
	if err != nil {
		return cacheFault(dir, err)
	}
	if err := errors.Join(s.remove(dir, key), held.Close()); err != nil {
		return cacheFault(dir, err)
	}
	return nil
}

func lockFault(ctx context.Context, ref, dir string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("waiting for another run that unpacks the image %q: %w", ref, err)
	}
	return cacheFault(dir, err)
}

// make unpacks an image, unless another program did so in the meantime. It is seen under its name only when all of it is
// on the disk.
func (s *Store) make(ctx context.Context, ref, dir, at string, src *source) (err error) {
	held, err := lock(ctx, at+lockSuffix, unix.LOCK_EX)
	if err != nil {
		return lockFault(ctx, ref, dir, err)
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	if _, err := os.Lstat(at); err == nil {
		return nil
	}
	aside := at + newSuffix
	if err := os.RemoveAll(aside); err != nil { // of a program that was killed
		return cacheFault(dir, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(aside))
		}
	}()
	c, err := src.read(ctx)
	if err != nil {
		return err
	}
	err = fill(ctx, aside, c)
	if err == nil {
		err = settle(aside)
	}
	if err == nil {
		err = os.Rename(aside, at)
	}
	if _, named := errors.AsType[*fault.Error](err); err == nil || named {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("unpacking the image %q: %w", ref, context.Cause(ctx))
	}
	return cacheFault(dir, err)
}

// settle makes sure that what was written stands on the disk before it can be seen: the machine may go down.
func settle(dir string) (err error) {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return syncFilesystem(f)
}

// fill unpacks an image into a new folder.
func fill(ctx context.Context, dir string, c *content) error {
	root := filepath.Join(dir, rootDir)
	for _, d := range []string{dir, root} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return err
		}
	}
	if err := os.Chmod(root, 0o755); err != nil { // whatever the umask: all uids of a box must come in
		return err
	}
	b := newBudget(ctx)
	t, err := newTree(root, b)
	if err != nil {
		return err
	}
	for _, l := range c.layers {
		if err := l.unpack(ctx, b, t.apply); err != nil {
			return errors.Join(err, t.close())
		}
	}
	if err := errors.Join(t.prepare(), t.close()); err != nil {
		return err
	}
	f := facts{Path: c.path(), Userland: userland(root)}
	raw, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("describing the image: %w", err)
	}
	return os.WriteFile(filepath.Join(dir, factsFile), raw, 0o600)
}

// prepare adds what a box needs of a root filesystem: the mount points of its own file systems, and a name for loopback.
// What the image has at one of these places is never seen in a box.
func (t *tree) prepare() error {
	t.made = map[string]bool{}
	for _, own := range ownDirs {
		name := strings.TrimPrefix(own, "/")
		parts := strings.Split(name, "/")
		for i := range parts {
			if err := t.ownDir(strings.Join(parts[:i+1], "/"), i == len(parts)-1); err != nil {
				return err
			}
		}
	}
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	hosts := []byte("127.0.0.1 localhost\n::1 localhost\n")
	for _, f := range []struct {
		name string
		mode int64
		data []byte
	}{{"etc/hosts", 0o644, hosts}, {initPath, 0o755, nil}} {
		err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.data))})
		if err == nil {
			_, err = w.Write(f.data)
		}
		if err != nil {
			return fmt.Errorf("preparing the image: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("preparing the image: %w", err)
	}
	return t.apply(&layer)
}

// initPath is where a box's init is bound.
const initPath = "run/trkr/init"

// ownDir makes a folder where the image may have something else. A link on the way to a mount point would lead the
// engines' mounts elsewhere.
func (t *tree) ownDir(name string, last bool) error {
	info, err := t.root.Lstat(name)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil && !last:
		return fault.Envf("image_unusable", []string{"use an image in which /" + name + " is a folder"},
			"the image has no folder at /%s, where a box has its own things", name)
	case err == nil:
		if err := t.remove(name); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return t.makeDir(name)
}

// userland is how the system in a root filesystem calls itself. No link leads out of it.
func userland(dir string) string {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return ""
	}
	defer root.Close()
	for _, name := range []string{"etc/os-release", "usr/lib/os-release"} {
		if info, err := root.Stat(name); err != nil || !info.Mode().IsRegular() || info.Size() > maxRelease {
			continue
		}
		if text, err := root.ReadFile(name); err == nil {
			return prettyName(text)
		}
	}
	return ""
}

// maxRelease is far above what an os-release file holds.
const maxRelease = 16 << 10
