// Package imports holds the project's import rules as a test: data flows one way through the packages, and each
// outside tool is known to few of them.
package imports

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/trkr-dev/trkr-validate/"

// rooms are the packages in the order in which a ticket goes through them. A package imports only its own room, what
// stands below it, and what is internal; what is internal serves the rooms below stage and imports nothing above.
var rooms = []string{
	"cmd/trkr-validate", "cmd/trkr-shim", "stage", "loop", "gate", "ticket", "build", "artifact", "validator", "sandbox", "images",
	"attest", "verdict", "contract", "config",
}

// known says which packages may import what comes from outside. A key ending in a slash covers what lies below it.
var known = map[string][]string{
	"github.com/docker/":             {"sandbox/docker", "images", "build"},
	"github.com/moby/":               {"sandbox/docker", "images", "build"},
	"gvisor.dev/":                    {"sandbox/gvisor"},
	"github.com/spf13/":              {"cmd/trkr-validate"},
	"github.com/google/go-github/":   {"internal/github"},
	"github.com/rs/zerolog":          {"cmd/trkr-validate", "stage"},
	"github.com/hashicorp/yamux":     {"sandbox/internal/wire", "sandbox/shim"},
	"github.com/bmatcuk/doublestar/": {"artifact", "stage"},
	"mvdan.cc/sh/":                   {"validator/probe"},
	"os/exec":                        {"ticket", "internal/proc", "sandbox/gvisor", "sandbox/shim", "sandbox/sandboxtest"},
	"testing":                        {"sandbox/sandboxtest", "internal/testengine"},
}

func TestImportsPointDownwards(t *testing.T) {
	files := 0
	each(t, func(pkg, path string) {
		files++
		for other, allowed := range known {
			if (path == other || strings.HasSuffix(other, "/") && strings.HasPrefix(path, other)) && !slices.Contains(allowed, pkg) {
				t.Errorf("%s imports %s; only %v may", pkg, path, allowed)
			}
		}
		to, ok := strings.CutPrefix(path, module)
		if !ok {
			return
		}
		from, below := room(pkg), room(to)
		if strings.HasPrefix(pkg, "internal/") {
			from = room("ticket")
		}
		switch {
		case strings.HasPrefix(to, "internal/"):
		case from < 0 || below < 0:
			t.Errorf("%s imports %s: one of them has no place in the order of rooms", pkg, to)
		case below < from:
			t.Errorf("%s imports %s, which stands above it", pkg, to)
		}
	})
	if files == 0 {
		t.Fatal("no import was looked at")
	}
}

// What computes a verdict must give the same answer everywhere and always.
func TestPureRoomsStayPure(t *testing.T) {
	impure := []string{"os", "os/exec", "net", "net/http", "syscall", "math/rand", "crypto/rand"}
	each(t, func(pkg, path string) {
		if slices.Contains([]string{"verdict", "contract", "gate", "attest"}, pkg) && slices.Contains(impure, path) {
			t.Errorf("%s is pure and imports %s", pkg, path)
		}
	})
}

func room(pkg string) int {
	return slices.IndexFunc(rooms, func(r string) bool { return pkg == r || strings.HasPrefix(pkg, r+"/") })
}

// each calls f for every import of every file that is no test and not kept from the go tool.
func each(t *testing.T, f func(pkg, path string)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); base == "testdata" || base == "examples" || len(base) > 2 && base[0] == '.' {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(name))
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			f(filepath.ToSlash(rel), path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
