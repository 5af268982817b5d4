package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Name is where a repository keeps its configuration, relative to its root.
const Name = ".trkr/config.json"

// maxFile is the most that a configuration may have; it bounds what a wrong --config can cost.
const maxFile = 1 << 20

// File is one configuration file, checked: what it sets, as it says it.
type File struct {
	Path   string
	Values map[string]any // by Key.Name, as encoding/json gives it with UseNumber
	lines  map[string]int
}

// Line tells where the file sets a key; 0 where it does not.
func (f File) Line(key string) int { return f.lines[key] }

// Find looks for a checkout's configuration: Name in the root of the checkout that dir lies in, which is the nearest
// folder upward that holds .git, or in dir itself where there is none. The path is "" where there is no such file.
func Find(dir string) (string, error) {
	root, err := Root(dir)
	if err != nil {
		return "", err
	}
	if root == "" {
		root = dir
	}
	name := filepath.Join(root, filepath.FromSlash(Name))
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	} else if err != nil {
		return "", fmt.Errorf("looking for the configuration: %w", err)
	}
	return name, nil
}

// Root is the nearest folder from dir upward that holds .git, or "" where there is none.
func Root(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", nil
		}
		dir = parent
	}
}

// Load reads and checks a file. What is wrong with its content is an *Error with all problems; the file is shown to
// people by the name given here.
func Load(name string) (File, error) {
	f, err := os.Open(name)
	if err != nil {
		return File{}, fmt.Errorf("reading the configuration: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return File{}, fmt.Errorf("reading the configuration: %w", err)
	}
	if len(data) > maxFile {
		return File{}, &Error{Problems: []Problem{{Where: name, Text: fmt.Sprintf("larger than %s", FormatSize(maxFile))}}}
	}
	return Parse(name, data)
}

// Parse checks the content of a configuration file. name is what people see. The error is an *Error.
func Parse(name string, data []byte) (File, error) {
	n, line, err := parseJSON(data)
	if err != nil {
		hint := ""
		if strings.HasPrefix(err.Error(), "not JSON") {
			hint = "JSON has no comments, no trailing commas, and double quotes only"
		}
		return File{}, &Error{Problems: []Problem{{Where: name, Line: line, Text: err.Error(), Hint: hint}}}
	}
	p := parser{file: File{Path: name, Values: map[string]any{}, lines: map[string]int{}}, keys: Keys()}
	top, ok := n.value.(object)
	if !ok {
		p.problem("", wrong(n, "an object", `the least that is valid is {}`)...)
	}
	p.top(top)
	if len(p.problems) > 0 {
		slices.SortStableFunc(p.problems, func(a, b Problem) int { return a.Line - b.Line })
		return File{}, &Error{Problems: p.problems}
	}
	return p.file, nil
}

type parser struct {
	file     File
	keys     []Key
	problems []Problem
}

func (p *parser) problem(key string, found ...Problem) {
	for _, f := range found {
		f.Where, f.Key = p.file.Path, key+f.Key
		p.problems = append(p.problems, f)
	}
}

// top leaves what belongs to other programs alone, duplicates and all.
func (p *parser) top(o object) {
	seen := map[string]int{}
	for _, m := range o {
		if v, ours := m.value.value.(bool); ours && m.name == orchestrator {
			p.file.Values[m.name], p.file.lines[m.name] = v, m.line
		}
		if !slices.Contains(sections, m.name) {
			continue
		}
		if first, again := seen[m.name]; again {
			p.problem(m.name, duplicate(m.line, first))
			continue
		}
		seen[m.name] = m.line
		p.section(m)
	}
}

func (p *parser) section(m member) {
	o, ok := m.value.value.(object)
	if !ok {
		p.problem(m.name, wrong(m.value, "an object", "")...)
		return
	}
	p.members(m.name, o)
}

// members reads the object that stands at prefix.
func (p *parser) members(prefix string, o object) {
	seen := map[string]int{}
	for _, m := range o {
		name := prefix + "." + m.name
		if first, again := seen[m.name]; again {
			p.problem(name, duplicate(m.line, first))
			continue
		}
		seen[m.name] = m.line
		switch k, known := Lookup(name); {
		case known:
			_, problems := k.read(m.value)
			p.problem(name, problems...)
			p.file.Values[name] = m.value.plain()
			p.file.lines[name] = m.line
		case p.isParent(name):
			p.section(member{name: name, line: m.line, value: m.value})
		default:
			siblings, elsewhere := p.near(prefix, m.name)
			p.problem(name, unknown(m.line, m.name, siblings, elsewhere))
		}
	}
}

func (p *parser) isParent(name string) bool {
	return slices.ContainsFunc(p.keys, func(k Key) bool { return strings.HasPrefix(k.Name, name+".") })
}

// near lists the names that prefix may hold, and the key of the same last name that stands elsewhere.
func (p *parser) near(prefix, name string) (siblings []string, elsewhere string) {
	for _, k := range p.keys {
		if rest, ok := strings.CutPrefix(k.Name, prefix+"."); ok {
			first, _, _ := strings.Cut(rest, ".")
			if !slices.Contains(siblings, first) {
				siblings = append(siblings, first)
			}
		}
		if k.Name[strings.LastIndex(k.Name, ".")+1:] == name {
			elsewhere = k.Name
		}
	}
	return siblings, elsewhere
}

func duplicate(line, first int) Problem {
	return Problem{Line: line, Text: fmt.Sprintf("stands here again, first in line %d", first), Hint: "keep one of the two"}
}

func unknown(line int, name string, siblings []string, elsewhere string) Problem {
	p := Problem{Line: line, Text: "unknown key"}
	switch near := Nearest(name, siblings); {
	case near != "":
		p.Hint = fmt.Sprintf("did you mean %s?", quote(near))
	case elsewhere != "":
		p.Hint = fmt.Sprintf("did you mean %s?", quote(elsewhere))
	case len(siblings) == 0:
		p.Text = "unknown key: this version has no settings here"
	default:
		p.Hint = "known here are " + strings.Join(siblings, ", ")
	}
	return p
}
