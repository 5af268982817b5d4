package main

import (
	"encoding/json"
	"os"
	"strings"

	"github.com/trkr-dev/trkr-validate/build"
	"github.com/trkr-dev/trkr-validate/internal/pattern"
)

// project is what init makes of a repository's root.
type project struct {
	kind      string // the file that gave it away; empty where nothing did
	build     string
	artifacts []string
	ignore    []string // lines for .gitignore, so that what the build makes leaves the worktree clean
	notes     []string // what a person should look at
}

// maxManifest is far more than what a project says of itself.
const maxManifest = 1 << 20

// seen tells how the project at root is built. What it reads is bounded, and no link is followed: a checkout may hold
// anything.
func seen(dir *os.Root) project {
	has := func(name string) bool {
		info, err := dir.Lstat(name)
		return err == nil && info.Mode().IsRegular()
	}
	read := func(name string) string {
		data, err := readFile(dir, name, maxManifest)
		if err != nil {
			return ""
		}
		return string(data)
	}
	switch kind := build.Kind(dir.Name()); kind {
	case "":
		return project{}
	case "go.mod":
		return project{
			kind: kind, build: "mkdir -p dist && CGO_ENABLED=0 go build -trimpath -buildvcs=false -o dist/ ./...",
			artifacts: []string{"dist/*"}, ignore: []string{"/dist/"},
		}
	case "package.json":
		return node(read(kind), has)
	case "pyproject.toml":
		return python(has)
	case "Cargo.toml":
		return rust(read(kind), has)
	default:
		return makefile(kind, read(kind))
	}
}

func node(manifest string, has func(string) bool) project {
	var m struct {
		Scripts         map[string]string `json:"scripts"`
		Dependencies    map[string]string `json:"dependencies"`
		DevDependencies map[string]string `json:"devDependencies"`
	}
	p := project{kind: "package.json", artifacts: []string{"*.tgz"}, ignore: []string{"/*.tgz", "node_modules/"}}
	if err := json.Unmarshal([]byte(manifest), &m); err != nil {
		p.notes = append(p.notes, "package.json could not be read: "+err.Error())
	}
	var steps []string
	tool, install := "npm", "npm install"
	switch {
	case has("pnpm-lock.yaml"):
		tool, install = "pnpm", "pnpm install --frozen-lockfile"
	case has("yarn.lock"):
		tool, install = "yarn", "yarn install --frozen-lockfile"
	case has("package-lock.json"), has("npm-shrinkwrap.json"):
		install = "npm ci"
	}
	if len(m.Dependencies)+len(m.DevDependencies) > 0 {
		steps = append(steps, install)
	}
	if m.Scripts["build"] != "" {
		steps = append(steps, tool+" run build")
	}
	p.build = strings.Join(append(steps, "npm pack"), " && ")
	if len(m.Dependencies) > 0 {
		p.notes = append(p.notes, "the box has no network: bundle the dependencies, or name them in bundleDependencies")
	}
	return p
}

func python(has func(string) bool) project {
	p := project{
		kind: "pyproject.toml", build: "python3 -m pip wheel --no-deps --wheel-dir dist .",
		artifacts: []string{"dist/*.whl"}, ignore: []string{"/dist/", "/build/", "*.egg-info/"},
	}
	switch {
	case has("uv.lock"):
		p.build = "uv build --wheel --out-dir dist"
	case has("poetry.lock"):
		p.build = "poetry build --format wheel"
	}
	p.notes = append(p.notes, "the box has no network: a wheel that needs others does not install; let the build put them into dist as well")
	return p
}

var (
	cargoPackage = pattern.Regexp(`(?m)^\s*\[package\]`)
	buildTarget  = pattern.Regexp(`(?m)^build\s*:([^=]|$)`)
)

func rust(manifest string, has func(string) bool) project {
	command := "cargo install --force --no-track --root dist"
	if has("Cargo.lock") {
		command += " --locked"
	}
	p := project{kind: "Cargo.toml", build: command + " --path .", artifacts: []string{"dist/bin/*"}, ignore: []string{"/target/", "/dist/"}}
	if !cargoPackage().MatchString(manifest) {
		p.notes = append(p.notes, "the workspace has no package of its own: name the one with the program after --path")
	}
	return p
}

func makefile(name, content string) project {
	p := project{kind: name, build: "make", artifacts: []string{"dist/*"}, ignore: []string{"/dist/"}}
	if buildTarget().MatchString(content) {
		p.build = "make build"
	}
	p.notes = append(p.notes, "where it puts what it makes is a guess")
	return p
}
