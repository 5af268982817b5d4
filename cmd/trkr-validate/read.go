package main

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// readFile reads a file of a folder that others may write to. A link is not followed, nothing but a regular file is
// opened for long, and one that holds more than most is an error.
func readFile(dir *os.Root, name string, most int64) ([]byte, error) {
	f, _, err := openFile(dir, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > most {
		return nil, fmt.Errorf("%s holds more than %d bytes", name, most)
	}
	return data, nil
}

// readEnd reads the last bytes of such a file, at most this many. whole tells whether that is all of it.
func readEnd(dir *os.Root, name string, most int64) (data []byte, whole bool, err error) {
	f, size, err := openFile(dir, name)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	from := max(0, size-most)
	data, err = io.ReadAll(io.NewSectionReader(f, from, most))
	return data, from == 0, err
}

func openFile(dir *os.Root, name string) (f *os.File, size int64, err error) {
	named, err := dir.Lstat(name)
	if err != nil {
		return nil, 0, err
	}
	if !named.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s is no regular file", name)
	}
	// What stands there may be another file by now; a pipe must not hold us up.
	if f, err = dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0); err != nil {
		return nil, 0, err
	}
	opened, err := f.Stat()
	if err == nil && !os.SameFile(named, opened) {
		err = fmt.Errorf("%s was replaced while it was opened", name)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, opened.Size(), nil
}
