package carry

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Unlink copies what of a tar lies behind a prefix, without it. Each hard link becomes a file of its own: who takes only
// some of the entries may leave out the one that a link means. Devices are left out.
func Unlink(ctx context.Context, from *os.File, to *tar.Writer, prefix string) error {
	type place struct {
		at, size int64
	}
	places := map[string]place{}
	r := tar.NewReader(from)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		data := io.Reader(r)
		switch h.Typeflag {
		case tar.TypeReg:
			at, err := from.Seek(0, io.SeekCurrent) // a tar's reader reads no further than what it gives
			if err != nil {
				return err
			}
			places[h.Name] = place{at, h.Size}
		case tar.TypeLink:
			p, ok := places[h.Linkname]
			if !ok {
				return fmt.Errorf("%q is a link to %q, which does not stand before it", h.Name, h.Linkname)
			}
			data = io.NewSectionReader(from, p.at, p.size)
			h.Typeflag, h.Linkname, h.Size = tar.TypeReg, "", p.size
			places[h.Name] = p
		case tar.TypeChar, tar.TypeBlock:
			continue
		}
		name, ok := strings.CutPrefix(h.Name, prefix)
		if !ok || name == "" {
			continue
		}
		h.Name, h.Format = name, tar.FormatPAX
		if err := to.WriteHeader(h); err != nil {
			return err
		}
		if _, err := io.Copy(to, Reader(ctx, data)); err != nil {
			return err
		}
	}
}
