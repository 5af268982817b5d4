package verdict

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/pattern"
)

var lineNumber = pattern.Regexp(`(?::[0-9]+){1,2}$`)

// FindingID names a finding by what it says: place without line numbers, text, and criteria, in any case and spacing.
// The severity does not count, so a finding that is reported again with another one keeps its id.
func FindingID(f Finding) string {
	place := lineNumber().ReplaceAllString(strings.TrimSpace(f.Place), "")
	criteria := slices.Sorted(slices.Values(f.Criteria))
	sum := sha256.Sum256([]byte(strings.Join([]string{normal(place), normal(f.Text), strings.Join(criteria, ",")}, "\x00")))
	return "F-" + hex.EncodeToString(sum[:6])
}

func normal(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }
