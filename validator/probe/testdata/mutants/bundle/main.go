// Command bundle packs files into one JSON document and unpacks them again.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

type entry struct {
	Name string `json:"name"`
	Mode uint32 `json:"mode"`
	Data []byte `json:"data"`
}

func main() {
	args := os.Args[1:]
	var err error
	switch {
	case len(args) == 1 && (args[0] == "-h" || args[0] == "--help"):
		usage(os.Stdout)
	case len(args) >= 3 && args[0] == "pack":
		err = pack(args[1], args[2:])
	case len(args) == 2 && args[0] == "list":
		err = list(args[1])
	case len(args) == 3 && args[0] == "unpack":
		err = unpack(args[1], args[2])
	default:
		usage(os.Stderr)
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

func usage(w io.Writer) {
	fmt.Fprintln(w, "usage: bundle pack BUNDLE FILE... | list BUNDLE | unpack BUNDLE DIR")
}

func pack(out string, files []string) error {
	entries := []entry{}
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		if info.IsDir() {
			return fmt.Errorf("%s is a directory", name)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		entries = append(entries, entry{filepath.Base(name), uint32(info.Mode().Perm()), data})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(entries); i++ {
		if entries[i].Name == entries[i-1].Name {
			return fmt.Errorf("%s is there twice", entries[i].Name)
		}
	}
	data, err := json.Marshal(entries)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		fmt.Printf("%d files\n", len(entries))
	}
	return err
}

func read(name string) (entries []entry, err error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &entries); err != nil {
		return nil, fmt.Errorf("%s is no bundle: %w", name, err)
	}
	return entries, nil
}

func list(name string) error {
	entries, err := read(name)
	if err != nil {
		return err
	}
	for _, e := range entries {
		fmt.Printf("%04o %d %s\n", e.Mode, len(e.Data), e.Name)
	}
	return nil
}

func unpack(name, dir string) error {
	entries, err := read(name)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name != filepath.Base(e.Name) || e.Name == ".." {
			return fmt.Errorf("%q leads out of the directory", e.Name)
		}
		if _, err := os.Lstat(filepath.Join(dir, e.Name)); err == nil {
			return fmt.Errorf("%s exists", e.Name)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.WriteFile(filepath.Join(dir, e.Name), e.Data, os.FileMode(e.Mode)); err != nil {
			return err
		}
	}
	return nil
}
