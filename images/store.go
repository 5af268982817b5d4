package images

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// Store finds images, and keeps their root filesystems unpacked in the user's cache, by digest. Its methods may be
// called at the same time, by several programs.
type Store struct {
	dir      string // empty: the user's cache
	platform string
	silence  time.Duration

	mu    sync.Mutex
	known map[string]string // digest of each image that was asked for: all boxes of this program get the same one
}

// NewStore gives a store of images for Linux on a processor (Go's name), kept in dir, or in the user's cache where that
// is empty. It does nothing yet.
func NewStore(dir, arch string) *Store {
	return &Store{dir: dir, platform: "linux/" + arch, silence: registrySilence, known: map[string]string{}}
}

// Request says which image is meant.
type Request struct {
	Name  string
	Dir   string  // what a relative path in Name is relative to
	Input string  // folder of the box's inputs, for an image of the artifact set
	Build Builder // nil: a Dockerfile cannot be built
}

// key tells requests apart.
func (r Request) key() string { return r.Dir + "\x00" + r.Name }

// find gives the image that a request means now.
func (s *Store) find(ctx context.Context, req Request) (*source, error) {
	n, err := ParseName(req.Name)
	if err != nil {
		return nil, err
	}
	switch n.Kind {
	case KindRegistry:
		return s.findRemote(ctx, n)
	case KindOCI:
		root, err := os.OpenRoot(n.In(req.Dir))
		if err != nil {
			return nil, unreadable(req.Name, err)
		}
		src, err := findLayout(req.Name, n.Ref, s.platform, folder{root})
		return closing(src, err, root.Close)
	case KindArchive:
		file, err := openRegular(n.In(req.Dir))
		if err != nil {
			return nil, unreadable(req.Name, err)
		}
		return s.findArchive(ctx, req.Name, file)
	case KindDockerfile:
		return s.findBuilt(ctx, req)
	case KindArtifact:
		return s.findProduct(ctx, n, req)
	}
	return nil, invalidName("the image %q has no root filesystem of its own", req.Name)
}

func (s *Store) findRemote(ctx context.Context, n Name) (*source, error) {
	s.mu.Lock()
	defer s.mu.Unlock() // two that ask for the same get the same answer, and the second needs none
	if digest, ok := s.known[n.Ref]; ok {
		n.Ref = pinned(n.Ref, digest)
		return findRemote(ctx, n.Ref, s.platform, s.silence)
	}
	src, err := findRemote(ctx, n.Ref, s.platform, s.silence)
	if err == nil {
		s.known[n.Ref] = src.digest
	}
	return src, err
}

// settled refuses an image of this machine that is another one than it was: what runs between two boxes, or before the
// first, could have put it there.
func (s *Store) settled(req Request, src *source) error {
	if src.once {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	was, ok := s.known[req.key()]
	if s.known[req.key()] = src.digest; ok && was != src.digest {
		return fault.Envf("image_changed", []string{"let nothing write to the image while this program runs"},
			"the image %q was replaced while this program ran: it was %s and is %s", req.Name, was, src.digest)
	}
	return nil
}

func (s *Store) findArchive(ctx context.Context, ref string, file *os.File) (*source, error) {
	dir, err := s.open()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	a, err := openArchive(ctx, file, dir)
	if a == nil {
		return nil, errors.Join(unreadableArchive(ref, err), file.Close())
	}
	if err != nil {
		return nil, errors.Join(unreadableArchive(ref, err), a.file.Close())
	}
	src, err := findArchive(ref, s.platform, a)
	return closing(src, err, a.file.Close)
}

// unreadableArchive names why an archive could not be looked through.
func unreadableArchive(ref string, err error) error {
	if _, named := errors.AsType[*fault.Error](err); named || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if ours(err) {
		return unreadable(ref, err)
	}
	return damaged("reading the archive %q: %w", ref, err)
}

// closing makes what a source is read from end with it.
func closing(src *source, err error, end func() error) (*source, error) {
	if err != nil {
		return nil, errors.Join(err, end())
	}
	src.close = end
	return src, nil
}

// openRegular opens a regular file, and nothing at whose opening it would have to wait.
func openRegular(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// pinned is a reference with a digest in place of its tag.
func pinned(ref, digest string) string {
	ref, _, _ = strings.Cut(ref, "@")
	if i := strings.LastIndexByte(ref, ':'); i > strings.LastIndexByte(ref, '/') {
		ref = ref[:i]
	}
	return ref + "@" + digest
}

// open makes the folder of the store if need be, and refuses one that another user could write to.
func (s *Store) open() (string, error) {
	dir := s.folder()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", cacheFault(dir, err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", cacheFault(dir, err)
	}
	if !info.IsDir() || !ownedByUs(info) || info.Mode().Perm()&0o022 != 0 {
		return "", fault.Envf("cache_unsafe", []string{"remove " + dir + ", or set XDG_CACHE_HOME to a folder of your own"},
			"%s is not a folder that only this user can write", dir)
	}
	return dir, nil
}

// folder is where images are kept: in the user's cache, or where the home is another user's or not there, in the folder
// for temporary files.
func (s *Store) folder() string {
	if s.dir != "" {
		return s.dir
	}
	const own = "trkr-validate/images"
	if dir := os.Getenv("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, own)
	}
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
		if info, err := os.Stat(home); err == nil && ownedByUs(info) {
			if runtime.GOOS == "darwin" {
				return filepath.Join(home, "Library/Caches", own)
			}
			return filepath.Join(home, ".cache", own)
		}
	}
	return filepath.Join(os.TempDir(), "trkr-validate-images-"+strconv.Itoa(os.Getuid()))
}

func ownedByUs(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}
