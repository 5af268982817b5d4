package verdict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/trkr-dev/trkr-validate/internal/pattern"
)

var recordTitle = pattern.Regexp("(?im)^ {0,3}(?:#{1,6}[ \t]+record[ \t]*#*[ \t]*|record[ \t]*\n {0,3}(?:=+|-+)[ \t]*)$")

// ParseMarkdown reads the record of a validation.md. It is strict: exactly one record, at the very end, of this schema
// version, without unknown keys. Line ends may have become CRLF. The account for people before it is not read.
func ParseMarkdown(data []byte) (Record, error) {
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	if n := len(recordTitle().FindAll(data, 2)); n > 1 {
		return Record{}, errors.New("reading validation.md: it has more than one record")
	}
	_, body, found := bytes.Cut(data, []byte(recordHead))
	if !found {
		return Record{}, errors.New("reading validation.md: it has no record")
	}
	if bytes.Contains(body, []byte(recordHead)) {
		return Record{}, errors.New("reading validation.md: it has more than one record")
	}
	body, after, found := bytes.Cut(body, []byte("\n```"))
	if !found {
		return Record{}, errors.New("reading validation.md: its record does not end")
	}
	if len(bytes.TrimSpace(after)) > 0 {
		return Record{}, errors.New("reading validation.md: text follows its record")
	}
	r, err := ParseRecord(body)
	if err != nil {
		return Record{}, fmt.Errorf("reading validation.md: its record: %w", err)
	}
	return r, nil
}

// ParseRecord reads the JSON of a record, as strictly as ParseMarkdown does.
func ParseRecord(data []byte) (Record, error) {
	var version struct {
		SchemaVersion int `json:"schemaVersion"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return Record{}, errors.New("it is not JSON")
	}
	if version.SchemaVersion != SchemaVersion {
		return Record{}, fmt.Errorf("its schemaVersion is %d, this program reads %d", version.SchemaVersion, SchemaVersion)
	}
	var r Record
	if err := strictJSON(data, &r); err != nil {
		return Record{}, err
	}
	r, _, err := r.canonical()
	return r, err
}
