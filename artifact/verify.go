package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/trkr-dev/trkr-validate/sandbox"
)

// differencesShown is how many differences an error of Verify names.
const differencesShown = 5

// Verify compares what a box shows under sandbox.Root with the set and the contract: the same paths, each of the same
// type, mode, size, link target and digest. Where the box hashed only a file's ends, these are compared. The error
// names the first differences.
func (s *Set) Verify(seen []sandbox.File, contract []byte) error {
	sum := sha256.Sum256(contract)
	want := map[string]*item{
		contractFile: {kind: "file", mode: 0o444, size: int64(len(contract)), sum: sum, edges: edgesOf(contract)},
		artifacts:    {kind: "dir", mode: 0o755},
	}
	for _, it := range s.items {
		want[artifacts+"/"+it.path] = it
	}
	var differ []string
	say := func(path, format string, args ...any) {
		differ = append(differ, quote(path)+" "+fmt.Sprintf(format, args...))
	}
	for _, f := range seen {
		it, ok := want[f.Path]
		delete(want, f.Path)
		switch {
		case !ok:
			say(f.Path, "is not part of it")
		case f.Type != it.kind:
			say(f.Path, "is %q there and was a %s", f.Type, it.kind)
		case it.kind == "link":
			// Modes of links differ between systems and mean nothing.
			if f.Target != it.target {
				say(f.Path, "links to %s there and to %s here", quote(f.Target), quote(it.target))
			}
		case f.Mode != it.mode:
			say(f.Path, "has mode %04o there and %04o here", f.Mode, it.mode)
		case it.kind == "file" && f.Size != it.size:
			say(f.Path, "has %d bytes there and %d here", f.Size, it.size)
		case it.kind == "file" && f.Digest != it.digest(f.Partial):
			say(f.Path, "has other content")
		}
	}
	for path := range want {
		say(path, "is not there")
	}
	if len(differ) == 0 {
		return nil
	}
	slices.Sort(differ)
	more := ""
	if n := len(differ) - differencesShown; n > 0 {
		differ, more = differ[:differencesShown], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("%s%s", strings.Join(differ, ", "), more)
}

func (it *item) digest(partial bool) string {
	if partial {
		return hex.EncodeToString(it.edges[:])
	}
	return hex.EncodeToString(it.sum[:])
}

func edgesOf(b []byte) [sha256.Size]byte {
	h := newHasher(int64(len(b)))
	h.feed(b)
	_, ends := h.sums()
	return ends
}
