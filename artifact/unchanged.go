package artifact

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Unchanged makes sure that nothing was written to, replaced, added or removed where Materialise put the set, since it
// did, also where it was undone since: a program that may write there and that the build did not start, or that was
// not caught, could let an assertion meet another program than the one that was sealed. It costs one look at each path.
func (s *Set) Unchanged() error {
	for i, p := range s.placedPaths() {
		info, err := os.Lstat(p)
		if err != nil {
			return fmt.Errorf("looking at the artifacts again: %w", err)
		}
		if identify(info) != s.placed[i] {
			return fmt.Errorf("%s was changed after it was sealed", quote(p))
		}
	}
	return nil
}

// look remembers what Materialise put into dir.
func (s *Set) look(dir string) error {
	s.dir = dir
	s.placed = make([]identity, 0, len(s.items)+3)
	for _, p := range s.placedPaths() {
		info, err := os.Lstat(p)
		if err != nil {
			return err
		}
		s.placed = append(s.placed, identify(info))
	}
	return nil
}

func (s *Set) placedPaths() []string {
	paths := slices.Grow([]string{s.dir, filepath.Join(s.dir, contractFile), filepath.Join(s.dir, artifacts)}, len(s.items))
	for _, it := range s.items {
		paths = append(paths, filepath.Join(s.dir, artifacts, it.path))
	}
	return paths
}
