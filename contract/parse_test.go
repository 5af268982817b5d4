package contract

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var idOnly = regexp.MustCompile(`^` + idPattern + `$`)

// compact writes a contract as "VAL-1@3 text", one per assertion.

func compact(c Contract) string {
	var lines []string
	for _, a := range c.Assertions {
		lines = append(lines, a.ID+"@"+string(rune('0'+a.Line))+" "+a.Text)
	}
	return strings.Join(lines, "|")
}

func problems(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("error is %T, want *Error", err)
	}
	var lines []string
	for _, p := range e.Problems {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

func TestParseReads(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"plain":              {"VAL-1: a\nVAL-2: b\n", "VAL-1@1 a|VAL-2@2 b"},
		"no final newline":   {"VAL-1: a", "VAL-1@1 a"},
		"bom and crlf":       {"\xef\xbb\xbfVAL-1: a\r\n\r\nVAL-2: b\r\n", "VAL-1@1 a|VAL-2@3 b"},
		"named ids":          {"VAL-AUTH-2: a\nVAL-X-000001: b", "VAL-AUTH-2@1 a|VAL-X-000001@2 b"},
		"continued":          {"VAL-1: a\n  b\n\tc\nVAL-2:\n  d", "VAL-1@1 a b c|VAL-2@4 d"},
		"continued, blank":   {"VAL-1: a\n\n  b", "VAL-1@1 a b"},
		"mentions another":   {"VAL-1: a\nVAL-2: as VAL-1 does\n  unlike VAL-1", "VAL-1@1 a|VAL-2@2 as VAL-1 does unlike VAL-1"},
		"512 units":          {"VAL-1: " + strings.Repeat("😀", 256), "VAL-1@1 " + strings.Repeat("😀", 256)},
		"whitespace around":  {"VAL-1: \t a  b \t\n   \n", "VAL-1@1 a  b"},
		"largest number":     {"VAL-999999: a", "VAL-999999@1 a"},
		"colons in the text": {"VAL-1: a: b: http://127.0.0.1:80", "VAL-1@1 a: b: http://127.0.0.1:80"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Parse([]byte(tc.in))
			if err != nil {
				t.Fatal(err)
			}
			if got := compact(c); got != tc.want {
				t.Errorf("got %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		want []string // one substring for each problem, in order
	}{
		"empty":                {"", []string{"there is no assertion"}},
		"blank":                {"\xef\xbb\xbf \r\n\t\n", []string{"there is no assertion"}},
		"prose":                {"# Title\nVAL-1: a", []string{"line 1: "}},
		"decoration":           {"- VAL-1: a", []string{`line 1: "- VAL-1: a" is not an assertion: a line is "VAL-1: text" or "VAL-NAME-1: text", without decoration`}},
		"no space":             {"VAL-1:a", []string{"line 1: "}},
		"ids":                  {"VAL-0: a\nVAL-01: a\nVAL-1234567: a\nval-1: a\nVAL-a-1: a\nVAL-A1234567890123456-1: a\nVAL-AUTH-: a\nVAL-AUTH-1234567: a", []string{"line 1", "line 2", "line 3", "line 4", "line 5", "line 6", "line 7", "line 8"}},
		"duplicate":            {"VAL-1: a\nVAL-2: b\nVAL-1: c", []string{"line 3: VAL-1 is used twice, first in line 1"}},
		"empty text":           {"VAL-1:\nVAL-2: ", []string{"line 1: VAL-1 says nothing", "line 2: VAL-2 says nothing"}},
		"513 units":            {"VAL-1: " + strings.Repeat("😀", 256) + "a", []string{"line 1: VAL-1 has 513 characters"}},
		"too long continued":   {"VAL-1: " + strings.Repeat("a", 512) + "\n b", []string{"line 1: VAL-1 has 514 characters"}},
		"continues nothing":    {"  a\nVAL-1: b", []string{`line 1: "a" continues no assertion`}},
		"continues a mistake":  {"VAL-1: b\nfoo\n  bar", []string{"line 2"}},
		"indented assertion":   {"VAL-1: a\n  VAL-2: b", []string{"line 2: "}},
		"indented, almost":     {"VAL-1: a\n  VAL 2: b\n  VAL2: b\n  VAL-\u200d2: b\n  VAL: b", []string{"line 2: ", "line 3", "line 4", "line 5"}},
		"two on a line":        {"VAL-1: a; VAL-2: b", []string{`line 1: the text of VAL-1 holds "VAL-2:"`}},
		"all at once, ordered": {"VAL-1:\nx\nVAL-1: c", []string{"line 1: VAL-1 says nothing", "line 2", "line 3: VAL-1 is used twice"}},
		"hidden text":          {"VAL-1: a\x1b[8mb\nVAL-2: a\u202eb\nVAL-3: a\xffb\nVAL-4: a\rb\nVAL-5: a\u200bb", []string{"line 1: VAL-1 holds the character U+001B", "U+202E", "not UTF-8", "U+000D", "U+200B"}},
		"too large":            {strings.Repeat("x", MaxSize+1), []string{"1048577 bytes"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Parse([]byte(tc.in))
			got := problems(t, err)
			lines := strings.Split(got, "\n")
			if len(lines) != len(tc.want) {
				t.Fatalf("got %d problems, want %d:\n%s", len(lines), len(tc.want), got)
			}
			for i, want := range tc.want {
				if !strings.Contains(lines[i], want) {
					t.Errorf("problem %d is %q, want %q in it", i, lines[i], want)
				}
			}
			if len(c.Assertions) != 0 {
				t.Errorf("a contract came with the error: %v", c)
			}
		})
	}
}

func TestManyProblemsAreCut(t *testing.T) {
	_, err := Parse([]byte(strings.Repeat("x\n", 1000)))
	if lines := strings.Split(problems(t, err), "\n"); len(lines) != maxProblems+1 || lines[maxProblems] != "and 900 more" {
		t.Errorf("%d lines, last %q", len(lines), lines[len(lines)-1])
	}
}

func TestDigest(t *testing.T) {
	a, _ := Parse([]byte("VAL-1: a\n\nVAL-2: b\n  c"))
	b, _ := Parse([]byte("\xef\xbb\xbfVAL-1: a\r\nVAL-2: b c"))
	other, _ := Parse([]byte("VAL-1: a\nVAL-2: b d"))
	if a.Digest() != b.Digest() || a.Digest() == other.Digest() {
		t.Errorf("digests: %s %s %s", a.Digest(), b.Digest(), other.Digest())
	}
	// Computed by: printf 'VAL-1: a\nVAL-2: b c\n' | sha256sum
	if want := "sha256:3777eac5599d40e1102d17104b58ee6bfb24d6b9857e99878f86c60000c67ac8"; a.Digest() != want {
		t.Errorf("digest is %s, want %s", a.Digest(), want)
	}
}

func TestUnits(t *testing.T) {
	for s, want := range map[string]int{"": 0, "aé€": 3, "😀": 2, "\xff\xfe": 2} {
		if got := Units(s); got != want {
			t.Errorf("Units(%q) = %d, want %d", s, got, want)
		}
	}
}

func genContract() *rapid.Generator[Contract] {
	return rapid.Custom(func(t *rapid.T) Contract {
		ids := rapid.SliceOfNDistinct(rapid.StringMatching(idPattern), 1, 20, rapid.ID[string]).Draw(t, "ids")
		var c Contract
		for i, id := range ids {
			text := rapid.StringMatching("[a-zA-Z`*_<>|é😀#-][ a-zA-Z`*_<>|é😀#-]{0,100}[a-z.]").Draw(t, "text")
			c.Assertions = append(c.Assertions, Assertion{ID: id, Text: text, Line: i + 1})
		}
		return c
	})
}

func TestFormatIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := genContract().Draw(t, "contract")
		again, err := Parse(c.Format())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, again); diff != "" {
			t.Fatal(diff)
		}
	})
}

// checkValid holds whatever text a contract came from.
func checkValid(t *testing.T, c Contract) {
	t.Helper()
	seen := map[string]bool{}
	for _, a := range c.Assertions {
		if !idOnly.MatchString(a.ID) || seen[a.ID] || a.Text == "" || Units(a.Text) > MaxText || a.Line < 1 || strings.ContainsAny(a.Text, "\r\n") {
			t.Fatalf("bad assertion %+v", a)
		}
		seen[a.ID] = true
	}
	if len(c.Assertions) == 0 {
		t.Fatal("empty contract without an error")
	}
	again, err := Parse(c.Format())
	if err != nil || again.Digest() != c.Digest() {
		t.Fatalf("format is not read back: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"VAL-1: a\n  b\n\nVAL-A-2: c\r\n", "\xef\xbb\xbfVAL-1: a", "VAL-1: a\nVAL-1: b", "- VAL-1: a", "", "VAL-1: \xff", " x"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := Parse(data); err == nil {
			checkValid(t, c)
		}
	})
}
