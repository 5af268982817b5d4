package probe

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sentences are all that is read of docs/probe.md and of the collection.
func sentences(t testing.TB) (list []string) {
	t.Helper()
	data, err := os.ReadFile("../../docs/probe.md")
	if err != nil {
		t.Fatal(err)
	}
	list = blocks(string(data), "read")
	for _, w := range wordings(t) {
		if w.canonical != "" {
			list = append(list, w.text, w.canonical)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// turning are words that can turn a meaning around.
var turning = strings.Fields(`not no only unless without except never always before until neither nor or any some every all each almost about
	maybe sometimes usually also still again twice more less than least most first last non-zero empty exactly just but if when`)

// A word that is put into a sentence anywhere makes it unread, or makes it say something else.
func TestNoWordIsSkipped(t *testing.T) {
	harmless := func(text string, a *Assertion, w string, tok token) bool {
		isNumber := digits().MatchString(tok.text) || numbers[tok.lower] > 0 || tok.lower == "once" || tok.lower == "twice"
		switch w {
		case "also", "but":
			return true
		case "exactly": // as a number and "is" are by themselves
			return isNumber || strings.Contains(text, " is ")
		case "only", "just":
			return isNumber
		case "if", "when":
			return tok.lower == "given" || tok.lower == "run"
		case "any":
			return tok.lower == "arguments"
		case "again":
			n := len(a.Setup)
			return n > 0 && (a.Setup[n-1].Text == a.Command.Text || strings.HasSuffix(text, "the same output"))
		case "or":
			return strings.Contains(text, ", 2 or 3")
		}
		return false
	}
	n := 0
	for _, text := range sentences(t) {
		a, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for i, tok := range lex(text) {
			for _, w := range turning {
				changed := text[:tok.pos] + w + " " + text[tok.pos:]
				if tok.kind == end {
					changed = text + " " + w
				}
				n++
				if b, _ := parse(changed); b != nil && cmp.Equal(a, b, sameTree) && !harmless(text, a, w, tok) {
					t.Errorf("%s\nmeans the same with %q before token %d", text, w, i)
				}
			}
		}
	}
	t.Logf("%d sentences", n)
}

// A word in the place of another makes a sentence unread or makes it say something else, unless docs/probe.md lists the
// two as meaning the same.
func TestEachWordCounts(t *testing.T) {
	data, err := os.ReadFile("../../docs/probe.md")
	if err != nil {
		t.Fatal(err)
	}
	var synonyms [][]string
	for _, line := range blocks(string(data), "synonyms") {
		synonyms = append(synonyms, strings.Fields(line))
	}
	listed := func(a, b string) bool {
		if a > b {
			a, b = b, a
		}
		return slices.ContainsFunc(synonyms, func(l []string) bool { return slices.Contains(l, a) && slices.Contains(l, b) })
	}
	var words []string
	for _, text := range sentences(t) {
		for _, tok := range lex(text) {
			if tok.kind == word {
				words = append(words, tok.lower)
			}
		}
	}
	words = append(words, turning...)
	for _, l := range synonyms {
		words = append(words, l...)
	}
	slices.Sort(words)
	words = slices.Compact(words)
	n, step, turns := 0, 0, 29
	faults := map[string]bool{}
	for _, text := range sentences(t) {
		a, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, tok := range lex(text) {
			if tok.kind != word {
				continue
			}
			// Not every word in every place: each place has its turn of some, another place of others.
			step++
			for i := step % turns; i < len(words); i += turns {
				w := words[i]
				if w == tok.lower || faults[w+" "+tok.lower] {
					continue
				}
				n++
				if b, _ := parse(text[:tok.pos] + w + text[tok.end:]); b != nil && cmp.Equal(a, b, sameTree) && !listed(w, tok.lower) {
					faults[w+" "+tok.lower] = true
					t.Errorf("%s\nmeans the same with %q for %q", text, w, tok.lower)
				}
			}
		}
	}
	t.Logf("%d words, %d sentences", len(words), n)
}
