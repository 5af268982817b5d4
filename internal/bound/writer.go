package bound

import "io"

// Writer passes the first bytes of a stream on and drops the rest, so that whoever produces it neither fails nor
// blocks. It is not for use by several goroutines at the same time.
type Writer struct {
	w       io.Writer
	left    int64
	dropped int64
}

// NewWriter passes at most limit bytes on to w.
func NewWriter(w io.Writer, limit int64) *Writer {
	return &Writer{w: w, left: limit}
}

// Write reports all of p as written, whether it was passed on or dropped. The error is w's alone.
func (l *Writer) Write(p []byte) (int, error) {
	pass := min(int64(len(p)), l.left)
	if pass > 0 {
		n, err := l.w.Write(p[:pass])
		l.left -= int64(n)
		if err != nil {
			return n, err
		}
	}
	l.dropped += int64(len(p)) - pass
	return len(p), nil
}

// Dropped is how many bytes were not passed on because of the limit.
func (l *Writer) Dropped() int64 { return l.dropped }
