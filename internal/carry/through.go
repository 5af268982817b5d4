package carry

import (
	"archive/tar"
	"errors"
	"io"
)

// errTaken ends the writing of a tar of which its reader took enough.
var errTaken = errors.New("enough was taken")

// Through has read read the tar that write writes. The error is that of read, or where write failed by itself, write's.
func Through(write func(*tar.Writer) error, read func(io.Reader) error) error {
	r, w := io.Pipe()
	written := make(chan error, 1)
	go func() {
		t := tar.NewWriter(w)
		err := write(t)
		if err == nil {
			err = t.Close()
		}
		written <- err
		_ = w.CloseWithError(err) // a pipe's never fails
	}()
	err := read(r)
	if err == nil {
		_, err = io.Copy(io.Discard, r) // what is behind the tar's end
	}
	_ = r.CloseWithError(errTaken)
	if wrong := <-written; wrong != nil && !errors.Is(wrong, errTaken) {
		return wrong
	}
	return err
}
