package verdict

import (
	"encoding/json"
	"fmt"
)

// MarshalJSON writes lists and maps that hold nothing as [] and {}, never as null, and the time in UTC.
func (r Record) MarshalJSON() ([]byte, error) {
	type bare Record
	list(&r.Criteria)
	list(&r.Findings)
	list(&r.Diagnostics)
	list(&r.Refusals)
	list(&r.Agents)
	list(&r.Subject.Manifest)
	table(&r.Environment.Isolation)
	table(&r.Environment.Limits)
	table(&r.Timings)
	r.StartedAt = r.StartedAt.UTC()
	return json.Marshal(bare(r))
}

func list[T any](s *[]T) {
	if *s == nil {
		*s = []T{}
	}
}

func table[V any](m *map[string]V) {
	if *m == nil {
		*m = map[string]V{}
	}
}

// canonical gives r as its JSON is read back: a byte that is no UTF-8 is U+FFFD, nothing is nil, the time is in UTC.
// Markdown and what ParseMarkdown gives are the same for r and for its canonical form.
func (r Record) canonical() (Record, []byte, error) {
	if r.SchemaVersion != SchemaVersion {
		return Record{}, nil, fmt.Errorf("the record's schemaVersion is %d, not %d", r.SchemaVersion, SchemaVersion)
	}
	data, err := json.Marshal(r)
	if err != nil {
		return Record{}, nil, err
	}
	var again Record
	if err := json.Unmarshal(data, &again); err != nil {
		return Record{}, nil, err
	}
	// Encoded once more, as what was no UTF-8 is written in another way the first time.
	data, err = json.MarshalIndent(again, "", "  ")
	return again, data, err
}
