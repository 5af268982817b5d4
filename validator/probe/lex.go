package probe

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

type kind int

const (
	end kind = iota
	word
	code   // `...`: nothing in it is special
	quoted // "...": Go's \n \t \r \\ \" and \xNN
	comma
	semi
	colon  // a colon at the end of a word, a dash, an arrow
	open   // a round bracket
	closed // its partner
	stop   // a full stop at the end of a word
	junk   // begins like code or a quotation and is none
)

// token is one piece of an assertion. pos and end are offsets in bytes.
type token struct {
	kind     kind
	text     string // the word as written; what is between the quotes; why it is junk
	lower    string // of a word: ASCII letters in lower case
	pos, end int
}

// lex splits an assertion. It never fails: what it cannot read is one junk token that reaches to the end. The last
// token is always an end.
func lex(s string) []token {
	var list []token
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		var t token
		switch {
		case unicode.IsSpace(r):
			i += size
			continue
		case r == '`':
			t = lexCode(s, i)
		case r == '"':
			t = lexQuoted(s, i)
		case marks[r] != end:
			t = token{kind: marks[r], text: s[i : i+size], pos: i, end: i + size}
		default:
			t = lexWord(s, i)
			if last := t.end - 1; last > t.pos && (s[last] == '.' || s[last] == ':') {
				list = append(list, wordToken(s, t.pos, last))
				t = token{kind: ends[s[last]], text: s[last:t.end], pos: last, end: t.end}
			}
		}
		list = append(list, t)
		i = t.end
	}
	return append(list, token{kind: end, pos: len(s), end: len(s)})
}

// marks stand for themselves wherever they are, ends only at the end of a word or alone.
var (
	marks = map[rune]kind{',': comma, ';': semi, '(': open, ')': closed}
	ends  = map[byte]kind{'.': stop, ':': colon}
)

// Words that set the outcomes apart from the command as a colon does.
var dashes = []string{":", "-", "–", "—", "->", "=>", "→"}

func lexWord(s string, pos int) token {
	rest := s[pos:]
	n := strings.IndexFunc(rest, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("`\",;()", r) })
	if n < 0 {
		n = len(rest)
	}
	t := wordToken(s, pos, pos+n)
	switch {
	case t.text == ".":
		t.kind = stop
	case slices.Contains(dashes, t.text):
		t.kind = colon
	}
	return t
}

func wordToken(s string, pos, to int) token {
	return token{kind: word, text: s[pos:to], lower: lower(s[pos:to]), pos: pos, end: to}
}

// lexCode reads a code span as Markdown does: it ends at a run of as many backticks as it began with. Where that is
// more than one, a space next to each run is not part of it, so that the text may begin with a backtick.
func lexCode(s string, pos int) token {
	n := run(s[pos:])
	for i := pos + n; i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		m := run(s[i:])
		if m != n {
			i += m
			continue
		}
		text := s[pos+n : i]
		if n > 1 && len(text) > 1 && text[0] == ' ' && text[len(text)-1] == ' ' {
			text = text[1 : len(text)-1]
		}
		return token{kind: code, text: text, pos: pos, end: i + m}
	}
	return token{kind: junk, text: "a backtick has no partner", pos: pos, end: len(s)}
}

func run(s string) int { return len(s) - len(strings.TrimLeft(s, "`")) }

func lexQuoted(s string, pos int) token {
	var b strings.Builder
	for i := pos + 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return token{kind: quoted, text: b.String(), pos: pos, end: i + 1}
		case '\\':
			c, n := unescape(s[i:])
			if n == 0 {
				return token{kind: junk, text: `in double quotes a backslash begins one of \n \t \r \\ \" \xNN`, pos: pos, end: len(s)}
			}
			b.WriteByte(c)
			i += n - 1
		default:
			b.WriteByte(s[i])
		}
	}
	return token{kind: junk, text: "a double quote has no partner", pos: pos, end: len(s)}
}

// unescape reads the escape that s begins with: the byte that it stands for and its length, or 0.
func unescape(s string) (byte, int) {
	if len(s) < 2 {
		return 0, 0
	}
	if i := strings.IndexByte(`ntr\"`, s[1]); i >= 0 {
		return "\n\t\r\\\""[i], 2
	}
	if s[1] == 'x' && len(s) >= 4 {
		if v, err := strconv.ParseUint(s[2:4], 16, 8); err == nil {
			return byte(v), 4
		}
	}
	return 0, 0
}

// lower folds ASCII only: other alphabets have letters that fold to ASCII ones.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
