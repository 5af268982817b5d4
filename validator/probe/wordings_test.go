package probe

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden table of testdata/wordings.txt anew")

// wording is a sentence of testdata/wordings.txt. Under it stands "= canonical form", or "? why nobody can decide it",
// "! the words from the caret on" and "~ the nearest form".
type wording struct{ text, canonical, why, words, nearest string }

func wordings(t testing.TB) (list []wording) {
	t.Helper()
	data, err := os.ReadFile("testdata/wordings.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		mark, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || mark == "#":
			continue
		case mark == "=" || mark == "?" || mark == "!" || mark == "~":
			w := &list[len(list)-1]
			*map[string]*string{"=": &w.canonical, "?": &w.why, "!": &w.words, "~": &w.nearest}[mark] = rest
		default:
			list = append(list, wording{text: line})
		}
	}
	return list
}

// Sentences as people write them: each is understood as the table says, or not at all, and the table says why.
func TestWordings(t *testing.T) {
	list := wordings(t)
	decided := 0
	for i, w := range list {
		got := wording{text: w.text, why: w.why}
		a, err := Parse(w.text)
		var e *NotUnderstood
		switch {
		case err == nil:
			decided++
			got.canonical = a.String()
			if again, err := Parse(got.canonical); err != nil || !cmp.Equal(a, again, sameTree) {
				t.Errorf("%s\nis printed as %s\nwhich is read as %v, %v", w.text, a, again, err)
			}
		case errors.As(err, &e):
			got.words, got.nearest = e.Words, e.Nearest
			if near, err := Parse(e.Nearest); err != nil {
				t.Errorf("%s\nis near to %s, which is not read: %v", w.text, e.Nearest, err)
			} else if near.String() == w.text {
				t.Errorf("%s\nis near to itself", w.text)
			}
		}
		if (w.why != "") != (err != nil) {
			t.Errorf("%s\n%v, %v; the table says %q", w.text, a, err, w.why)
		}
		if *update {
			list[i] = got
		} else if got != w {
			t.Errorf("%s", cmp.Diff(fmt.Sprintf("%+v", w), fmt.Sprintf("%+v", got)))
		}
	}
	if len(list) < 200 || 5*decided < 4*len(list) {
		t.Errorf("%d of %d are decided", decided, len(list))
	}
	t.Logf("%d of %d are decided", decided, len(list))
	if *update {
		write(t, list)
	}
}

// Sentences that could be taken for one that is read, and say another thing or leave it open, are not read.
func TestOpenMeaningsAreNotRead(t *testing.T) {
	data, err := os.ReadFile("testdata/open.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		if a, err := Parse(strings.TrimSpace(line)); err == nil {
			t.Errorf("%sis read as %s", line, a)
		}
	}
	if n < 50 {
		t.Errorf("%d sentences", n)
	}
}

func write(t *testing.T, list []wording) {
	data, err := os.ReadFile("testdata/wordings.txt")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(data)) {
		text := strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "= ") || strings.HasPrefix(line, "! ") || strings.HasPrefix(line, "~ ") || strings.HasPrefix(line, "? ") || line == "!\n" {
			continue
		}
		b.WriteString(line)
		i := slices.IndexFunc(list, func(w wording) bool { return w.text == text })
		if i < 0 {
			continue
		}
		if w := list[i]; w.canonical != "" {
			fmt.Fprintf(&b, "= %s\n", w.canonical)
		} else {
			fmt.Fprintf(&b, "? %s\n! %s\n~ %s\n", w.why, w.words, w.nearest)
		}
	}
	if err := os.WriteFile("testdata/wordings.txt", []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
