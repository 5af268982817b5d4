package artifact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/owner"
)

// artifacts is the folder of the set beside contract.md.
const artifacts = "artifact"

// seal copies what was chosen. Where the set is refused already, it only looks at the beginning of each file, so that
// a person hears of every reason at once; the Set is empty then.
func (c *collection) seal(ctx context.Context) (*Set, error) {
	items := c.sorted()
	if c.reasons.any() {
		return &Set{}, c.eachFile(ctx, items, nil)
	}
	staging, err := makeStaging(c.o.Staging)
	if err != nil {
		return nil, err
	}
	s := &Set{items: items, staging: staging, sealed: true}
	if err := c.fill(ctx, s); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (c *collection) fill(ctx context.Context, s *Set) error {
	broken := func(err error) error {
		return fault.Env("staging_failed", fmt.Errorf("copying the artifacts: %w", err), "see that the disk that holds .trkr has room")
	}
	top := filepath.Join(s.staging, artifacts)
	if err := os.Mkdir(top, 0o700); err != nil {
		return broken(err)
	}
	to, err := os.OpenRoot(top)
	if err != nil {
		return broken(err)
	}
	defer to.Close()
	for _, it := range s.items {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		switch it.kind {
		case "dir":
			err = to.Mkdir(it.path, 0o700)
		case "link":
			err = to.Symlink(it.target, it.path)
		}
		if err != nil {
			return broken(err)
		}
	}
	if err := c.eachFile(ctx, s.items, to); err != nil {
		return err
	}
	for _, it := range s.items {
		if it.kind == "dir" {
			if err := to.Chmod(it.path, os.FileMode(it.mode)); err != nil {
				return broken(err)
			}
		}
	}
	if err := os.Chmod(top, 0o755); err != nil {
		return broken(err)
	}
	return nil
}

// eachFile takes every file with a few workers: large ones first, so that none is left for the end, then the others
// in the order of their directories.
func (c *collection) eachFile(ctx context.Context, items []*item, to *os.Root) error {
	var files []*item
	for _, it := range items {
		if it.kind == "file" && !tooLong(it.path) {
			files = append(files, it)
		}
	}
	slices.SortStableFunc(files, func(a, b *item) int {
		return cmp.Compare(max(b.size, pipelined), max(a.size, pipelined))
	})
	var next atomic.Int64
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for range min(runtime.GOMAXPROCS(0), 4, len(files)) {
		wg.Go(func() {
			k := &copier{c: c, from: c.root, to: to}
			defer k.close()
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(files) {
					return
				}
				if err := k.take(ctx, files[i]); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

const stagingPrefix = ".sealing."

// makeStaging makes a directory in dir that carries the name of this program, and removes those of programs that were
// killed before they could.
func makeStaging(dir string) (string, error) {
	broken := func(err error) (string, error) {
		return "", fault.Env("staging_failed", fmt.Errorf("making room for the artifacts: %w", err), "see that "+dir+" can be written")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return broken(err)
	}
	if err := sweepStaging(dir); err != nil {
		return broken(err)
	}
	staging, err := os.MkdirTemp(dir, stagingPrefix+owner.Self().String()+".")
	if err != nil {
		return broken(err)
	}
	return staging, nil
}

func sweepStaging(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if o, ok := stagedBy(e.Name()); ok && o.UID == os.Getuid() && !o.Alive() {
			if err := removeTree(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// stagedBy reads whose a directory is from its name.
func stagedBy(name string) (owner.Owner, bool) {
	rest, ok := strings.CutPrefix(name, stagingPrefix)
	if !ok {
		return owner.Owner{}, false
	}
	// What MkdirTemp added comes last.
	o, err := owner.Parse(strings.TrimSuffix(rest, filepath.Ext(rest)))
	return o, err == nil
}
