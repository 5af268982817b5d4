package verdict

import (
	"fmt"
	"strings"
)

// What GitHub shows of one step: ten annotations of each level, and of each no more than 4096 bytes.
const (
	maxAnnotations = 10
	maxAnnotation  = 4096
)

// Annotations writes remarks as the workflow commands of GitHub Actions, one a line, at most as many as are shown. The
// last of a level that does not fit says how many are missing.
func Annotations(remarks []Remark) string {
	byLevel := map[Level][]Remark{}
	for _, m := range remarks {
		byLevel[m.Level] = append(byLevel[m.Level], m)
	}
	var b strings.Builder
	for _, l := range []struct {
		level   Level
		command string
	}{{LevelError, "error"}, {LevelWarning, "warning"}, {LevelNote, "notice"}} {
		list := byLevel[l.level]
		more := len(list) - maxAnnotations
		if more > 0 {
			list = list[:maxAnnotations-1]
		}
		for _, m := range list {
			title := m.Rule
			if m.About != "" {
				title += ": " + m.About
			}
			fmt.Fprintf(&b, "::%s file=%s,line=%d,title=%s::%s\n", l.command, property(m.Path), m.Line, property(cutBytes(title, 200)), message(cutBytes(m.Text, maxAnnotation)))
		}
		if more > 0 {
			fmt.Fprintf(&b, "::%s title=trkr-validate::and %d more, in the summary and the reports\n", l.command, more+1)
		}
	}
	return b.String()
}

var (
	messageEscapes  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// message and property keep text from ending a command, or beginning another one.
func message(s string) string  { return messageEscapes.Replace(s) }
func property(s string) string { return propertyEscapes.Replace(s) }
