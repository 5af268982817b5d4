package ticket

import (
	"os"
	"path/filepath"
	"testing"
)

// The tree without the record is named as git would name it.
func TestTreeWithoutTheRecordIsGits(t *testing.T) {
	for name, c := range map[string]struct {
		template string
		args     []string
		beside   []string
	}{
		"with a contract beside it": {".trkr/tickets/{issue}", nil, nil},
		"alone":                     {"a/{issue}/b", nil, nil},
		"alone, its folder not":     {"a/{issue}/b", nil, []string{"a/7/x"}},
		"names that sort around it": {"a/{issue}", nil, []string{"a/7.x", "a/7/validation.md-", "a/7/validation.mda/x", "a/7-", "a/70/x"}},
		"names of every kind":       {"a/{issue}", nil, []string{"a/7/caf\xe9", "a/7/\n", "a/7/ \"'\\", "a/7/\t"}},
		"sha256":                    {"a/{issue}", []string{"--object-format=sha256"}, []string{"a/x", "b"}},
		"sha256, alone":             {"a/{issue}/b", []string{"--object-format=sha256"}, nil},
		"beside links and programs": {"linked/{issue}", nil, []string{"linked/x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := fixture(t, filepath.Join(tempDir(t), "r"), c.args...)
			for _, file := range c.beside {
				write(t, filepath.Join(dir, file), "x")
			}
			link(t, "src", filepath.Join(dir, "link"))
			if err := os.Chmod(filepath.Join(dir, "src/a.go"), 0o755); err != nil {
				t.Fatal(err)
			}
			git(t, dir, "add", "-fA")
			git(t, dir, "commit", "-qm", "more")
			want := git(t, dir, "rev-parse", "HEAD^{tree}")
			write(t, filepath.Join(dir, expand(c.template, "7"), RecordName), "x")
			git(t, dir, "add", "-fA")
			git(t, dir, "commit", "-qm", "record")
			tk := resolve(t, open(t, dir), Query{DirTemplate: c.template})
			if tk.Tree != want || git(t, dir, "rev-parse", "HEAD^{tree}") == want {
				t.Errorf("tree %s, want %s", tk.Tree, want)
			}
		})
	}
}
