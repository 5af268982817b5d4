package images

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A cache stays until it is swept, and not while a build has it; scratch goes when it is given back, or when its program
// is gone. Rights that a build took away are in nobody's way.
func TestFoldersOfBuilds(t *testing.T) {
	s := NewStore(filepath.Join(t.TempDir(), "images"), "amd64")
	open := func(f *Folder, err error) *Folder {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	sweep := func(f func() ([]string, error), want ...string) {
		t.Helper()
		if got, err := f(); err != nil || !slices.Equal(got, want) {
			t.Errorf("swept %q, %v; want %q", got, err, want)
		}
	}
	all := func() ([]string, error) { return s.Sweep(t.Context(), false) }
	dead := func() ([]string, error) { return s.SweepScratch(t.Context(), false) }

	free := func() { t.Error("it waited for nobody") }
	one, turn := open(s.Cache(t.Context(), "x", free)), open(s.Turn(t.Context(), "x", free))
	scratch := open(s.Scratch(t.Context()))
	if scratch.Dir == one.Dir {
		t.Errorf("%q %q", one.Dir, scratch.Dir)
	}
	if err := open(s.Cache(t.Context(), "other", free)).Close(); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*Folder{one, scratch} {
		if err := os.MkdirAll(filepath.Join(f.Dir, "shut/in"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(f.Dir, "shut"), 0); err != nil {
			t.Fatal(err)
		}
	}
	sweep(all, "build-cache-other")
	if err := turn.Close(); err != nil {
		t.Fatal(err)
	}
	sweep(all)
	left := filepath.Base(scratch.Dir)
	if err := scratch.lease.Close(); err != nil { // as when its program is killed
		t.Fatal(err)
	}
	sweep(dead, left)
	if _, err := os.Lstat(scratch.Dir); err == nil {
		t.Error("scratch of a dead program is left")
	}
	again := open(s.Scratch(t.Context()))
	sweep(dead)
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(again.Dir); err == nil {
		t.Error("scratch is left")
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	sweep(dead)
	sweep(all, "build-cache-x")
	if entries, err := os.ReadDir(s.folder()); err != nil || len(entries) > 0 {
		t.Errorf("left: %v %v", entries, err)
	}
}

// Builds that share a cache take turns: the second is told, has it when the first is done, and need not wait for ever.
func TestBuildsTakeTurns(t *testing.T) {
	s := NewStore(filepath.Join(t.TempDir(), "images"), "amd64")
	for name, take := range map[string]func(context.Context, string, func()) (*Folder, error){"cache": s.Cache, "turn": s.Turn} {
		t.Run(name, func(t *testing.T) {
			first, err := take(t.Context(), "x", func() { t.Error("it waited for nobody") })
			if err != nil {
				t.Fatal(err)
			}
			stop := errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			if _, err := take(ctx, "x", func() { cancel(stop) }); !errors.Is(err, stop) || !strings.Contains(err.Error(), "another build") {
				t.Fatalf("%v", err)
			}
			closed := false
			second, err := take(t.Context(), "x", func() {
				closed = true
				if err := first.Close(); err != nil {
					t.Error(err)
				}
			})
			if err != nil || !closed {
				t.Fatalf("%v, after the first %v", err, closed)
			}
			if err := second.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
