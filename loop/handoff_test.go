package loop_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/trkr-dev/trkr-validate/contract"
	"github.com/trkr-dev/trkr-validate/loop"
	"github.com/trkr-dev/trkr-validate/ticket"
	"github.com/trkr-dev/trkr-validate/verdict"
)

func agreed(t interface{ Fatal(...any) }, ids ...string) contract.Contract {
	var b strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&b, "%s: `tool` succeeds\n", id)
	}
	c, err := contract.Parse([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const good = "# Handing over 7\n\n" +
	"## Implemented\n\n- **VAL-1**, VAL-2: usage goes to stderr (`src/usage.go`),\n  and so do errors in docs/\n\n" +
	"## Left undone\n- VAL-AUTH-3: needs the new key, which nobody has yet\n\n" +
	"## Commands run\n- `go test ./...` exit 0\n- ``echo `date` `` → exit 1: the clock of this box is off\n\n" +
	"## Discovered issues\nBLOCKING — src/old.go:7 — VAL-1 depends on a file that leaks\n- NOTE — the readme is old\n"

func TestHandoffIsRead(t *testing.T) {
	c := agreed(t, "VAL-1", "VAL-2", "VAL-AUTH-3")
	for name, text := range map[string]string{"as written": good, "with CRLF and a mark": "\ufeff" + strings.ReplaceAll(good, "\n", "\r\n")} {
		h, problems := loop.ParseHandoff([]byte(text), c)
		if len(problems) > 0 {
			t.Fatalf("%s: %v", name, problems)
		}
		got := fmt.Sprintf("%v", h)
		want := "{[{5 [VAL-1 VAL-2] usage goes to stderr (`src/usage.go`), and so do errors in docs/}] " +
			"[{9 [VAL-AUTH-3] needs the new key, which nobody has yet}] " +
			"[{12 go test ./... 0 } {13 echo `date` 1 the clock of this box is off}] " +
			"[{16 BLOCKING src/old.go:7 VAL-1 depends on a file that leaks} {17 NOTE  the readme is old}]}"
		if got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
	}
}

// Every problem is told at once, with its line.
func TestHandoffProblems(t *testing.T) {
	c := agreed(t, "VAL-1", "VAL-2")
	rest := "## Left undone\nNone.\n## Commands run\nNone.\n## Discovered issues\nNone.\n"
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"nothing at all": {"", []string{`the section "## Implemented" is missing`, `"## Left undone" is missing`, `"## Commands run" is missing`, `"## Discovered issues" is missing`}},
		"a diary":        {"Today I began.\nThen I went on.\n## Implemented\nNone.\n" + rest, []string{"line 1: "}},
		"twice":          {"## Implemented\nNone.\n## implemented\n- VAL-1: x\n" + rest, []string{`line 3: "## Implemented" stands here again, first in line 1`}},
		"another one":    {"## Implemented\nNone.\n## Thoughts\nmany\n" + rest, []string{"line 3: "}},
		"another level":  {"### Implemented\n- VAL-1: x\n" + rest, []string{`the section "## Implemented" is missing`, "line 1: "}},
		"says nothing":   {"## Implemented\n" + rest, []string{`line 1: "## Implemented" says nothing`}},
		"none and some":  {"## Implemented\n- VAL-1: x\n\nNone.\n" + rest, []string{"line 4: "}},
		"unknown ids":    {"## Implemented\n- VAL-1, VAL-7: x\n- VAL-9: y\n" + rest, []string{"line 2: the contract has no VAL-7", "line 3: the contract has no VAL-9"}},
		"no id":          {"## Implemented\n- the parser\n" + rest, []string{"line 2: "}},
		"no text":        {"## Implemented\n- VAL-1:\n- VAL-2\n" + rest, []string{"line 2: ", "line 3: "}},
		"prose":          {"## Implemented\nVAL-1: x\nand more\n" + rest, []string{"line 2: "}},
		"no reason":      {"## Implemented\n- VAL-1: x\n## Left undone\n- VAL-2: n/a\n" + strings.TrimPrefix(rest, "## Left undone\nNone.\n"), []string{"line 4: VAL-2 is left undone without a reason"}},
		"both ways":      {"## Implemented\n- VAL-1: x\n## Left undone\n- VAL-1: too hard\n" + strings.TrimPrefix(rest, "## Left undone\nNone.\n"), []string{"line 4: VAL-1 is left undone here and implemented in line 2"}},
		"commands":       {"## Implemented\nNone.\n## Left undone\nNone.\n## Commands run\n- `make`\n- make test exit 0\n- `x` exit\n## Discovered issues\nNone.\n", []string{"line 6: `make` stands without its exit code", "line 7: ", "line 8: "}},
		"issues":         {"## Implemented\nNone.\n## Left undone\nNone.\n## Commands run\nNone.\n## Discovered issues\n- it leaks\n- BLOCKING: it leaks\n- NOTE — .\n", []string{"line 8: ", "line 9: ", "line 10: "}},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := loop.ParseHandoff([]byte(tc.text), c)
			var got []string
			for _, p := range problems {
				got = append(got, p.String())
			}
			ok := len(got) == len(tc.want)
			for i := 0; ok && i < len(got); i++ {
				ok = strings.Contains(got[i], tc.want[i])
			}
			if !ok {
				t.Errorf("problems:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
		})
	}
}

// disclose gives the findings as "place: text", without those that the implementer discloses.
func disclose(t *testing.T, text string, c contract.Contract, d ticket.Diff) []string {
	t.Helper()
	h, problems := loop.ParseHandoff([]byte(text), c)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var all []string
	for _, f := range h.Disclosed(c, d) {
		if f.Source == loop.FromHandoff {
			all = append(all, f.Place.Text+": "+f.Text)
			if f.Severity != verdict.SeverityBlocking {
				t.Errorf("%+v does not block", f)
			}
		}
	}
	return all
}

func TestHandoffIsComparedWithTheBranch(t *testing.T) {
	c := agreed(t, "VAL-1", "VAL-2", "VAL-AUTH-3")
	diff := func(changed ...string) ticket.Diff {
		return ticket.NewDiff(changed, []string{"src/usage.go", "src/old.go", "docs/a.md", "docs/b/c.md", "Makefile"})
	}
	for name, tc := range map[string]struct {
		text string
		diff ticket.Diff
		want string
	}{
		"all is said":              {good, diff("src/usage.go", "docs/a.md", "docs/b/c.md"), ""},
		"a file is not mentioned":  {good, diff("src/usage.go", "src/usage.go.orig", "Makefile", "docs/a.md"), "Makefile: changed, and the handoff does not mention it|src/usage.go.orig: changed, and the handoff does not mention it"},
		"an assertion is missing":  {strings.Replace(good, ", VAL-2", "", 1), diff("src/usage.go"), "implementation.md: VAL-2 is neither implemented nor left undone"},
		"a file did not change":    {strings.Replace(good, "(`src/usage.go`)", "(`src/usage.go`, `./Makefile:3`, `src/gone.go`, `docs/b/`, `-v`, `text/plain`)", 1), diff("src/usage.go"), "implementation.md:5: `Makefile` is named among what was implemented and did not change|implementation.md:5: `src/gone.go` is named among what was implemented and did not change|implementation.md:5: `docs/b/` is named among what was implemented and did not change"},
		"a failure is passed over": {strings.Replace(good, " → exit 1: the clock of this box is off", " exited with code 1", 1), diff("src/usage.go"), "implementation.md:13: `echo `date`` ended with 1 and nothing explains it"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(disclose(t, tc.text, c, tc.diff), "|"); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestDiscoveredIssuesAreTypedFindings(t *testing.T) {
	c := agreed(t, "VAL-1", "VAL-2", "VAL-AUTH-3")
	h, _ := loop.ParseHandoff([]byte(good), c)
	all := h.Disclosed(c, ticket.NewDiff([]string{"src/usage.go"}, []string{"src/usage.go"}))
	if len(all) != 2 {
		t.Fatalf("%+v", all)
	}
	f := all[0]
	if f.Source != loop.FromImplementer || f.Severity != verdict.SeverityBlocking || f.Place.File != "src/old.go" || f.Place.Line != 7 || len(f.Criteria) != 1 || f.Criteria[0] != "VAL-1" {
		t.Errorf("%+v", f)
	}
	if (loop.Handed{Present: true, Findings: all}).OK() != true {
		t.Error("a disclosed issue counts against the handoff")
	}
}

// What moved down the file is the same defect.
func TestFindingsKeepTheirIDs(t *testing.T) {
	c := agreed(t, "VAL-1", "VAL-2", "VAL-AUTH-3")
	d := ticket.NewDiff([]string{"src/usage.go"}, []string{"src/usage.go", "Makefile"})
	gap := strings.Replace(good, "(`src/usage.go`)", "(`src/usage.go`, `Makefile`)", 1)
	id := func(text string) string {
		h, _ := loop.ParseHandoff([]byte(text), c)
		return h.Disclosed(c, d)[0].ID
	}
	if a, b := id(gap), id("\n\n"+gap); a != b {
		t.Errorf("%s became %s", a, b)
	}
}

// Whatever stands in a handoff, each assertion that it does not account for is told, and an honest one has no finding.
func TestEveryAssertionIsAccountedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := agreed(t, "VAL-1", "VAL-2", "VAL-3", "VAL-4")
		var b [2]strings.Builder
		left := map[string]bool{}
		for _, a := range c.Assertions {
			switch rapid.IntRange(0, 2).Draw(t, a.ID) {
			case 0:
				left[a.ID] = true
			case 1:
				fmt.Fprintf(&b[0], "- %s: done\n", a.ID)
			default:
				fmt.Fprintf(&b[1], "* `%s` — waits for a decision\n", a.ID)
			}
		}
		for i := range b {
			if b[i].Len() == 0 {
				b[i].WriteString("None.\n")
			}
		}
		text := "## Implemented\n" + b[0].String() + "## Left undone\n" + b[1].String() + "## Commands run\nNone.\n## Discovered issues\nNone.\n"
		h, problems := loop.ParseHandoff([]byte(text), c)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		found := h.Disclosed(c, ticket.NewDiff(nil, nil))
		if len(found) != len(left) {
			t.Fatalf("%d findings, want %d: %+v", len(found), len(left), found)
		}
		for _, f := range found {
			if !left[f.Criteria[0]] {
				t.Fatalf("%+v is accounted for", f)
			}
		}
	})
}

func TestPlacesAreTyped(t *testing.T) {
	for text, want := range map[string]loop.Place{
		"src/poll.ts:42":   {File: "src/poll.ts", Line: 42},
		"src/poll.ts:42:7": {File: "src/poll.ts", Line: 42, Column: 7},
		"`main.go`":        {File: "main.go"},
		"src/poll.ts":      {File: "src/poll.ts"},
		"the parser":       {},
		"where":            {},
		"":                 {},
	} {
		want.Text = text
		if got := loop.ParsePlace(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

func FuzzParseHandoff(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("## Implemented\n- VAL-1, VAL-2: `a/b.go`\n## Left undone\n- VAL-AUTH-3 — no\n## Commands run\n- ``` exit 1\n"))
	f.Add([]byte("# a\n# b\n## Commands run\n- `x` (exit code 3) - why\n\tand more\n## Discovered issues\nNOTE -- x — y\n"))
	c := agreed(f, "VAL-1", "VAL-2", "VAL-AUTH-3")
	d := ticket.NewDiff([]string{"a/b.go"}, []string{"a/b.go", "c"})
	f.Fuzz(func(t *testing.T, data []byte) {
		h, problems := loop.ParseHandoff(data, c)
		last := 0
		for _, p := range problems {
			if p.Text == "" || p.Line < last && p.Line != 0 {
				t.Errorf("problem %+v after line %d", p, last)
			}
			last = p.Line
		}
		said := map[string]bool{}
		for _, it := range append(h.Implemented, h.Undone...) {
			for _, id := range it.IDs {
				said[id] = true
			}
		}
		ids := map[string]bool{}
		for _, found := range h.Disclosed(c, d) {
			if ids[found.ID] {
				t.Errorf("%s stands twice", found.ID)
			}
			ids[found.ID] = true
			for _, id := range found.Criteria {
				if found.Source == loop.FromHandoff && strings.HasSuffix(found.Text, "left undone") {
					said[id] = true
				}
			}
		}
		for _, a := range c.Assertions {
			if !said[a.ID] {
				t.Errorf("%s is in no section and no finding", a.ID)
			}
		}
	})
}
