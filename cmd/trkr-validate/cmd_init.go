package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/trkr-dev/trkr-validate/config"
	"github.com/trkr-dev/trkr-validate/internal/fault"
)

func (a *app) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Write .trkr/config.json for the project that is here",
		Long: `Write .trkr/config.json and the ignore entries that a run needs, for the kind of project that is here: go.mod,
package.json, pyproject.toml, Cargo.toml or a Makefile. What is there already stays as it is.`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return a.init() },
	}
}

// initJSON is what init --json prints.
type initJSON struct {
	SchemaVersion int      `json:"schemaVersion"`
	Root          string   `json:"root"`
	Kind          string   `json:"kind"`
	Build         string   `json:"build"`
	Artifacts     []string `json:"artifacts"`
	Written       []string `json:"written"`
	Kept          []string `json:"kept"`
}

func (a *app) init() error {
	root, err := config.Root(a.directory)
	if err != nil {
		return err
	}
	if root == "" {
		return fault.Usagef("no_repository", []string{"run it in a git repository, or point at one with -C"}, "%s lies in no git repository", a.directory)
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return fault.Env("folder", err)
	}
	defer dir.Close()
	p := seen(dir)
	doc := initJSON{SchemaVersion: 1, Root: root, Kind: p.kind, Build: p.build, Artifacts: orEmpty(p.artifacts), Written: []string{}, Kept: []string{}}
	note := func(name string, wrote bool, err error) error {
		if wrote {
			doc.Written = append(doc.Written, name)
		} else if err == nil {
			doc.Kept = append(doc.Kept, name)
		}
		return err
	}
	if err := dir.MkdirAll(".trkr", 0o755); err != nil {
		return fault.Env("folder", fmt.Errorf("making .trkr: %w", err))
	}
	wrote, err := writeNew(dir, config.Name, p.config())
	if err := note(config.Name, wrote, err); err != nil {
		return err
	}
	wrote, err = ignore(dir, ".trkr/.gitignore", "/validate/", "/runs/")
	if err := note(".trkr/.gitignore", wrote, err); err != nil {
		return err
	}
	if len(p.ignore) > 0 {
		wrote, err = ignore(dir, ".gitignore", p.ignore...)
		if err := note(".gitignore", wrote, err); err != nil {
			return err
		}
	}
	if a.json {
		return a.writeJSON(doc)
	}
	return a.printf("%s", initText(p, doc))
}

// config is the file that fits the project: what a person has to look at, and nothing that the defaults say as well.
func (p project) config() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	// Strings and lists of strings: encoding cannot fail.
	_ = e.Encode(struct {
		Validate any `json:"validate"`
	}{struct {
		Build     string   `json:"build"`
		Artifacts []string `json:"artifacts"`
		Agent     string   `json:"agent"`
	}{p.build, orEmpty(p.artifacts), "probe"}})
	return b.Bytes()
}

// inJSON is a value as a person would paste it into the file.
func inJSON(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // strings and lists of them
	return strings.TrimSpace(b.String())
}

// writeNew writes a file that is not there yet; through a link that was planted it never does.
func writeNew(root *os.Root, name string, content []byte) (bool, error) {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err == nil {
		_, err = f.Write(content)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return false, fault.Env("folder", fmt.Errorf("writing %s: %w", name, err))
	}
	return true, nil
}

// ignore adds the lines that an ignore file does not hold yet and tells whether it had to.
func ignore(root *os.Root, name string, lines ...string) (bool, error) {
	old, err := readFile(root, name, maxManifest)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fault.Env("folder", fmt.Errorf("reading %s: %w", name, err))
	}
	has := map[string]bool{}
	for line := range strings.Lines(string(old)) {
		has[strings.Trim(strings.TrimSpace(line), "/")] = true
	}
	text := string(old)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	missing := false
	for _, line := range lines {
		if !has[strings.Trim(line, "/")] {
			text += line + "\n"
			missing = true
		}
	}
	if !missing {
		return false, nil
	}
	// The whole file is replaced at once: half an ignore file would make a worktree dirty.
	path := filepath.Join(root.Name(), filepath.FromSlash(name))
	if err := renameio.WriteFile(path, []byte(text), 0o644, renameio.WithExistingPermissions()); err != nil {
		return false, fault.Env("folder", fmt.Errorf("writing %s: %w", name, err))
	}
	return true, nil
}

func initText(p project, doc initJSON) string {
	var b strings.Builder
	for _, name := range doc.Written {
		fmt.Fprintf(&b, "wrote %s\n", name)
	}
	for _, name := range doc.Kept {
		fmt.Fprintf(&b, "kept  %s as it is\n", name)
	}
	b.WriteString("\nnext:\n")
	switch {
	case len(doc.Kept) > 0 && doc.Kept[0] == config.Name:
		fmt.Fprintf(&b, "  1. look at %s: trkr-validate config prints what it amounts to\n", config.Name)
		if p.kind != "" {
			fmt.Fprintf(&b, "     for a %s, \"validate\" could hold\n       \"build\": %s,\n       \"artifacts\": %s\n", p.kind, inJSON(p.build), inJSON(p.artifacts))
		}
	case p.kind == "":
		fmt.Fprintf(&b, "  1. nothing here says how it is built: fill in validate.build and validate.artifacts in %s\n", config.Name)
	default:
		fmt.Fprintf(&b, "  1. look at %s: %s is built with\n       %s\n     and its artifacts are %s\n", config.Name, p.kind, p.build, strings.Join(p.artifacts, ", "))
		for _, n := range p.notes {
			fmt.Fprintf(&b, "     (%s)\n", n)
		}
	}
	b.WriteString(`  2. commit it to the default branch:
       git add .trkr .gitignore && git commit -m "Validate tickets"
  3. write on the ticket's branch what has to be true, before the code, in .trkr/tickets/7/contract.md:
         VAL-1: ` + "`tool --help` exits 0 and prints `usage`" + `
       git checkout -b trkr/7
       git add .trkr/tickets/7 && git commit -m "Agree the contract of 7"
  4. trkr-validate 7
`)
	return b.String()
}
