package contract

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/trkr-dev/trkr-validate/internal/pattern"
)

// Ids are VAL-7 or VAL-AUTH-7; the longest has 27 characters, far below the 80 that a typed review allows.
const idPattern = `VAL-(?:[1-9][0-9]{0,5}|[A-Z][A-Z0-9]{0,15}-[0-9]{1,6})`

var (
	// almostID finds whatever a person would take for an id, also where it is misspelt: another case, leading
	// zeros, too many digits, a dash that an editor replaced. Such a line must never be dropped as prose.
	almostID = pattern.Regexp(`(?i)\bVAL ?[-_‐‑‒–—−] ?(?:[A-Z][A-Z0-9]*[-_‐‑‒–—−])?[0-9]`)
	// looseID is what begins a line like an id, with its dash, its number or both missing. Further on in a line this
	// would be prose.
	looseID = pattern.Regexp(`(?i)^[^\pL]*VAL(?:[^\pL\pN:]*[0-9]|(?:[\p{Pd}_ ]+[A-Z][A-Z0-9\p{Pd}_]*)?[*_` + "`" + `~ ]*:)`)
	// secondID finds an assertion that hides in the text of another one.
	secondID = pattern.Regexp(`\b` + idPattern + "[*_`~]*:")
)

// Units counts s as contracts and typed reviews do: in UTF-16 code units.
func Units(s string) int {
	n := 0
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// almost reports whether a person may take text for a line with an id. Such a line is an assertion or a problem.
func almost(text string) bool {
	return almostID().MatchString(seen(text)) || startsAlmost(text)
}

// startsAlmost reports whether text begins with what looks like an id.
func startsAlmost(text string) bool { return looseID().MatchString(seen(text)) }

// seen is s about as a reader sees it: character references read, what has no width gone, wide letters narrow.
func seen(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.In(r, unicode.Cf, unicode.Mn, unicode.Me):
			return -1
		case r >= '！' && r <= '～':
			return r - '！' + '!'
		case unicode.Is(unicode.Zs, r):
			return ' '
		}
		return r
	}, html.UnescapeString(s))
}
