package artifact

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A farm of random links: what is sealed never leads out of the set, by the kernel's own reading, and what is refused
// holds a link that leads out of it, to an absolute path or to something that was not taken.
func TestLinkFarm(t *testing.T) {
	top := t.TempDir()
	n, kept := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		root := filepath.Join(top, fmt.Sprint(n))
		defer os.RemoveAll(root)
		part := rapid.SampledFrom([]string{"a", "b", "l0", "l1", "l2", "..", ".", "file", "absent"})
		target := func(label string) string {
			s := strings.Join(rapid.SliceOfN(part, 1, 5).Draw(t, label), "/")
			if rapid.IntRange(0, 19).Draw(t, "absolute") == 0 {
				s = "/" + s
			}
			return s
		}
		for _, d := range []string{"set/a/b", "set/b/a", "else/a"} {
			if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for _, f := range []string{"set/file", "set/a/file", "set/b/a/file", "else/file"} {
			if err := os.WriteFile(filepath.Join(root, f), []byte(f), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		var links []string
		for i, dir := range []string{"set", "set/a", "set/a/b", "set/b"} {
			for j := range rapid.IntRange(0, 2).Draw(t, "links") {
				l := fmt.Sprintf("%s/l%d", dir, j)
				if err := os.Symlink(target(fmt.Sprint(i, j)), filepath.Join(root, l)); err != nil {
					t.Fatal(err)
				}
				links = append(links, l)
			}
		}
		o := Options{Root: root, Globs: []string{"set"}, Staging: filepath.Join(root, "else", "staging"), MaxBytes: 1 << 20, MaxFiles: 100}
		s, err := Collect(t.Context(), o)
		if err == nil {
			defer s.Close()
			if len(links) > 0 {
				kept++
			}
			copied := filepath.Join(s.staging, artifacts)
			for _, l := range links {
				to, err := filepath.EvalSymlinks(filepath.Join(copied, l))
				if err == nil && to != copied && !strings.HasPrefix(to, copied+"/") {
					t.Fatalf("%s leads to %s", l, to)
				}
				here, herr := filepath.EvalSymlinks(filepath.Join(root, l))
				if (err == nil) != (herr == nil) || err == nil && strings.TrimPrefix(to, copied) != strings.TrimPrefix(here, root) {
					t.Fatalf("%s leads to %q (%v) in the copy and to %q (%v) in the worktree", l, to, err, here, herr)
				}
			}
			return
		}
		if !strings.Contains(err.Error(), escaping) && !strings.Contains(err.Error(), outside) {
			t.Fatal(err)
		}
		for _, l := range links {
			if leaves(root, l) {
				return
			}
		}
		t.Fatalf("refused without need: %v", err)
	})
	if kept == 0 || kept == n {
		t.Errorf("%d of %d farms were sealed: this shows little", kept, n)
	}
}

// leaves follows a link step by step on the real file system and reports whether it meets an absolute target, a step
// above the root, or anything that exists outside set/. The root itself is no place to end at either.
func leaves(root, link string) bool {
	at := filepath.Dir(filepath.Join(root, link))
	todo := strings.Split(filepath.Base(link), "/")
	for hops := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		if name == "." || name == "" {
			continue
		}
		if name == ".." {
			if at == root {
				return true
			}
			at = filepath.Dir(at)
			continue
		}
		p := filepath.Join(at, name)
		info, err := os.Lstat(p)
		if errors.Is(err, os.ErrNotExist) || err != nil {
			return false
		}
		if rel := strings.TrimPrefix(p, root); rel != "/set" && !strings.HasPrefix(rel, "/set/") {
			return true
		}
		switch {
		case info.IsDir():
			at = p
		case info.Mode()&os.ModeSymlink != 0:
			target, _ := os.Readlink(p)
			if strings.HasPrefix(target, "/") {
				return true
			}
			if hops++; hops > 40 {
				return false
			}
			todo = append(strings.Split(target, "/"), todo...)
		default:
			return false
		}
	}
	return false
}
