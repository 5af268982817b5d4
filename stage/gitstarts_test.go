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
		"recorded":             {36, verdict.Clear, func(*kit) {}},
		"among many branches":  {36, verdict.Clear, func(k *kit) { many(k, 50) }},
		"the second time":      {24, verdict.Clear, func(k *kit) { k.run(verdict.Clear) }},
		"not recorded":         {22, verdict.Clear, func(k *kit) { k.req.NoCommit = true }},
		"a temporary worktree": {39, verdict.Clear, func(k *kit) { k.git("checkout", "-q", "main") }},
		"refused":              {14, verdict.Refused, func(k *kit) { k.req.Config.Validate.Build = "" }},
		"no branch":            {3, verdict.Refused, func(k *kit) { k.req.Issue = "8" }},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, scripted(allMet))
			c.prepare(k)
			dir := t.TempDir()
			log := filepath.Join(dir, "log")
			if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\necho \"$*\" >>'"+log+"'\nexec '"+real+"' \"$@\"\n"), 0o755); err != nil {
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
