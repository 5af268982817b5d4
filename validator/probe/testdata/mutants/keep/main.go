// Command keep keeps names and values in keep.json of the working directory.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

const store = "keep.json"

type usage struct{ what string }

func (u usage) Error() string { return u.what }

func main() {
	err := run(os.Args[1:])
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "keep:", err)
	if errors.As(err, new(usage)) {
		fmt.Fprintln(os.Stderr, "usage: keep init | set NAME VALUE | get NAME | rm NAME | list | export")
		os.Exit(2)
	}
	os.Exit(1)
}

func run(args []string) error {
	if len(args) == 0 {
		return usage{"no command"}
	}
	want, ok := map[string]int{"init": 0, "set": 2, "get": 1, "rm": 1, "list": 0, "export": 0}[args[0]]
	if !ok {
		return usage{"unknown command " + args[0]}
	}
	if len(args)-1 != want {
		return usage{args[0] + " takes another number of arguments"}
	}
	if args[0] == "init" {
		if _, err := os.Lstat(store); err == nil {
			return errors.New(store + " exists")
		}
		return save(map[string]string{})
	}
	kept, err := load()
	if err != nil {
		return err
	}
	switch args[0] {
	case "set":
		if strings.TrimSpace(args[1]) == "" {
			return usage{"an empty name"}
		}
		if old, ok := kept[args[1]]; ok && old == args[2] {
			return nil
		}
		kept[args[1]] = args[2]
		return save(kept)
	case "get":
		value, ok := kept[args[1]]
		if !ok {
			return errors.New("no " + args[1])
		}
		fmt.Println(value)
	case "rm":
		if _, ok := kept[args[1]]; !ok {
			return errors.New("no " + args[1])
		}
		delete(kept, args[1])
		return save(kept)
	case "list":
		names := make([]string, 0, len(kept))
		for name := range kept {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			fmt.Println(name)
		}
	case "export":
		return json.NewEncoder(os.Stdout).Encode(kept)
	}
	return nil
}

func load() (map[string]string, error) {
	data, err := os.ReadFile(store)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("no " + store + " here; keep init makes one")
	}
	if err != nil {
		return nil, err
	}
	kept := map[string]string{}
	if err := json.Unmarshal(data, &kept); err != nil {
		return nil, fmt.Errorf("%s: %w", store, err)
	}
	return kept, nil
}

// save writes the store whole or not at all.
func save(kept map[string]string) error {
	data, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		return err
	}
	next := store + ".next"
	if err := os.WriteFile(next, append(data, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(next, store)
}
