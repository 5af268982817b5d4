package event

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/trkr-dev/trkr-validate/internal/redact"
)

// File appends events to a JSON-lines file, redacted before they are written.
type File struct {
	f      *os.File
	redact *redact.Redactor
	err    error
}

// OpenFile opens f, which must be readable and writable, for appending events. A last line that was torn by a crash
// is cut off first. The File owns f from here on.
func OpenFile(f *os.File, r *redact.Redactor) (*File, error) {
	if err := Repair(f); err != nil {
		return nil, errors.Join(fmt.Errorf("repairing %s: %w", f.Name(), err), f.Close())
	}
	return &File{f: f, redact: r}, nil
}

// Emit writes one line. The first error is kept for Close.
func (s *File) Emit(e Event) {
	line, err := json.Marshal(e)
	if err == nil {
		_, err = s.f.WriteString(s.redact.String(string(line)) + "\n")
	}
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("writing event %d: %w", e.Seq, err)
	}
}

// Close closes the file and returns the first error of any write.
func (s *File) Close() error { return errors.Join(s.err, s.f.Close()) }

// Repair cuts off what follows the last newline and leaves f positioned at its end.
func Repair(f *os.File) error {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	buf := make([]byte, 64<<10)
	keep := int64(0)
	for at := end; at > 0 && keep == 0; {
		n := min(at, int64(len(buf)))
		at -= n
		if _, err := f.ReadAt(buf[:n], at); err != nil {
			return err
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			keep = at + int64(i) + 1
		}
	}
	if keep < end {
		if err := f.Truncate(keep); err != nil {
			return err
		}
	}
	_, err = f.Seek(keep, io.SeekStart)
	return err
}

// Read returns the events of a run in order. A torn last line is passed over; any other line that is no event is an
// error that names it, and the events before it are returned.
func Read(r io.Reader) ([]Event, error) {
	var events []Event
	lines := bufio.NewReaderSize(r, 64<<10)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return events, nil // what follows the last newline was torn
		}
		if err != nil {
			return events, fmt.Errorf("reading events: %w", err)
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return events, fmt.Errorf("line %d: %w", n, err)
		}
		if e.SchemaVersion == SchemaVersion {
			events = append(events, e)
		}
	}
}
