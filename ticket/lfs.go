package ticket

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strconv"

	"github.com/trkr-dev/trkr-validate/internal/pattern"
)

var lfsPointer = pattern.Regexp(`^version https://git-lfs\.github\.com/spec/v1\noid sha256:([0-9a-f]{64})\nsize ([0-9]+)\n$`)

// maxLFSPointer is what Git LFS itself reads of a pointer at most.
const maxLFSPointer = 1024

// pointsTo reports whether the file pointer is a Git LFS pointer to the content of file.
func pointsTo(pointer, file string) bool {
	p, err := openRegular(pointer)
	if err != nil {
		return false
	}
	defer p.Close()
	text, err := io.ReadAll(io.LimitReader(p, maxLFSPointer))
	if err != nil {
		return false
	}
	m := lfsPointer().FindSubmatch(text)
	if m == nil {
		return false
	}
	f, err := openRegular(file)
	if err != nil {
		return false
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return err == nil && strconv.FormatInt(n, 10) == string(m[2]) && hex.EncodeToString(h.Sum(nil)) == string(m[1])
}
