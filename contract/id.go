package contract

import (
	"unicode/utf16"

	"github.com/trkr-dev/trkr-validate/internal/pattern"
)

// Ids are VAL-7 or VAL-AUTH-7; the longest has 27 characters, far below the 80 that a typed review allows.
const idPattern = `VAL-(?:[1-9][0-9]{0,5}|[A-Z][A-Z0-9]{0,15}-[0-9]{1,6})`

var (
	// almostID finds whatever a person would take for an id, also where it is misspelt: another case, leading
	// zeros, too many digits, a dash that an editor replaced. Such a line must never be dropped as prose.
	almostID = pattern.Regexp(`(?i)\bVAL ?[-_‐‑‒–—−] ?(?:[A-Z][A-Z0-9]*[-_‐‑‒–—−])?[0-9]`)
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
