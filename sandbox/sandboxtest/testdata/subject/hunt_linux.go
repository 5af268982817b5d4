package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// tries counts what an attack did; each success is a line.
var tries int

func try(what string, err error) {
	tries++
	if err == nil {
		fmt.Println("worked:", what)
	}
}

func tried() { fmt.Println("tried", tries) }

// planted is in the name of every file that the suite hides on its machine.
const planted = "trkr-planted"

// system are directories of programs, which everybody may see: nothing is hidden there.
var system = map[string]bool{"/usr": true, "/bin": true, "/sbin": true, "/lib": true, "/lib32": true, "/lib64": true, "/proc": true, "/sys": true}

// hunt looks for what was hidden outside of the box: by path, by name, by content, and through every process. What is
// looked for by content comes in two halves, so that the words of this command do not hold it.
func hunt(a []string) {
	secret := []byte(a[0] + a[1])
	for _, p := range a[2:] {
		for _, from := range []string{"", "/proc/self/root", "/proc/1/root", "/proc/1/cwd", "/validate/../../..", "/proc/self/cwd/../../../../.."} {
			try("opening "+from+p, read(from+p))
		}
	}
	filepath.WalkDir("/", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case d.IsDir() && system[p]:
			return fs.SkipDir
		case strings.Contains(d.Name(), planted):
			try("name "+p, nil)
		}
		if d.Type().IsRegular() {
			try("content of "+p, holds(p, secret))
		}
		return nil
	})
	for _, pattern := range []string{"*", "task/*/*", "ns/*", "net/*"} {
		all, err := filepath.Glob("/proc/[0-9]*/" + pattern)
		check(err)
		for _, p := range all {
			if i, err := os.Stat(p); err == nil && i.Mode().IsRegular() {
				try("content of "+p, holds(p, secret))
			}
		}
	}
	for _, pattern := range []string{"fd/*", "cwd", "root", "exe", "map_files/*"} {
		all, err := filepath.Glob("/proc/[0-9]*/" + pattern)
		check(err)
		for _, p := range all {
			target, err := os.Readlink(p)
			if err == nil && !strings.Contains(target, planted) {
				err = fs.ErrNotExist
			}
			try("link "+p, err)
		}
	}
	tried()
}

// holds is an error unless the file's first MiB holds the words.
func holds(path string, words []byte) error {
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	b := make([]byte, 1<<20)
	n := 0
	for n < len(b) {
		m, err := f.Read(b[n:])
		if n += m; err != nil {
			break
		}
	}
	if !bytes.Contains(b[:n], words) {
		return fs.ErrNotExist
	}
	return nil
}
