package build

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/trkr-dev/trkr-validate/verdict"
)

// kinds of projects that a hint can be given for, the likelier first: a Makefile knows best how its project is built.
var kinds = []struct{ file, build, artifacts string }{
	{"Makefile", "make", "bin/*"},
	{"go.mod", "mkdir -p dist && CGO_ENABLED=0 go build -o dist/ ./...", "dist/*"},
	{"Cargo.toml", "cargo build --release", "target/release/NAME"},
	{"pnpm-lock.yaml", "pnpm install --frozen-lockfile && pnpm run --if-present build && npm pack", "*.tgz"},
	{"package.json", "npm ci && npm run --if-present build && npm pack", "*.tgz"},
	{"pyproject.toml", "python3 -m build --wheel", "dist/*.whl"},
}

// Missing refuses a build without a command and tells what to write for what it sees in the worktree.
func Missing(dir string) error {
	r := &verdict.Refusal{Reason: verdict.BuildMissing, Detail: "validate.build is empty: nothing says how the artifact is made"}
	for _, k := range kinds {
		// Looked at, never opened: the file may be anything.
		info, err := os.Lstat(filepath.Join(dir, k.file))
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		r.Hints = append(r.Hints, fmt.Sprintf(`there is a %s: write "build": %q, "artifacts": [%q] under "validate" in .trkr/config.json`, k.file, k.build, k.artifacts))
		if k.file == "pnpm-lock.yaml" {
			break // a package.json is there as well
		}
	}
	if r.Hints == nil {
		r.Hints = []string{`write "build": "the command that makes it", "artifacts": ["what it makes"] under "validate" in .trkr/config.json`}
	}
	return r
}
