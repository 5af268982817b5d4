package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	movedAside = &defence{edits: []edit{{"artifact/aside.go", `if it.kind == "dir" || o.Tracked != nil`, `if true || it.kind == "dir" || o.Tracked != nil`}}}
	// A link may leave the artifacts, and what it leads to counts as theirs.
	linksOfImage = &defence{deep: true, edits: []edit{
		{"artifact/judge.go", "if !c.full { // else", "if false { // else"},
		{"sandbox/internal/initd/helper.go", "filepath.EvalSymlinks(path); err == nil {", "path, error(nil); err == nil {"},
	}}
	sealedToTheEnd = &defence{edits: []edit{{"stage/judge.go", "if err := r.set.Unchanged(); err != nil {", "if err := r.set.Unchanged(); err != nil && false {"}}}
	lookedInside   = &defence{deep: true, edits: []edit{
		{"stage/box.go", "if err := r.set.Verify(seen, r.contract.Format()); err != nil {", "if err := r.set.Verify(seen, r.contract.Format()); err != nil && false {"},
		sealedToTheEnd.edits[0],
	}}
	lookedWhole = &defence{deep: true, edits: []edit{{"stage/box.go", "if r.req.VerifyAll {", "if false {"}, sealedToTheEnd.edits[0]}}
	// What stands at the place of the set already, stays, where it is a link.
	replacedLinks = &defence{deep: true, edits: []edit{
		{"artifact/materialise.go", "func put(from, to string) (replaced bool, err error) {\n", "func put(from, to string) (replaced bool, err error) {\n\tif info, err := os.Lstat(to); err == nil && info.Mode()&fs.ModeSymlink != 0 {\n\t\treturn false, nil\n\t}\n"},
		lookedInside.edits[0], lookedInside.edits[1],
	}}
)

// meanwhile does something as soon as ready says so: the work of a process that the build did not start.
func meanwhile(t *testing.T, ready func() bool, do func() error) {
	t.Helper()
	stop, done := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() {
		close(stop)
		<-done
	})
	go func() {
		defer close(done)
		for !ready() {
			select {
			case <-stop:
				t.Error("the moment did not come")
				return
			case <-time.After(time.Millisecond / 4):
			}
		}
		if err := do(); err != nil {
			t.Error(err)
		}
	}()
}

// tool is the product as the box is shown it.
func (r *repo) tool() string { return filepath.Join(r.dir, ".trkr/validate/7/artifact/dist/tool") }

// sealed tells whether it is there.
func (r *repo) sealed() bool {
	_, err := os.Stat(r.tool())
	return err == nil
}

// validating tells whether the agents are at work.
func (r *repo) validating() bool {
	logs, err := filepath.Glob(filepath.Join(r.dir, ".trkr/runs/*/events.jsonl"))
	if err != nil || len(logs) != 1 {
		return false
	}
	text, err := os.ReadFile(logs[0])
	return err == nil && strings.Contains(string(text), `"step.started","step":"validate"`)
}

// Something else is judged than what the build made.
var artifactCheats = []cheat{
	{
		name: "artifact of an earlier build", tries: "a good product lies where the build should put its own, and the build does nothing",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, files{"build.sh": "true\n"}, nil)
			r.git("checkout", "-q", "trkr/7")
			r.write(files{"dist/tool": honest})
			return r, nil
		},
		want: "refused artifact_missing", without: movedAside,
	},
	{
		name: "incremental build that makes nothing", tries: "the build believes a stamp of its own and makes nothing",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, files{"build.sh": "[ -e stamp ] && exit 0\n" + hers, ".gitignore": "/dist/\n/stamp\n"}, nil)
			r.git("checkout", "-q", "trkr/7")
			r.write(files{"dist/tool": honest, "stamp": ""})
			return r, nil
		},
		want: "refused artifact_missing", without: movedAside,
	},
	{
		name: "artifact that is committed", tries: "the branch holds a finished program where the build should put it",
		prepare: func(t *testing.T) (*repo, []string) {
			return ticketed(t, agreed, files{"dist/tool": honest, ".gitignore": "", "build.sh": "true\n"}, nil), nil
		},
		want: "refused artifact_is_source", without: trackedBefore,
	},
	{
		name: "artifact of a submodule", tries: "the finished program is committed in a submodule",
		prepare: func(t *testing.T) (*repo, []string) {
			sub := newRepo(t, files{"tool": honest})
			r := started(t, nil)
			r.git("checkout", "-q", "-b", "trkr/7")
			r.commit("agree", agreement(agreed))
			r.write(files{".gitignore": ""})
			r.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub.dir, "dist")
			r.commit("code", files{"build.sh": "true\n"})
			return r, nil
		},
		want: "refused artifact_is_source", without: trackedBefore,
	},
	{
		name: "link to the image's true", tries: "the product is a link to /bin/true",
		prepare: func(t *testing.T) (*repo, []string) {
			return ticketed(t, "VAL-1: `tool` succeeds\n", files{"build.sh": hers + "mv dist/tool dist/other; ln -s /bin/true dist/tool\n"}, nil), nil
		},
		want: "refused artifact_unsafe", without: linksOfImage,
	},
	{
		name: "artifact exchanged after the build", tries: "what was sealed is exchanged before the box begins, by a process that the build did not start",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, nil, nil)
			better := r.plant("better", honest)
			meanwhile(t, r.sealed, func() error { return os.Rename(better, r.tool()) })
			return r, nil
		},
		want: "error inputs_differ", without: lookedInside,
	},
	{
		name: "artifact exchanged while it is tried", tries: "such a process waits until the box was looked into",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, slowFirst, files{"build.sh": hers + "cp slow.sh dist/slow && chmod +x dist/slow\n", "slow.sh": slow}, nil)
			meanwhile(t, r.validating, func() error { return os.WriteFile(r.tool(), []byte(honest), 0o755) })
			return r, nil
		},
		want: "error inputs_changed", without: sealedToTheEnd,
	},
	{
		name: "artifact exchanged in its middle", tries: "of a large file only the middle is exchanged; --verify-all is asked for",
		prepare: func(t *testing.T) (*repo, []string) {
			lines := strings.Repeat("#"+strings.Repeat("x", 1022)+"\n", 35<<10)
			large := func(says string) string {
				return "#!/bin/sh\n" + lines + "says=" + says + "\n" + lines + "echo $says\n"
			}
			r := ticketed(t, agreed, files{"build.sh": `mkdir -p dist && awk 'BEGIN {
	for (i = 0; i < 1022; i++) line = line "x"
	print "#!/bin/sh"
	for (i = 0; i < 35840; i++) print "#" line
	print "says=world"
	for (i = 0; i < 35840; i++) print "#" line
	print "echo $says"
}' >dist/tool && chmod +x dist/tool
`}, nil)
			better := r.plant("better", large("hello"))
			meanwhile(t, r.sealed, func() error { return os.Rename(better, r.tool()) })
			return r, []string{"7", "--verify-all"}
		},
		want: "error inputs_differ", without: lookedWhole,
	},
	{
		name: "link in the place of the set", tries: "the build puts a link to a good product where the set will be shown to the box",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, files{"build.sh": hers + `root=$(cd "$(git rev-parse --git-common-dir)/.." && pwd)
mkdir -p "$root/.trkr/good/artifact/dist" && cp .trkr/tickets/7/contract.md "$root/.trkr/good/"
printf '#!/bin/sh\necho hello\n' >"$root/.trkr/good/artifact/dist/tool" && chmod +x "$root/.trkr/good/artifact/dist/tool"
ln -s ../good "$root/.trkr/validate/7"
`}, nil)
			return r, nil
		},
		want: "blocking", without: replacedLinks,
	},
}
