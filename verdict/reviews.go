package verdict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/trkr-dev/trkr-validate/contract"
)

// Reviews writes the record's criteria as typed acceptance reviews, twenty to each, in order; none where there are no
// criteria. Evidence that is too long is cut with a mark, and evidence that is missing says so. An id or a wording
// that the schema does not allow (too long, empty, an id twice) is an error: cutting either would name another
// criterion.
func (r Record) Reviews() ([][]byte, error) {
	var out [][]byte
	ids := map[string]bool{}
	for chunk := range slices.Chunk(r.Criteria, maxResults) {
		rev := review{SchemaVersion: 1}
		for _, c := range chunk {
			evidence := cutUnits(trimSpace(strings.ToValidUTF8(c.Evidence, "\ufffd")), maxProof)
			if evidence == "" {
				evidence = "no evidence was reported"
			}
			rev.Results = append(rev.Results, result{
				CriterionID:       strings.ToValidUTF8(c.ID, "\ufffd"),
				CriterionSnapshot: strings.ToValidUTF8(c.Text, "\ufffd"),
				Status:            c.Status,
				Evidence:          evidence,
			})
		}
		if err := rev.check(); err != nil {
			return nil, fmt.Errorf("writing acceptance review %d: %w", len(out)+1, err)
		}
		for _, res := range rev.Results {
			if ids[res.CriterionID] {
				return nil, fmt.Errorf("writing acceptance review %d: %q was in an earlier one", len(out)+1, res.CriterionID)
			}
			ids[res.CriterionID] = true
		}
		data, err := encode(rev)
		if err != nil {
			return nil, fmt.Errorf("writing acceptance review %d: %w", len(out)+1, err)
		}
		out = append(out, data)
	}
	return out, nil
}

// encode writes JSON for people and programs alike: indented, nothing escaped for HTML, a newline at the end.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// cutUnits cuts s to at most limit UTF-16 units, the mark included, at the border of a character.
func cutUnits(s string, limit int) string {
	if contract.Units(s) <= limit {
		return s
	}
	left := limit - contract.Units(cutMark)
	for i, r := range s {
		if left -= utf16.RuneLen(r); left < 0 {
			return strings.TrimRightFunc(s[:i], isSpace) + cutMark
		}
	}
	return s
}
