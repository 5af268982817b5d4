package docker

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/carry"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

// treeName begins the names in what the daemon gives of a build's tree.
var treeName = path.Base(sandbox.BuildTree) + "/"

// spool keeps what is wanted of a build's tree, as a tar in a file without a name: hard links have to be looked up. It
// takes no more of the disk than what is wanted.
type spool struct {
	want func(string, *tar.Header) bool // nil: everything
	file *os.File
	tar  *tar.Writer

	sizes map[string]int64 // of every file in the tree
	kept  map[string]bool  // files of which the content is in the tar
	links []*tar.Header    // hard links that are wanted
}

func newSpool(want func(string, *tar.Header) bool) (*spool, error) {
	f, err := os.CreateTemp("", "trkr-validate-build-*")
	if err != nil {
		return nil, fault.Env("temporary_file", fmt.Errorf("keeping what the build made: %w", err), "set TMPDIR to a folder that can be written")
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("keeping what the build made: %w", err), f.Close())
	}
	return &spool{want: want, file: f, tar: tar.NewWriter(f), sizes: map[string]int64{}, kept: map[string]bool{}}, nil
}

// tree takes the tree.
func (s *spool) tree(from io.Reader) error {
	for r := tar.NewReader(from); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading what the build made: %w", err)
		}
		if err := s.entry(h, r); err != nil {
			return err
		}
	}
}

func (s *spool) entry(h *tar.Header, data io.Reader) error {
	asked := *h
	switch h.Typeflag {
	case tar.TypeReg:
		s.sizes[h.Name] = h.Size
	case tar.TypeLink:
		n, ok := s.sizes[h.Linkname]
		if !ok {
			return fmt.Errorf("reading what the build made: %q is a link to %q, which does not stand before it", h.Name, h.Linkname)
		}
		asked.Typeflag, asked.Linkname, asked.Size = tar.TypeReg, "", n
	case tar.TypeChar, tar.TypeBlock:
		return nil
	}
	p, err := carry.Name(&tar.Header{Name: strings.TrimPrefix(h.Name, treeName)})
	if err != nil {
		return fmt.Errorf("reading what the build made: %w", err)
	}
	if h.Name == treeName || s.want != nil && !s.want(p, &asked) {
		return nil
	}
	if h.Typeflag == tar.TypeLink {
		s.links = append(s.links, h)
		return nil
	}
	return s.put(h, data)
}

func (s *spool) put(h *tar.Header, data io.Reader) error {
	s.kept[h.Name], h.Format = true, tar.FormatPAX
	err := s.tar.WriteHeader(h)
	if err == nil {
		_, err = io.Copy(s.tar, data)
	}
	return s.unkept(err)
}

func (s *spool) unkept(err error) error {
	if err == nil {
		return nil
	}
	return fault.Env("temporary_file", fmt.Errorf("keeping what the build made: %w", err), "see that "+filepath.Dir(s.file.Name())+" has room, or set TMPDIR to another folder")
}

// lacks are the files that were not wanted, and of which a link is.
func (s *spool) lacks() []string {
	var names []string
	for _, h := range s.links {
		if !s.kept[h.Linkname] {
			names = append(names, h.Linkname)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// linked takes such a file, alone in a tar, under the name of its first link.
func (s *spool) linked(name string, from io.Reader) error {
	r := tar.NewReader(from)
	got, err := r.Next()
	if err == nil && (got.Typeflag != tar.TypeReg || got.Size != s.sizes[name]) {
		err = errors.New("it is not what it was")
	}
	if err != nil {
		return fmt.Errorf("reading what the build made: %q: %w", name, err)
	}
	i := slices.IndexFunc(s.links, func(h *tar.Header) bool { return h.Linkname == name })
	first := s.links[i]
	s.links = slices.Delete(s.links, i, i+1)
	for _, h := range s.links {
		if h.Linkname == name {
			h.Linkname = first.Name
		}
	}
	first.Typeflag, first.Linkname, first.Size = tar.TypeReg, "", got.Size
	return s.put(first, r)
}

// end gives the tar, in which each link stands behind what it means.
func (s *spool) end() (*os.File, error) {
	for _, h := range s.links {
		h.Format = tar.FormatPAX
		if err := s.tar.WriteHeader(h); err != nil {
			return nil, s.unkept(err)
		}
	}
	err := s.tar.Close()
	if err == nil {
		_, err = s.file.Seek(0, io.SeekStart)
	}
	return s.file, s.unkept(err)
}
