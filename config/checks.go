package config

import (
	"path"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/pattern"
	"github.com/trkr-dev/trkr-validate/internal/place"
)

var variableName = pattern.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)

func variable(s string) (string, string) {
	name, _, _ := strings.Cut(s, "=")
	if !variableName().MatchString(name) {
		return quote(name) + " is not a variable's name", `write "NAME=value", or "NAME" to take it from the caller's environment`
	}
	return "", ""
}

// buildVariable is one of the build, which gets none that tells git where to work.
func buildVariable(s string) (string, string) {
	if name, _, _ := strings.Cut(s, "="); strings.HasPrefix(name, "GIT_") {
		return quote(name) + " is for git, and a build gets no GIT_ variables", "set it in the build command where git needs it"
	}
	return variable(s)
}

func glob(s string) (string, string) {
	switch {
	case s == "":
		return "must not be empty", ""
	case path.IsAbs(s):
		return quote(s) + " is absolute", "artifacts are named relative to the worktree"
	case !wellFormed(s):
		return quote(s) + " is not a glob", "known are *, **, ?, [class] and {this,that}"
	}
	for part := range strings.SplitSeq(s, "/") {
		if part == ".." {
			return quote(s) + " leaves the worktree", "artifacts are named relative to the worktree"
		}
	}
	return "", ""
}

// wellFormed tells whether brackets and braces close. What a glob matches is the collecting package's business.
func wellFormed(pattern string) bool {
	if _, err := path.Match(pattern, ""); err != nil {
		return false
	}
	open := 0
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '{':
			open++
		case '}':
			open--
		}
		if open < 0 {
			return false
		}
	}
	return open == 0
}

func mount(s string) (string, string) {
	if !path.IsAbs(s) || path.Clean(s) != s || s == "/" {
		return quote(s) + " is not the absolute path of a folder", "write it from / on, without a / at its end"
	}
	return "", ""
}

func command(s string) (string, string) {
	if strings.TrimSpace(s) == "" {
		return "must not be empty", ""
	}
	return "", ""
}

func reachable(s string) (string, string) {
	if _, err := place.Parse(s); err != nil {
		return err.Error(), `write each as "packages.example.com:443"`
	}
	return "", ""
}

func imageName(s string) (string, string) {
	if s == "" || strings.ContainsAny(s, "\t\r\n") || strings.HasPrefix(s, "-") {
		return quote(s) + " names no image", `write "host", a reference such as "debian:12", or "oci:FOLDER", "docker-archive:FILE", "dockerfile:FILE", "artifact:FILE"`
	}
	return "", ""
}

func buildImage(s string) (string, string) {
	switch {
	case s == "":
		return "", ""
	case s == "host":
		return "a container has no userland of this machine", "leave the key out to build on this machine, or name an image"
	case strings.HasPrefix(s, "artifact:"):
		return "what the build makes is not there before it", "name an image that has what the build needs"
	}
	return imageName(s)
}

// branchName holds the rules of git check-ref-format that a person may break by a slip.
func branchName(s string) (string, string) {
	bad := s == "" || strings.HasPrefix(s, "-") || strings.HasPrefix(s, "/") || strings.HasSuffix(s, "/") ||
		strings.HasSuffix(s, ".") || strings.HasPrefix(s, "refs/") || strings.ContainsAny(s, " ~^:?*[\\\x7f")
	for _, part := range []string{"..", "//", "@{", "/."} {
		bad = bad || strings.Contains(s, part)
	}
	for _, r := range s {
		bad = bad || r < ' '
	}
	if bad {
		return quote(s) + " is not a branch's name", ""
	}
	return "", ""
}

func baseName(s string) (string, string) {
	if s == "" {
		return "", ""
	}
	return branchName(s)
}

// ticketDir is a folder inside the repository that is neither git's nor written by a run.
func ticketDir(s string) (string, string) {
	if path.IsAbs(s) || path.Clean(s) != s || s == ".." || strings.HasPrefix(s, "../") {
		return quote(s) + " is not a folder inside the repository", `write it relative to the repository's root, such as ".trkr/tickets/{issue}"`
	}
	for _, own := range []string{".git", ".trkr/validate", ".trkr/runs", ".trkr/loop"} {
		if s == own || strings.HasPrefix(s, own+"/") {
			return quote(s) + " lies under " + own + ", which holds no committed files", ""
		}
	}
	return "", ""
}
