package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func folder(t *testing.T) *os.Root {
	t.Helper()
	dir, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return dir
}

func TestReadFileTakesPlainFilesOfModestSizeOnly(t *testing.T) {
	dir := folder(t)
	if err := os.WriteFile(filepath.Join(dir.Name(), "file"), []byte("12345"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", filepath.Join(dir.Name(), "link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir.Name(), "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := readFile(dir, "file", 5); err != nil || string(got) != "12345" {
		t.Errorf("read %q, %v", got, err)
	}
	for name, most := range map[string]int64{"file": 4, "link": 10, "pipe": 10, "nothing": 10} {
		if got, err := readFile(dir, name, most); err == nil {
			t.Errorf("%s: read %q", name, got)
		}
	}
	if got, whole, err := readEnd(dir, "file", 2); err != nil || string(got) != "45" || whole {
		t.Errorf("the end is %q, whole %v, %v", got, whole, err)
	}
	if got, whole, err := readEnd(dir, "file", 5); err != nil || string(got) != "12345" || !whole {
		t.Errorf("the end is %q, whole %v, %v", got, whole, err)
	}
}

// What a checkout holds can be a link to a file of the person who looks at it, or too much to read.
func TestAProjectIsToldWithoutFollowingLinks(t *testing.T) {
	dir := folder(t)
	secret := filepath.Join(t.TempDir(), "package.json")
	if err := os.WriteFile(secret, []byte(`{"scripts": {"build": "x"}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(dir.Name(), "package.json")); err != nil {
		t.Fatal(err)
	}
	if p := seen(dir); p.kind != "" {
		t.Errorf("a link was taken for a %s", p.kind)
	}
	large := "build:\n" + strings.Repeat("#", maxManifest)
	if err := os.WriteFile(filepath.Join(dir.Name(), "Makefile"), []byte(large), 0o644); err != nil {
		t.Fatal(err)
	}
	if p := seen(dir); p.kind != "Makefile" || p.build != "make" {
		t.Errorf("a Makefile too large to read gave %+v", p)
	}
}
