package verdict

import (
	"bytes"
	"io"
)

const (
	maxLine = 192 << 10 // bytes kept of a line; a typed review of 48,000 characters fits in one
	window  = 512 << 10 // bytes read at a time
)

// lineReader gives the lines of r in bounded memory. What it returns is valid until the next call.
type lineReader struct {
	r          io.Reader
	buf        []byte
	start, end int
	err        error
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: r, buf: make([]byte, window)}
}

// next gives a line without its end. cut says that it had more than maxLine bytes and the rest is gone. After the last
// line ok is false, and l.err is what ended the stream: io.EOF or r's error.
func (l *lineReader) next() (line []byte, cut, ok bool) {
	searched := l.start
	for {
		if i := bytes.IndexByte(l.buf[searched:l.end], '\n'); i >= 0 {
			line = l.buf[l.start : searched+i]
			l.start = searched + i + 1
			break
		}
		if l.err != nil {
			line = l.buf[l.start:l.end]
			l.start = l.end
			if len(line) == 0 {
				return nil, cut, cut
			}
			break
		}
		// Make room: keep no more of the line than is returned.
		n := copy(l.buf, l.buf[l.start:l.end])
		if n > maxLine {
			n, cut = maxLine+1, true
		}
		l.start, l.end, searched = 0, n, n
		l.fill()
	}
	if len(line) > maxLine {
		line, cut = line[:maxLine], true
	}
	if !cut && len(line) > 0 && line[len(line)-1] == '\r' {
		line = line[:len(line)-1]
	}
	return line, cut, true
}

func (l *lineReader) fill() {
	for range 100 {
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		l.err = err
		if n > 0 || err != nil {
			return
		}
	}
	l.err = io.ErrNoProgress
}
