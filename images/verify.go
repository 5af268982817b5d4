package images

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

type digester struct{ hash.Hash }

func newDigester() digester { return digester{sha256.New()} }

func (d digester) digest() string { return "sha256:" + hex.EncodeToString(d.Sum(nil)) }

func digestOf(data []byte) string {
	sum := newDigester()
	sum.Write(data)
	return sum.digest()
}

// verified reads a blob and fails, with a fault, where it is not the one that its descriptor names.
type verified struct {
	io.ReadCloser
	want  v1.Descriptor
	sum   digester
	got   int64
	fault func(error) error // names a failure to read; nil where the blob merely ended, well or not
}

func verify(r io.ReadCloser, want v1.Descriptor, fault func(error) error) (io.ReadCloser, error) {
	if want.Digest.Algorithm != "sha256" {
		_ = r.Close() // nothing was read
		return nil, notImage("a part of the image is named by a %s digest, and only sha256 is read", want.Digest.Algorithm)
	}
	return &verified{ReadCloser: r, want: want, sum: newDigester(), fault: fault}, nil
}

func (v *verified) Read(p []byte) (int, error) {
	n, err := v.ReadCloser.Read(p)
	v.sum.Write(p[:n])
	v.got += int64(n)
	name := v.want.Digest.String()
	switch {
	case v.got > v.want.Size:
		return 0, damaged("a part of the image (%s) is longer than the %d bytes that were announced", name, v.want.Size)
	case err == nil:
		return n, nil
	}
	if named := v.fault(err); named != nil {
		return n, named
	}
	switch {
	case v.got < v.want.Size:
		return n, truncated(name, v.got, v.want.Size)
	case v.sum.digest() != name: // the reader below may have found it out as well
		return n, wrongDigest(name, name, v.sum.digest())
	}
	return n, io.EOF
}

// ours reports whether a failure is one of writing the files of this machine.
func ours(err error) bool {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return true
	}
	_, ok := errors.AsType[*os.LinkError](err)
	return ok
}
