package build

import (
	"io"
	"strings"
	"unicode"

	"github.com/trkr-dev/trkr-validate/internal/bound"
	"github.com/trkr-dev/trkr-validate/internal/pattern"
	"github.com/trkr-dev/trkr-validate/internal/redact"
)

const (
	tailBytes = 16 << 10 // kept of the output
	tailLines = 30       // shown
)

// tail keeps the end of some output, without secrets.
type tail struct {
	kept *bound.Buffer
	open io.WriteCloser
}

func newTail(secrets *redact.Redactor) *tail {
	if secrets == nil {
		secrets = redact.New()
	}
	kept := bound.NewBuffer(0, tailBytes)
	return &tail{kept, secrets.Writer(kept)}
}

func (t *tail) Write(p []byte) (int, error) { return t.open.Write(p) }

// end is called when nothing more is written.
func (t *tail) end() string {
	_ = t.open.Close() // a buffer takes everything
	return lastLines(t.kept.Tail(), tailLines)
}

// ansi matches the sequences that colour output or move a cursor.
var ansi = pattern.Regexp("\x1b(\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(\x07|\x1b\\\\)?|[@-Z\\\\-_])")

// lastLines makes the end of some output readable: the last n lines that are not empty, as a terminal would have
// left them, without colour and control characters.
func lastLines(b []byte, n int) string {
	text := ansi().ReplaceAllString(strings.ToValidUTF8(string(b), "\uFFFD"), "")
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, "\r")
		// A progress bar writes over its own line: what it said last counts.
		line = line[strings.LastIndexByte(line, '\r')+1:]
		line = strings.Map(func(r rune) rune {
			if r != '\t' && unicode.IsControl(r) {
				return -1
			}
			return r
		}, line)
		if line = strings.TrimRightFunc(line, unicode.IsSpace); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
