package verdict

import (
	"bytes"
	"unicode/utf8"
)

// What scan makes of a line, for the price of a look at its first few bytes.
type guess int

const (
	ordinary     guess = iota // neither of the two below
	maybeFence                // may open or close a fenced block
	maybeKeyword              // may be a report line
)

const (
	leads   = 1 + iota // markers and decoration are made of it
	escapes            // begins a terminal sequence
	wide               // begins a character beyond ASCII
	keyword            // begins a word of the grammar
	marks              // may begin markup
	ticks              // fences are made of it
)

var classes = func() (table [256]uint8) {
	for i := range table {
		switch b := byte(i); {
		case b == 0x1b:
			table[i] = escapes
		case b >= utf8.RuneSelf:
			table[i] = wide
		case b == '`' || b == '~':
			table[i] = ticks
		case b == '<' || b == '&' || b == ':':
			table[i] = marks
		case bytes.IndexByte([]byte("cfvCFV"), b) >= 0:
			table[i] = keyword
		case mayLead(rune(b)):
			table[i] = leads
		}
	}
	return table
}()

// scan sorts out the lines that readLine and fence.step need not look at: nearly all.
func scan(line []byte) guess {
	for i := 0; i < len(line); {
		switch classes[line[i]] {
		case leads:
			i++
		case ticks:
			if i+2 < len(line) && line[i+1] == line[i] && line[i+2] == line[i] {
				return maybeFence
			}
			i++
		case escapes:
			i += max(sequence(line[i:]), 1)
		case wide:
			r, size := utf8.DecodeRune(line[i:])
			if !mayLead(r) {
				return ordinary
			}
			i += size
		case marks:
			i += max(markup(line[i:]), 1)
		case keyword:
			if hasKeyword(line[i:]) {
				return maybeKeyword
			}
			return ordinary
		default:
			return ordinary
		}
	}
	return ordinary
}

// wordStem is how much of each word its plural shares with it.
const wordStem = len("CRITERI")

// hasKeyword reports whether line begins with a word of the grammar, as far as a terminal sequence, decoration or what
// may have no width lets it be seen.
func hasKeyword(line []byte) bool {
	for _, w := range words {
		for i := 0; ; i++ {
			if i == wordStem || i < len(line) && (line[i] == 0x1b || line[i] >= utf8.RuneSelf || bytes.IndexByte([]byte(decoration), line[i]) >= 0) {
				return true
			}
			if i >= len(line) || line[i]&^0x20 != w.word[i] {
				break
			}
		}
	}
	return false
}

// sequence measures the terminal sequence that s begins with; 0 where it is none.
func sequence(s []byte) int {
	if len(s) < 2 {
		return 0
	}
	switch b := s[1]; {
	case b == '[': // parameters, then one letter
		for i := 2; i < len(s); i++ {
			if s[i] >= '@' && s[i] <= '~' {
				return i + 1
			}
			if s[i] < ' ' || s[i] > '?' {
				break
			}
		}
		return 0
	case b == ']': // a title or a link, up to BEL or ESC \
		for i := 2; i < len(s); i++ {
			if s[i] == 0x07 {
				return i + 1
			}
			if s[i] == 0x1b {
				if i+1 < len(s) && s[i+1] == '\\' {
					return i + 2
				}
				break
			}
		}
		return 0
	case b == '(' || b == ')': // a character set
		return min(3, len(s))
	case b >= '0' && b <= '~':
		return 2
	}
	return 0
}

// plain removes terminal sequences.
func plain(line []byte) []byte {
	at := bytes.IndexByte(line, 0x1b)
	if at < 0 {
		return line
	}
	out := make([]byte, 0, len(line))
	for at >= 0 {
		n := sequence(line[at:])
		if n == 0 {
			n = 1
			out = append(out, line[:at+1]...)
		} else {
			out = append(out, line[:at]...)
		}
		line = line[at+n:]
		at = bytes.IndexByte(line, 0x1b)
	}
	return append(out, line...)
}
