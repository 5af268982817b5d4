package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/threat-model.md names the tests that guard each defence: each of those names is one.
func TestThreatModelNamesTestsThatAreThere(t *testing.T) {
	doc, err := os.ReadFile("../docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	tests, scripts := map[string]bool{}, map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case strings.HasSuffix(path, ".txtar"):
			scripts[strings.TrimSuffix(d.Name(), ".txtar")] = true
		case strings.HasSuffix(path, "_test.go"):
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range declared.FindAllSubmatch(text, -1) {
				tests[string(m[1])] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("`(Test\\w+)`").FindAllSubmatch(doc, -1) {
		if !tests[string(m[1])] {
			t.Errorf("there is no test %s", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`(?m)scripts? ((?:`+"`[\\w-]+`"+`(?:, )?)+)`).FindAllSubmatch(doc, -1) {
		for name := range strings.SplitSeq(string(m[1]), ", ") {
			if !scripts[strings.Trim(name, "`")] {
				t.Errorf("there is no script %s", name)
			}
		}
	}
	named, groups := 0, map[string]bool{}
	group := regexp.MustCompile(`^(?:cheats )?of the (\w+)$`)
	for _, m := range regexp.MustCompile(`\*([a-z…][^*\n]+)\*`).FindAllStringSubmatch(string(doc), -1) {
		end, _ := strings.CutPrefix(m[1], "… ")
		if g := group.FindStringSubmatch(m[1]); g != nil {
			groups["cheat_"+g[1]+"_test.go"] = true
		} else if named++; !slices.ContainsFunc(cheats(), func(c cheat) bool { return strings.HasSuffix(c.name, end) }) {
			t.Errorf("no cheat is called %q", m[1])
		}
	}
	files, err := filepath.Glob("cheat_*_test.go")
	if err != nil || len(files) != len(groups) || named < 10 {
		t.Errorf("of %q these are named: %v; and %d cheats: %v", files, groups, named, err)
	}
	for _, f := range files {
		if !groups[f] {
			t.Errorf("the cheats of %s are not named", f)
		}
	}
}
