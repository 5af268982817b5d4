package docker

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/internal/carry"
)

// Of what the daemon gives, the disk gets what is wanted: not the rest of the tree, but that of which a link is wanted.
func TestSpoolKeepsWhatIsWanted(t *testing.T) {
	const big = 8 << 20
	archive := func(entries ...tar.Header) io.Reader {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, h := range entries {
			err := w.WriteHeader(&h)
			if err == nil && h.Size > 0 {
				_, err = w.Write(bytes.Repeat([]byte("x"), int(h.Size)))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return &b
	}
	asked := map[string]int64{}
	s, err := newSpool(func(p string, h *tar.Header) bool {
		asked[p] = h.Size
		return strings.HasPrefix(p, "z")
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.file.Close()
	err = s.tree(archive(
		tar.Header{Typeflag: tar.TypeDir, Name: "src/"},
		tar.Header{Typeflag: tar.TypeReg, Name: "src/big", Size: big},
		tar.Header{Typeflag: tar.TypeReg, Name: "src/inner", Size: 3},
		tar.Header{Typeflag: tar.TypeLink, Name: "src/x", Linkname: "src/big"},
		tar.Header{Typeflag: tar.TypeReg, Name: "src/z", Size: 2},
		tar.Header{Typeflag: tar.TypeLink, Name: "src/z1", Linkname: "src/z"},
		tar.Header{Typeflag: tar.TypeLink, Name: "src/z2", Linkname: "src/inner"},
		tar.Header{Typeflag: tar.TypeLink, Name: "src/z3", Linkname: "src/inner"}))
	if lacks := s.lacks(); err != nil || strings.Join(lacks, " ") != "src/inner" || asked["x"] != big || asked["z2"] != 3 || len(asked) != 7 {
		t.Fatalf("%v %q %v", err, lacks, asked)
	}
	if err := s.linked("src/inner", archive(tar.Header{Typeflag: tar.TypeReg, Name: "inner", Size: 4})); err == nil {
		t.Error("another file was taken for it")
	}
	if err := s.linked("src/inner", archive(tar.Header{Typeflag: tar.TypeReg, Name: "inner", Size: 3})); err != nil {
		t.Fatal(err)
	}
	from, err := s.end()
	if err != nil {
		t.Fatal(err)
	}
	if info, err := from.Stat(); err != nil || info.Size() > 64<<10 {
		t.Errorf("the spool has %v, %v", info.Size(), err)
	}
	var got []string
	err = carry.Through(func(w *tar.Writer) error { return carry.Unlink(t.Context(), from, w, treeName) }, func(r io.Reader) error {
		for r := tar.NewReader(r); ; {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			data, err := io.ReadAll(r)
			if err != nil {
				return err
			}
			got = append(got, h.Name+"="+string(data))
		}
	})
	if err != nil || strings.Join(got, " ") != "z=xx z2=xxx z1=xx z3=xxx" {
		t.Errorf("%q, %v", got, err)
	}
}
