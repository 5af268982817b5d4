package stage

import (
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/trkr-dev/trkr-validate/internal/pattern"
)

// tidy says what to do about changes in the worktree. Nobody is told to commit a private key.
func (r *run) tidy(changes []string) []string {
	keys := privateKeys(r.ticket.Worktree, changes)
	var hints []string
	what := "them"
	if len(keys) > 0 {
		hints = append(hints, fmt.Sprintf("move what is a private key out of the checkout, and away from the build: %s", some(keys)))
		what = "the others"
	}
	if len(keys) < len(changes) {
		hints = append(hints, "commit or remove "+what+", or list what is not source in a .gitignore that is committed: no other file's excludes count")
	}
	return hints
}

var privateKey = pattern.Regexp(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----`)

// privateKeys are those of the files that hold one in PEM. What cannot be read is none.
func privateKeys(dir string, names []string) (keys []string) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	for _, name := range names {
		if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() {
			continue
		}
		f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		head, _ := io.ReadAll(io.LimitReader(f, 16<<10)) // what was read until an error may show it as well
		if f.Close() == nil && privateKey().Match(head) {
			keys = append(keys, name)
		}
	}
	return keys
}
