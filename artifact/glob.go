package artifact

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// glob is a pattern ready to be matched.
type glob struct {
	text    string // as it was written
	pattern string // without "./" and a slash at the end
	base    string // directory that every match lies in, "." for the root
	depth   int    // how many levels below base can match; 0: any
}

func parseGlobs(key string, texts []string) ([]glob, error) {
	var globs []glob
	for _, text := range texts {
		g, err := parseGlob(text)
		if err != nil {
			return nil, fault.Usage("glob_invalid", fmt.Errorf("%s: %q %w", key, text, err), "write a pattern relative to the worktree, like \"dist/*\", \"dist/**/*.js\" or \"pkg.tgz\"")
		}
		globs = append(globs, g)
	}
	return globs, nil
}

func parseGlob(text string) (glob, error) {
	p := strings.TrimRight(text, "/")
	for strings.HasPrefix(p, "./") {
		p = strings.TrimLeft(p[2:], "/")
	}
	switch {
	case strings.HasPrefix(text, "/"):
		return glob{}, errors.New("is not relative")
	case p == "":
		return glob{}, errors.New("is empty")
	case slices.Contains(strings.Split(p, "/"), ".."):
		return glob{}, errors.New("leaves the worktree")
	case !doublestar.ValidatePattern(p):
		return glob{}, errors.New("is no valid pattern")
	case p == ".":
		p = "**"
	}
	base, rest := doublestar.SplitPattern(p)
	g := glob{text: text, pattern: p, base: path.Clean(base)}
	if !strings.Contains(rest, "**") {
		// Alternatives in braces may hold slashes, so this is a bound and not the exact depth.
		g.depth = strings.Count(rest, "/") + 1
	}
	return g, nil
}

func (g glob) match(p string) bool { return doublestar.MatchUnvalidated(g.pattern, p) }

// matchAbove reports whether the glob matches a directory above p and so takes p.
func (g glob) matchAbove(p string) bool {
	for p = path.Dir(p); p != "."; p = path.Dir(p) {
		if g.match(p) {
			return true
		}
	}
	return false
}

// last is the last element of the pattern.
func (g glob) last() string { return path.Base(g.pattern) }

// withheld reports paths that are never artifacts: history, and this program's own folders. Their contents are not
// asked about either, a walk stops there.
func withheld(p string) bool {
	for name := range strings.SplitSeq(p, "/") {
		if strings.EqualFold(name, ".git") {
			return true
		}
	}
	for _, own := range []string{".trkr/validate", ".trkr/runs", ".trkr/loop"} {
		if len(p) >= len(own) && strings.EqualFold(p[:len(own)], own) && (len(p) == len(own) || p[len(own)] == '/') {
			return true
		}
	}
	return false
}
