package probe

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/trkr-dev/trkr-validate/sandbox"
)

// lookup knows where programs are. PATH, the artifact, the prefix and the image are read-only while assertions run: what
// was found once stays there, and one look serves all assertions.
type lookup struct {
	found map[string]string
	image []string // directories of the image's own PATH
}

// lasting reports whether a name means the same file in every session.
func lasting(name string) bool { return !strings.Contains(name, "/") || belongs(name) }

// find resolves programs, links followed to the end. An element is empty where nothing that could be run was found.
func (l lookup) find(ctx context.Context, s sandbox.Session, programs []program) ([]string, error) {
	var names, scripts []string
	fresh := map[string]string{}
	for _, p := range programs {
		if _, known := l.found[p.key()]; known {
			continue
		}
		if _, known := fresh[p.key()]; known {
			continue
		}
		fresh[p.key()] = ""
		if p.script {
			scripts = append(scripts, p.name)
		} else {
			names = append(names, p.name)
		}
	}
	if len(names) > 0 {
		found, err := s.LookPath(ctx, names...)
		if err != nil {
			return nil, err
		}
		for i, name := range names {
			fresh[program{name: name}.key()] = found[i]
		}
	}
	if len(scripts) > 0 {
		files, err := observe(ctx, s, scripts)
		if err != nil {
			return nil, err
		}
		for _, name := range scripts {
			if files[name].Type == "file" {
				fresh[program{name: name, script: true}.key()] = name
			}
		}
	}
	places := make([]string, len(programs))
	for i, p := range programs {
		place, known := l.found[p.key()]
		if !known {
			place = fresh[p.key()]
		}
		if places[i] = place; lasting(p.name) {
			l.found[p.key()] = place
		}
	}
	return places, nil
}

// known is what was found before.
func (l lookup) known(programs []program) []string {
	places := make([]string, len(programs))
	for i, p := range programs {
		places[i] = l.found[p.key()]
	}
	return places
}

// hides returns one of the names that the image has a program of, or nothing.
func (l lookup) hides(ctx context.Context, s sandbox.Session, names []string) (string, error) {
	var look []program
	var of []string
	for _, name := range names {
		for _, dir := range l.image {
			if !strings.Contains(name, "/") && path.IsAbs(dir) && !belongs(dir+"/x") {
				look, of = append(look, program{name: path.Join(dir, name)}), append(of, name)
			}
		}
	}
	places, err := l.find(ctx, s, look)
	if err != nil {
		return "", err
	}
	for i, place := range places {
		if place != "" && !belongs(place) {
			return of[i], nil
		}
	}
	return "", nil
}

// key keeps a file that is executed apart from the same file given to an interpreter.
func (p program) key() string {
	if p.script {
		return "script " + p.name
	}
	return "program " + p.name
}

// observe looks at absolute paths.
func observe(ctx context.Context, s sandbox.Session, names []string) (map[string]sandbox.File, error) {
	files, err := s.Observe(ctx, 0, names...)
	if err != nil {
		return nil, err
	}
	seen := map[string]sandbox.File{}
	for i, f := range files {
		seen[names[i]] = f
	}
	return seen, nil
}

// replaceable reports whether decoys would take the place of all the artifact's programs: each is found by its bare name.
func replaceable(programs []program, decoys []string) bool {
	for _, p := range programs {
		if p.script || path.Base(p.name) != p.name || !slices.Contains(decoys, p.name) {
			return false
		}
	}
	return len(programs) > 0
}
