package verdict

import "errors"

func (r Record) Markdown() ([]byte, error)      { return nil, errors.ErrUnsupported }
func ParseMarkdown(data []byte) (Record, error) { return Record{}, errors.ErrUnsupported }
func (r Record) JUnit() ([]byte, error)         { return nil, errors.ErrUnsupported }
func (r Record) Reviews() ([][]byte, error)     { return nil, errors.ErrUnsupported }
func FindingID(f Finding) string                { return "" }
func (r *Report) Conclude()                     {}
