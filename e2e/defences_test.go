//go:build defences

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Each defence is necessary: in a program without it, the cheats that it stops work. Every one costs a link of the
// program, so this has a tag of its own.
func TestCheatsWorkWithoutTheirDefence(t *testing.T) {
	needs(t, "gvisor")
	var order []*defence
	stops := map[*defence][]cheat{}
	for _, c := range cheats() {
		if stops[c.without] == nil {
			order = append(order, c.without)
		}
		stops[c.without] = append(stops[c.without], c)
	}
	for _, d := range order {
		var bare string // the program without it, once a cheat asks for that
		for _, c := range stops[d] {
			t.Run(c.name, func(t *testing.T) {
				if d.fails != "" {
					t.Logf("row\t%s\twithout\t%s fails", c.name, d.failing(t))
					return
				}
				if bare == "" {
					bare = d.build(t)
				}
				real := program
				defer func() { program = real }()
				program = bare
				engine := "gvisor"
				if c.docker != "" { // it is there that the defence is at work
					engine = "docker"
					needs(t, engine)
				}
				r, doc := c.try(t, engine)
				if !c.wins(t, r, doc) {
					t.Errorf("%s: it does not work without its defence either: %s\n%s", c.tries, said(doc), told(doc))
				}
				t.Logf("row\t%s\twithout\t%s", c.name, c.gained(doc))
			})
		}
		if bare != "" {
			os.RemoveAll(filepath.Dir(bare))
		}
	}
}

// gained says what a cheat has got.
func (c cheat) gained(doc document) string {
	got := said(doc)
	if c.won != nil {
		got += ", " + c.gains
	}
	if c.without.deep {
		got += " (more than one went)"
	}
	return got
}

// overlay writes what the go command needs to build without the defence. No source file is changed.
func (d *defence) overlay(t *testing.T) string {
	t.Helper()
	changed, err := d.applied()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	replace := map[string]string{}
	for name, content := range changed {
		original, err := filepath.Abs(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		replace[original] = filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(replace[original], []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// build makes the program without the defence, in a folder of its own.
func (d *defence) build(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(program), "without-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	bare := filepath.Join(dir, filepath.Base(program))
	build := exec.Command("go", "build", "-overlay", d.overlay(t), "-ldflags", "-s -w", "-o", bare, "../cmd/trkr-validate")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the program: %v\n%s", err, out)
	}
	return bare
}

// failing runs the test that has to fail without the defence, and returns its name.
func (d *defence) failing(t *testing.T) string {
	t.Helper()
	pkg, test, _ := strings.Cut(d.fails, " ")
	var pattern []string
	for part := range strings.SplitSeq(test, "/") {
		pattern = append(pattern, "^"+part+"$")
	}
	run := exec.Command("go", "test", "-overlay", d.overlay(t), "-count=1", "-run", strings.Join(pattern, "/"), "../"+pkg)
	run.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := run.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !strings.Contains(string(out), fmt.Sprintf("--- FAIL: %s (", test)) {
		t.Errorf("%s does not fail without the defence: %v\n%s", test, err, out)
	}
	return test
}
