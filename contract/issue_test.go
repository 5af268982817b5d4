package contract

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const section = "## Validation contract\n"

func TestParseIssueReads(t *testing.T) {
	for name, tc := range map[string]struct {
		in, want string
		warnings int
	}{
		"plain":             {section + "VAL-1: a\nVAL-2: b", "VAL-1@2 a|VAL-2@3 b", 0},
		"any level, case":   {"###### VALIDATION Contract ######\r\nVAL-1: a\r\n", "VAL-1@2 a", 0},
		"decorated heading": {"# **Validation contract:**\nVAL-1: a", "VAL-1@2 a", 0},
		"setext heading":    {"Validation contract\n---\nVAL-1: a", "VAL-1@3 a", 0},
		"ends at same":      {section + "VAL-1: a\n## Notes\nfoo", "VAL-1@2 a", 0},
		"ends at higher":    {section + "VAL-1: a\n# Notes\nfoo", "VAL-1@2 a", 0},
		"ends at setext":    {section + "VAL-1: a\n\nNotes\n-----\nfoo", "VAL-1@2 a", 0},
		"rule after an id":  {section + "VAL-1: a\n---\nVAL-2: b", "VAL-1@2 a|VAL-2@4 b", 1},
		"lower goes on":     {section + "### Basics\nVAL-1: a\n#### More\nVAL-2: b", "VAL-1@3 a|VAL-2@5 b", 2},
		"no heading in a fence": {
			"```\n## Validation contract\nVAL-9: x\n```\n" + section + "VAL-1: a", "VAL-1@6 a", 0,
		},
		"decorations": {
			section + "- **VAL-1:** a\n* [ ] `VAL-2`: b\n1. **VAL-3: c**\n+ [x] _VAL-4_: d\n  - VAL-5: e\n### VAL-6: f ###\n`VAL-7: g`\n2) ***VAL-8***: h",
			"VAL-1@2 a|VAL-2@3 b|VAL-3@4 c|VAL-4@5 d|VAL-5@6 e|VAL-6@7 f|VAL-7@8 g|VAL-8@9 h", 0,
		},
		"code stays":           {section + "- VAL-1: `app --help` exits 0", "VAL-1@2 `app --help` exits 0", 0},
		"continued":            {section + "- VAL-1: a\n  b\n\n  c\n- VAL-2: d", "VAL-1@2 a b c|VAL-2@6 d", 0},
		"prose":                {section + "These were agreed:\n\n- VAL-1: a\nand so on\n  and on", "VAL-1@4 a and so on and on", 1},
		"paragraph goes on":    {section + "- VAL-1: `tool` exits 0\nand prints `good`\n- VAL-2: b\n  c\n-v too\n\nprose", "VAL-1@2 `tool` exits 0 and prints `good`|VAL-2@4 b c -v too", 1},
		"paragraph goes on, 2": {section + "VAL-1: a\n*b* c\n\n  d\ne <x>", "VAL-1@2 a *b* c d e <x>", 0},
		"paragraph ends":       {section + "VAL-1: a\n- b\nVAL-2: c\n1. d\nVAL-3: e\n> f\nVAL-4: g\n| h |\nVAL-5: i\n</details>\n### VAL-6: j\nk\nVAL-7: l\n***", "VAL-1@2 a|VAL-2@4 c|VAL-3@6 e|VAL-4@8 g|VAL-5@: i|VAL-6@< j|VAL-7@> l", 7},
		"values":               {section + "Values: 3\nevaluate 2\nVal Kilmer\nAs in VAL 2\n\nVAL-1: a", "VAL-1@7 a", 4},
		"comments":             {section + "<!-- VAL-9: no -->\n<!--\nVAL-8: no\n## Validation contract\n-->VAL-1: a\n<!-->VAL-2: d", "VAL-1@6 a|VAL-2@7 d", 0},
		"comment in code":      {section + "VAL-1: `echo '<!-- x -->'` prints ``<!-- ` x``", "VAL-1@2 `echo '<!-- x -->'` prints ``<!-- ` x``", 0},
		"fenced":               {section + "```text\nVAL-1: a\n  b\nVAL-2: <!-- c\n```\n", "VAL-1@3 a b|VAL-2@5 <!-- c", 0},
		"longer fence":         {section + "~~~~\nVAL-1: a\n~~~\n```\nVAL-2: b\n~~~~\n", "VAL-1@3 a|VAL-2@6 b", 2},
		"id-like prose":        {section + "Use VAL-n and eval-1 freely\nVAL-1: a", "VAL-1@3 a", 1},
		"mention outside":      {"see VAL-7\n- VAL-8: done\n" + section + "VAL-1: a", "VAL-1@4 a", 1},
		"bom":                  {"\xef\xbb\xbf" + section + "VAL-1: a", "VAL-1@2 a", 0},
	} {
		t.Run(name, func(t *testing.T) {
			c, warnings, err := ParseIssue([]byte(tc.in))
			if err != nil {
				t.Fatal(err)
			}
			if got := compact(c); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if len(warnings) != tc.warnings {
				t.Errorf("warnings: %v, want %d", warnings, tc.warnings)
			}
		})
	}
}

func TestParseIssueRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		want []string
	}{
		"two sections":           {section + "VAL-1: a\n# validation CONTRACT\nVAL-2: b", []string{"line 3: there are two sections \"Validation contract\", the first in line 1"}},
		"zero assertions":        {section + "nothing yet\n## Next", []string{"there is no assertion"}},
		"id without colon":       {section + "- VAL-1: a\n- VAL-2 b", []string{`line 3: "- VAL-2 b" holds an id`}},
		"id in prose":            {section + "VAL-1: a\n\nsee VAL-1", []string{"line 4"}},
		"quoted":                 {section + "> VAL-1: a", []string{"line 2"}},
		"table":                  {section + "| VAL-1 | a |", []string{"line 2"}},
		"misspelt ids":           {section + "val-1: a\nVAL-0: a\nVAL-01: a\nVAL–1: a\nVAL_1: a\nVAL - 1: a\nVAL-12345678: a\nVAL-auth-1: a", []string{"line 2", "line 3", "line 4", "line 5", "line 6", "line 7", "line 8", "line 9"}},
		"id in a continuation":   {section + "- VAL-1: a\n  VAL-2 b", []string{"line 3"}},
		"inside and outside":     {section + "VAL-1: a\n```\nVAL-2: b\n```", []string{"line 4: assertions stand inside a code fence and outside it"}},
		"two fences":             {section + "```\nVAL-1: a\n```\n```\nVAL-2: b\n```", []string{"line 6"}},
		"duplicate":              {section + "- VAL-1: a\n- **VAL-1**: b", []string{"line 3: VAL-1 is used twice, first in line 2"}},
		"too long":               {section + "- VAL-1: " + strings.Repeat("a", 513), []string{"line 2: VAL-1 has 513"}},
		"comment never ends":     {section + "VAL-1: a\n<!-- VAL-2: b", []string{"line 3: a comment begins here and never ends"}},
		"heading ends it":        {"### Validation contract\nVAL-1: a\n### VAL-2: b", []string{"line 3: VAL-2 is a heading outside the section"}},
		"all at once, in order":  {section + "VAL-2 x\nVAL-1: \n" + section, []string{"line 2", "line 3: VAL-1 says nothing", "line 4: there are two"}},
		"second id on one line":  {section + "- VAL-1: a **VAL-2**: b", []string{"line 2"}},
		"almost ids":             {section + "- VAL-1: a\n- VAL 2: b\n- VAL2: b\n- VAL-A: b\n- VAL&#45;2: b\n- V\u200bAL-2: b\n- VAL-\u200d2: b\n- VAL\u00ad2: b\n- ＶＡＬ－2: b\n- **VAL 2** b\n1. VAL #2: b\n- VAL: b\n- VAL-2： b\n  VAL 2: b\n| VAL 2 | b |\n- VAL_A_B : b\n- VAL-<!-- -->2: b", []string{"line 3", "line 4", "line 5", "line 6", "line 7", "line 8", "line 9", "line 10", "line 11", "line 12", "line 13", "line 14", "line 15", "line 16", "line 17", "line 18"}},
		"almost id ends it":      {"### Validation contract\nVAL-1: a\n### VAL 2: b", []string{"line 3: \"### VAL 2: b\" is a heading outside the section"}},
		"comment in assertions":  {section + "VAL-1: a <!-- b --> c\nVAL-2: d <!-- e -->\nf <!-- g --> h\n  i <!-- j\nk -->", []string{"line 2: \"VAL-1: a  c\" holds an HTML comment", "line 3", "line 4", "line 5"}},
		"in a fence, below":      {section + "```\nVAL-1: a\nb\n```", []string{"line 4: \"b\" may go on with VAL-1 or not"}},
		"a tag below":            {section + "VAL-1: a\n<br>b", []string{"line 3: \"<br>b\" may go on"}},
		"underlined below":       {section + "- VAL-1: a\nNotes\n---\nfoo", []string{"line 3: \"Notes\" goes on with VAL-1 and is underlined"}},
		"two ids, one fence end": {section + "```\nVAL-1: a\n```\n\n    VAL-2: b", []string{"line 6"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := ParseIssue([]byte(tc.in))
			lines := strings.Split(problems(t, err), "\n")
			if len(lines) != len(tc.want) {
				t.Fatalf("got %d problems, want %d:\n%v", len(lines), len(tc.want), err)
			}
			for i, want := range tc.want {
				if !strings.Contains(lines[i], want) {
					t.Errorf("problem %d is %q, want %q in it", i, lines[i], want)
				}
			}
		})
	}
}

func TestParseIssueNoSection(t *testing.T) {
	for _, in := range []string{"", "VAL-1: a", "**Validation contract**\nVAL-1: a", "<!--\n## Validation contract\nVAL-1: a\n-->", "> ## Validation contract\n> VAL-1: a", "## Validation contracts\nVAL-1: a"} {
		_, _, err := ParseIssue([]byte(in))
		if !errors.Is(err, ErrNoSection) {
			t.Errorf("ParseIssue(%q) = %v, want ErrNoSection", in, err)
		}
		problems(t, err)
	}
}

// TestDecorationDoesNotMatter writes a contract as people do and reads the same back.
func TestDecorationDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := genContract().Draw(t, "contract")
		body := "Intro\n\n" + section
		for _, a := range c.Assertions {
			form := rapid.SampledFrom([]string{"ID: ", "- ID: ", "* **ID:** ", "- [ ] **ID**: ", "12. `ID`: ", "### ID: ", "_ID_: "}).Draw(t, "form")
			text := a.Text
			if strings.HasPrefix(form, "#") || strings.ContainsAny(text[:1], "*_`<") || strings.Contains(text, "<") {
				text = "x" + strings.NewReplacer("<", "", "#", "").Replace(text)
			}
			body += strings.Replace(form, "ID", a.ID, 1) + text + "\n" + rapid.SampledFrom([]string{"", "\n", "\r\n"}).Draw(t, "end")
		}
		got, _, err := ParseIssue([]byte(body + "## End\n"))
		if err != nil {
			t.Fatalf("%v in\n%s", err, body)
		}
		if len(got.Assertions) != len(c.Assertions) {
			t.Fatalf("%d of %d read", len(got.Assertions), len(c.Assertions))
		}
		for i, a := range got.Assertions {
			if a.ID != c.Assertions[i].ID {
				t.Fatalf("%d is %s, want %s", i, a.ID, c.Assertions[i].ID)
			}
		}
	})
}

func FuzzParseIssue(f *testing.F) {
	for _, s := range []string{
		section + "- **VAL-1:** a\n  b\n", section + "```\nVAL-1: a\n```\n", section + "<!-- VAL-1: a --> VAL-2: b\n",
		"Validation contract\n===\nVAL-1: a\n# x\nVAL-2: b", section + "VAL-1: `<!--` a\n", section + section, "", "### VAL-1: a",
	} {
		f.Add([]byte(s))
	}
	id := regexp.MustCompile(`\bVAL-[1-9]\b`)
	plain := strings.NewReplacer("<", "x", "#", "x", "=", "x", "`", "x", "~", "x", "--", "x")
	f.Fuzz(func(t *testing.T, body []byte) {
		if c, _, err := ParseIssue(body); err == nil {
			checkValid(t, c)
		}
		// Where comments, fences and headings are out of the way, no line with an id is dropped.
		text := plain.Replace(string(body))
		c, _, err := ParseIssue([]byte(section + text))
		if err != nil {
			return
		}
		for line := range strings.SplitSeq(text, "\n") {
			if found := id.FindString(line); found != "" && !strings.Contains(string(c.Format()), found) {
				t.Fatalf("%q was dropped from\n%s", line, text)
			}
		}
	})
}
