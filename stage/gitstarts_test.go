package stage_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/verdict"
)

// Each start of git costs some milliseconds, and a run starts many. A change that needs more has to say so here.
func TestStartsOfGitAreCounted(t *testing.T) {
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		most    int
		want    verdict.Outcome
		prepare func(k *kit)
	}{
		"recorded":             {26, verdict.Clear, func(*kit) {}},
		"among many branches":  {26, verdict.Clear, func(k *kit) { many(k, 50) }},
		"the second time":      {14, verdict.Clear, func(k *kit) { k.run(verdict.Clear) }},
		"not recorded":         {12, verdict.Clear, func(k *kit) { k.req.NoCommit = true }},
		"a temporary worktree": {29, verdict.Clear, func(k *kit) { k.git("checkout", "-q", "main") }},
		"refused":              {9, verdict.Refused, func(k *kit) { k.req.Config.Validate.Build = "" }},
		"no branch":            {3, verdict.Refused, func(k *kit) { k.req.Issue = "8" }},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, scripted(allMet))
			c.prepare(k)
			dir := t.TempDir()
			log := filepath.Join(dir, "log")
			if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\necho \"${*##*protocol.allow=never}\" >>'"+log+"'\nexec '"+real+"' \"$@\"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
			k.run(c.want)
			started, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(started), "\n"); n > c.most {
				t.Errorf("git was started %d times, want at most %d:\n%s", n, c.most, started)
			}
		})
	}
}

func many(k *kit, n int) {
	head := k.git("rev-parse", "main")
	var refs strings.Builder
	for i := range n {
		fmt.Fprintf(&refs, "create refs/heads/trkr/1%02d %s\n", i, head)
	}
	cmd := exec.Command("git", "-C", k.dir, "update-ref", "--stdin")
	cmd.Stdin = strings.NewReader(refs.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		k.t.Fatalf("%v: %s", err, out)
	}
}

// A git program that answers questions about the repository is out of the build's reach: the build could ptrace it.
func TestNoGitOfOursRunsDuringTheBuild(t *testing.T) {
	k := newKit(t, scripted(allMet))
	build := k.req.Config.Validate.Build
	k.req.Config.Validate.Build = `for p in /proc/[0-9]*; do
	[ "$(readlink "$p/cwd")" != "$PWD/.git" ] || { tr '\0' ' ' <"$p/cmdline"; exit 1; }
done
` + build
	k.run(verdict.Clear)
}
