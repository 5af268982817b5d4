package build

import (
	"strings"
	"unicode"

	"github.com/trkr-dev/trkr-validate/internal/pattern"
)

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
