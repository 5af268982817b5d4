package artifact

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// Programs finds what can be run: the directories in the box that hold programs, for a PATH, and the programs' names,
// both sorted and without duplicates. A program is a file that may be executed and is no shared library, or a link to
// one. A directory with a colon in its path cannot stand in a PATH and is left out.
func Programs(manifest []verdict.Entry) (dirs, names []string) {
	byPath := make(map[string]verdict.Entry, len(manifest))
	for _, e := range manifest {
		if raw, err := UnescapePath(e.Path); err == nil {
			byPath[raw] = e
		}
	}
	foundDirs, foundNames := map[string]bool{}, map[string]bool{}
	for raw, e := range byPath {
		at := raw
		for hops := 0; e.Type == "link" && hops < 40; hops++ {
			target, err := UnescapePath(e.Target)
			if err != nil {
				break
			}
			at = path.Join(path.Dir(at), target)
			e = byPath[at]
		}
		dir, name := path.Join(sandbox.Artifact, path.Dir(raw)), path.Base(raw)
		if e.Type != "file" || e.Mode&0o111 == 0 || library(path.Base(at)) || strings.Contains(dir, ":") {
			continue
		}
		foundDirs[dir], foundNames[name] = true, true
	}
	return slices.Sorted(maps.Keys(foundDirs)), slices.Sorted(maps.Keys(foundNames))
}

// library reports names that linkers give to shared libraries, which are executable files without being programs.
func library(name string) bool {
	return strings.HasSuffix(name, ".so") || strings.Contains(name, ".so.") || strings.HasSuffix(name, ".dylib") || strings.HasSuffix(name, ".node")
}
