//go:build unix

package initd

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
)

func observed(t *testing.T, v View, names ...string) (types []string) {
	t.Helper()
	var out bytes.Buffer
	if err := v.Observe(wire.Params{Content: 10, Names: wire.Bytes(names)}, &out); err != nil {
		t.Fatal(err)
	}
	r := wire.NewReader(&out)
	for range names {
		var f wire.File
		if err := r.ReadJSON(wire.KindMessage, &f, wire.MaxAnswer); err != nil {
			t.Fatal(err)
		}
		if f.Bytes > 0 {
			if _, _, err := r.Next(0); err != nil {
				t.Fatal(err)
			}
		}
		types = append(types, f.Type)
	}
	return types
}

// Only what is known not to be there is not there, and what stands outside is not seen through a link.
func TestObserve(t *testing.T) {
	top := t.TempDir()
	work, other := filepath.Join(top, "s", "work"), filepath.Join(top, "else")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{filepath.Join(work, "in"), other} {
		must(os.MkdirAll(dir, 0o700))
		must(os.WriteFile(filepath.Join(dir, "f"), []byte("x"), 0o600))
	}
	must(os.Symlink(other, filepath.Join(work, "out")))
	must(os.Symlink("../../else", filepath.Join(work, "up")))
	must(os.Symlink("in", filepath.Join(work, "through")))
	must(os.Symlink("loop", filepath.Join(work, "loop")))
	must(os.Symlink("nowhere", filepath.Join(work, "dangling")))
	v := View{Dir: work}
	for name, want := range map[string]string{
		"in/f": "file", "in": "dir", "through/f": "file", "out": "link", "nothing": "", "in/f/below": "", "dangling/f": "",
		"out/f": sandbox.Unseen, "up/f": sandbox.Unseen, "up/nothing": sandbox.Unseen, "../../else/f": sandbox.Unseen, "loop/f": sandbox.Unseen,
		filepath.Join(other, "f"): "file",
	} {
		if got := observed(t, v, name); got[0] != want {
			t.Errorf("%s is %q, want %q", name, got[0], want)
		}
	}

	// The directory itself is the session's to remove or to replace.
	absolute := filepath.Join(other, "f")
	must(os.Rename(work, filepath.Join(top, "away")))
	if got := observed(t, v, "in/f", absolute); got[0] != "" || got[1] != "file" {
		t.Errorf("without the directory: %q", got)
	}
	must(os.Symlink(other, work))
	if got := observed(t, v, "f"); got[0] != sandbox.Unseen {
		t.Errorf("a link in its place: %q", got)
	}
	must(os.RemoveAll(filepath.Join(top, "s")))
	must(os.MkdirAll(filepath.Join(other, "work"), 0o700))
	must(os.WriteFile(filepath.Join(other, "work", "f"), nil, 0o600))
	must(os.Symlink(other, filepath.Join(top, "s")))
	if got := observed(t, v, "f"); got[0] != sandbox.Unseen {
		t.Errorf("a link in place of the one that holds it: %q", got)
	}
}
