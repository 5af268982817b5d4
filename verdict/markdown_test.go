package verdict

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"pgregory.net/rapid"
)

func sample() Record {
	return Record{
		SchemaVersion: 1, Issue: "7", RunID: "r1", Turn: 2, Outcome: Blocking, ExitCode: 1, Verdict: "BLOCKING",
		Criteria: []Criterion{
			{ID: "VAL-1", Text: "`app --help` exits 0", Status: Met, Evidence: "exit 0 in 12ms", By: "probe"},
			{ID: "VAL-2", Text: "`app` prints usage", Status: Unmet, Evidence: "expected usage,\ngot nothing", By: "probe"},
			{ID: "VAL-3", Text: "looks nice", Status: Unverified},
		},
		Findings:    []Finding{{ID: "F-1", Severity: SeverityNote, Place: "app", Text: "slow", Criteria: []string{"VAL-1"}}},
		Diagnostics: []Diagnostic{{Code: AgentExit, Detail: "exit code 2"}},
		Subject: Subject{
			Branch: "trkr/7", Commit: "c0ffee", Tree: "7ree", ContractDigest: "sha256:1", ContractSource: "commit",
			Manifest:       []Entry{{Path: "bin/app", Type: "file", Mode: 0o755, Size: 12, SHA256: "ab"}, {Path: "link", Type: "link", Mode: 0o777, Target: "bin/app"}},
			ManifestDigest: "sha256:2",
		},
		Build:       Build{Where: "host", MS: 1500},
		Environment: Environment{Engine: "gvisor", EngineVersion: "1", Image: "host", Isolation: map[string]string{"network": "none"}, Limits: map[string]string{"memory": "2GiB (supervised)"}},
		Agents:      []Agent{{Name: "probe", Version: "1", Trust: "outside"}},
		Config:      ConfigRef{Digest: "sha256:3", Source: ".trkr/config.json", Ref: "main"},
		Timings:     map[string]int64{"build": 1500, "validate": 20},
		StartedAt:   time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
		Tool:        Tool{Version: "v0"},
	}
}

const sampleText = "# Validation of `7`: **blocking**\n" + `
1 of 3 criteria are met, 1 unmet, 1 unverified.

## Criteria

- **met** !VAL-1!: !!!app --help! exits 0!!
  - evidence: !exit 0 in 12ms!
  - by: !probe!
- **unmet** !VAL-2!: !!!app! prints usage!!
  - evidence: !expected usage,\ngot nothing!
  - by: !probe!
- **unverified** !VAL-3!: !looks nice!

## Findings

- **NOTE** !F-1! at !app! about !VAL-1!: !slow!

## Diagnostics

Each of these keeps the outcome from clear.

- !agent_exit!: !exit code 2!

## What was validated

- branch: !trkr/7!
- commit: !c0ffee!
- tree: !7ree!
- contract: !sha256:1!
- contract from: !commit!
- manifest: !sha256:2!
- paths: 2
  - !bin/app!: !file!, mode 0755, 12 bytes
  - !link!: !link! to !bin/app!, mode 0777, 0 bytes

## Where and how

- engine: !gvisor 1!
- image: !host!
- isolation:
  - !network!: !none!
- limits:
  - !memory!: !2GiB (supervised)!
- built: on !host! in 1.5s

## By whom and when

- agent: !probe 1!, **outside**
- verdict of the agents: !BLOCKING!
- tool: !trkr-validate v0!
- configuration: !.trkr/config.json main!
- configuration digest: !sha256:3!
- run: !r1!
- turn: 2
- started: 2026-01-02T03:04:05Z
- !build! took 1.5s
- !validate! took 20ms

## Record
`

func TestMarkdownForPeople(t *testing.T) {
	got, err := sample().Markdown()
	if err != nil {
		t.Fatal(err)
	}
	human, _, _ := strings.Cut(string(got), "\n```json")
	want := strings.ReplaceAll(sampleText, "!!!app", "!! !app")
	want = strings.ReplaceAll(strings.ReplaceAll(want, "0!!\n", "0 !!\n"), "usage!!\n", "usage !!\n")
	if diff := cmp.Diff(strings.ReplaceAll(want, "!", "`"), human); diff != "" {
		t.Error(diff)
	}
	inside := sample()
	inside.Agents[0].Trust, inside.Subject.Dirty = "inside", true
	got, _ = inside.Markdown()
	for _, words := range []string{"judged from inside the sandbox", "changes that are not in the commit"} {
		if !strings.Contains(string(got), words) {
			t.Errorf("%q is missing", words)
		}
	}
}

func TestLargeManifestIsCutForPeople(t *testing.T) {
	r := sample()
	for i := range 1000 {
		r.Subject.Manifest = append(r.Subject.Manifest, Entry{Path: fmt.Sprintf("f%d", i), Type: "file"})
	}
	got, err := r.Markdown()
	if err != nil {
		t.Fatal(err)
	}
	human, _, _ := strings.Cut(string(got), "\n```json")
	if !strings.Contains(human, "- and 977 more, all in the record below") || len(human) > 5000 {
		t.Error(human)
	}
	again, err := ParseMarkdown(got)
	if err != nil || len(again.Subject.Manifest) != 1002 {
		t.Errorf("%d entries, %v", len(again.Subject.Manifest), err)
	}
}

var hostile = []string{
	"", " ", "   ", "`", "``", "```", "````````", "` `", "a`b``c```d", "```json\n{}\n```", "~~~\nx", "\n# Heading\n", "# x", "x\n===", "x\n---", "---", "* * *",
	"[a](http://evil.example)", "![a](http://evil.example/x.png)", "<http://evil.example>", "http://evil.example", "www.evil.example", "a@evil.example", "@user #1 c0ffee0",
	"<b>x</b>", "<!-- ", "-->", "<script>alert(1)</script>", "&lt;b&gt;", "|a|b|\n|-|-|\n|c|d|", "\\`", "\\", "a\\", "*a* **b** _c_ ~~d~~", "- x\n- y", "1. x", "> x", "    code",
	"[x]: http://evil.example", "[^1]", "\n## Record\n\n```json\n{\"schemaVersion\": 1}\n```\n", "## Record", "Record\n---", "\x00\x01\x1b[31m\x7f", "\r\n", "\r", "\u2028\u2029\u0085", "\u202eabc", "\u200b\ufeff",
	"\xff\xfe`\xc0", "😀", "e\u0301", "$x$", ":smile:", "\t\tx", strings.Repeat("`", 2000), strings.Repeat("x`", 3000), strings.Repeat("é", 5000), strings.Repeat(" ", 3000),
}

func genText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom(hostile),
		rapid.String(),
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom(hostile), 1, 6), func(s []string) string { return strings.Join(s, "") }),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 40), func(b []byte) string { return string(b) }),
	)
}

// genRecord fills every text of a record with whatever genText gives.
func genRecord() *rapid.Generator[Record] {
	return rapid.Custom(func(t *rapid.T) Record {
		s := func() string { return genText().Draw(t, "s") }
		n := func() int { return rapid.IntRange(0, 2).Draw(t, "n") }
		m := func() map[string]string {
			if n() == 0 {
				return nil
			}
			return map[string]string{s(): s(), s(): s()}
		}
		r := Record{
			SchemaVersion: 1, Issue: s(), RunID: s(), Turn: n(), Outcome: Outcome(s()), ExitCode: n(), Verdict: s(),
			Subject:     Subject{s(), s(), s(), s(), s(), s(), nil, s(), n() == 0},
			Build:       Build{rapid.SampledFrom([]string{"host", "container", s()}).Draw(t, "where"), rapid.Int64().Draw(t, "ms"), s(), s(), s(), s(), m()},
			Environment: Environment{s(), s(), s(), s(), s(), s(), []string{s(), s()}, m(), m()},
			Config:      ConfigRef{s(), s(), s()},
			StartedAt:   time.Unix(rapid.Int64Range(-1e9, 1e11).Draw(t, "sec"), rapid.Int64Range(0, 999999999).Draw(t, "nsec")).In(time.FixedZone("x", 3600)),
			Tool:        Tool{s()},
		}
		for range n() {
			r.Criteria = append(r.Criteria, Criterion{s(), s(), Status(s()), s(), s()})
			r.Findings = append(r.Findings, Finding{s(), Severity(s()), s(), s(), []string{s()}})
			r.Diagnostics = append(r.Diagnostics, Diagnostic{s(), s()})
			r.Refusals = append(r.Refusals, Refusal{Reason(s()), s(), []string{s()}})
			r.Agents = append(r.Agents, Agent{s(), s(), s()})
			r.Subject.Manifest = append(r.Subject.Manifest, Entry{s(), s(), rapid.Uint32().Draw(t, "mode"), rapid.Int64().Draw(t, "size"), s(), s()})
			r.Timings = map[string]int64{s(): rapid.Int64().Draw(t, "t"), "x": 1}
		}
		return r
	})
}

func TestMarkdownIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := genRecord().Draw(t, "record")
		data, err := r.Markdown()
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseMarkdown(data)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		want, _, err := r.canonical()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		again, err := got.Markdown()
		if err != nil || !bytes.Equal(data, again) {
			t.Fatalf("rendering again differs: %v\n%s", err, cmp.Diff(string(data), string(again)))
		}
		if got, err := ParseMarkdown(bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))); err != nil || !cmp.Equal(want, got) {
			t.Fatalf("CRLF is not read: %v", err)
		}
	})
}

// TestValidTextIsUnchanged: what is valid UTF-8 comes back as it was, not only as some canonical form.
func TestValidTextIsUnchanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.String().Draw(t, "text")
		r := sample()
		r.Criteria[0].Evidence = want
		data, err := r.Markdown()
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseMarkdown(data)
		if err != nil || got.Criteria[0].Evidence != want {
			t.Fatalf("%q came back as %q, %v", want, got.Criteria[0].Evidence, err)
		}
	})
	want := sample()
	want.Refusals = []Refusal{}
	data, _ := sample().Markdown()
	got, err := ParseMarkdown(data)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

// TestHostileTextStaysText renders as GitHub does and looks for anything but our own structure.
func TestHostileTextStaysText(t *testing.T) {
	check := func(t interface{ Fatalf(string, ...any) }, r Record) {
		data, err := r.Markdown()
		if err != nil {
			t.Fatalf("%v", err)
		}
		if bad := foreign(data); bad != "" {
			t.Fatalf("%s in\n%s", bad, data)
		}
	}
	for _, s := range hostile {
		r := sample()
		r.Issue, r.Outcome, r.Criteria[1].Evidence, r.Criteria[1].ID, r.Criteria[1].Status, r.Criteria[1].Text = s, Outcome(s), s, s, Status(s), s
		r.Findings[0] = Finding{ID: s, Severity: Severity(s), Place: s, Text: s, Criteria: []string{s}}
		r.Diagnostics[0] = Diagnostic{s, s}
		check(t, r)
	}
	rapid.Check(t, func(t *rapid.T) { check(t, genRecord().Draw(t, "record")) })
}

// TestCodeSpans: readers of Markdown differ about runs of many backticks (cmark gives up at eighty), so there are none.
func TestCodeSpans(t *testing.T) {
	for in, want := range map[string]string{
		"a":                       "`a`",
		"":                        "(empty)",
		"a`b":                     "``a`b``",
		"`a``":                    "``` `a`` ```",
		"```":                     "`\\x60\\x60\\x60`",
		" a ":                     "`  a  `",
		"a\n\r\t\x1b\u202e\xff":   "`a\\n\\r\\t\\x1b\\u{202e}\ufffd`",
		strings.Repeat("é", 1002): "`" + strings.Repeat("é", 1000) + "` … and 2 characters more, all in the record below",
	} {
		if got := code(in); got != want {
			t.Errorf("code(%q) is %s, want %s", in, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		if got := code(genText().Draw(t, "text")); strings.Contains(got, "````") || strings.ContainsAny(got, "\r\n") {
			t.Fatal(got)
		}
	})
}

// foreign names the first thing in data that untrusted text must not make.
func foreign(data []byte) string {
	doc := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote, extension.DefinitionList)).Parser().Parse(text.NewReader(data))
	ours := map[string]bool{"Criteria": true, "Findings": true, "Diagnostics": true, "Refusals": true, "What was validated": true, "Where and how": true, "By whom and when": true, "Record": true}
	titles, fences := 0, 0
	bad := ""
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			title := string(n.Lines().Value(data))
			switch {
			case n.Level == 1 && strings.HasPrefix(title, "Validation of "):
				titles++
			case n.Level == 2 && ours[title]:
				ours[title] = false
			default:
				bad = "heading " + title
			}
		case *ast.FencedCodeBlock:
			fences++
		case *ast.Document, *ast.Paragraph, *ast.TextBlock, *ast.List, *ast.ListItem, *ast.CodeSpan, *ast.Text, *ast.String:
		case *ast.Emphasis:
			switch word := string(n.FirstChild().(*ast.Text).Value(data)); word {
			case "met", "unmet", "blocked", "unverified", "clear", "blocking", "incomplete", "refused", "error", "BLOCKING", "NOTE", "inside", "outside":
			default:
				bad = "emphasis of " + word
			}
		case *extast.TableCell:
			bad = "table cell"
		default:
			bad = n.Kind().String()
		}
		if bad != "" {
			return ast.WalkStop, nil
		}
		return ast.WalkContinue, nil
	})
	switch {
	case bad != "":
		return bad
	case titles != 1 || fences != 1 || ours["Record"]:
		return fmt.Sprintf("%d titles, %d fences", titles, fences)
	}
	if block, ok := doc.LastChild().(*ast.FencedCodeBlock); !ok || string(block.Language(data)) != "json" {
		return "another end than the record"
	}
	return ""
}

// TestForeignSees makes sure that the check above can fail.
func TestForeignSees(t *testing.T) {
	data, _ := sample().Markdown()
	for _, s := range []string{"[a](http://e.example)", "![a](b)", "http://evil.example", "a@evil.example", "<b>x</b>", "*x*", "# x", "## Record", "```\nx\n```", "|a|b|\n|-|-|", "<!-- x -->", "> x", "    x"} {
		if foreign(append([]byte(s+"\n\n"), data...)) == "" {
			t.Errorf("%q is not seen", s)
		}
	}
}

func TestParseMarkdownRefuses(t *testing.T) {
	data, err := sample().Markdown()
	if err != nil {
		t.Fatal(err)
	}
	good := string(data)
	swap := func(old, with string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("%q is not in the sample", old)
		}
		return strings.Replace(good, old, with, 1)
	}
	record := good[strings.Index(good, recordHead):]
	for name, tc := range map[string]struct{ in, want string }{
		"empty":              {"", "no record"},
		"no record":          {good[:strings.Index(good, recordHead)], "no record"},
		"two records":        {good + record, "more than one record"},
		"two, the first odd": {swap("## Criteria", "# record\n\n## Criteria"), "more than one record"},
		"two, underlined":    {swap("## Criteria", "Record\n------\n\n## Criteria"), "more than one record"},
		"text after":         {good + "\nMore.", "text follows"},
		"fence after":        {good + "```json\n{}\n```\n", "text follows"},
		"longer fence":       {strings.TrimSpace(good) + "`\n", "text follows"},
		"no end":             {strings.TrimSuffix(strings.TrimSpace(good), "```"), "does not end"},
		"no json":            {swap("```json\n{", "```json\n"), "not JSON"},
		"version 2":          {swap(`"schemaVersion": 1`, `"schemaVersion": 2`), "schemaVersion is 2"},
		"no version":         {swap(`"schemaVersion": 1,`, ``), "schemaVersion is 0"},
		"unknown key":        {swap(`"issue"`, `"note": "x", "issue"`), "unknown key"},
		"unknown inner key":  {swap(`"commit": "c0ffee"`, `"commit": "c0ffee", "note": 1`), "unknown key"},
		"unknown list key":   {swap(`"id": "VAL-1"`, `"note": 1, "id": "VAL-1"`), "unknown key"},
		"key of other case":  {swap(`"outcome"`, `"Outcome"`), "unknown key"},
		"key twice":          {swap(`"outcome": "blocking"`, `"outcome": "blocking", "outcome": "clear"`), "a key twice"},
		"timing twice":       {swap(`"build": 1500`, `"build": 1500, "build": 1`), "a key twice"},
		"null":               {swap(`"turn": 2`, `"turn": null`), "null"},
		"wrong type":         {swap(`"turn": 2`, `"turn": "2"`), "turn is not a int"},
		"deep":               {swap(`"turn": 2`, `"turn": `+strings.Repeat("[", 100)+strings.Repeat("]", 100)), "a list where none belongs"},
		"second value":       {swap("\n}\n```", "\n}\n{}\n```"), "not JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseMarkdown([]byte(tc.in)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error is %v, want %q in it", err, tc.want)
			}
		})
	}
	if _, err := ParseMarkdown([]byte(good + "\n \n")); err != nil {
		t.Errorf("blank lines at the end: %v", err)
	}
	if _, err := (Record{SchemaVersion: 2}).Markdown(); err == nil {
		t.Error("schemaVersion 2 is rendered")
	}
}

func FuzzParseMarkdown(f *testing.F) {
	good, _ := sample().Markdown()
	f.Add(good)
	f.Add(bytes.ReplaceAll(good, []byte("\n"), []byte("\r\n")))
	f.Add([]byte("\n## Record\n\n```json\n{\"schemaVersion\": 1}\n```\n"))
	f.Add([]byte("\n## Record\n\n```json\n{\"schemaVersion\": 1, \"timings\": {\"a\": 1}, \"criteria\": [{\"id\": \"`\"}]}\n```\n"))
	f.Add([]byte("## Record\n```json\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParseMarkdown(data)
		if err != nil {
			return
		}
		out, err := r.Markdown()
		if err != nil {
			t.Fatal(err)
		}
		if bad := foreign(out); bad != "" {
			t.Fatalf("%s in\n%s", bad, out)
		}
		again, err := ParseMarkdown(out)
		if diff := cmp.Diff(r, again); err != nil || diff != "" {
			t.Fatalf("%v %s", err, diff)
		}
	})
}
