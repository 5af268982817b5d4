package contract

import (
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/pattern"
)

// The few constructs of Markdown that decide what in an issue's body is contract. They are read line by line and with
// more patience than CommonMark (any indentation of a fence, say): an issue is written by people in a hurry.

var (
	atxHeading = pattern.Regexp(`^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$`)
	setextLine = pattern.Regexp(`^ {0,3}(=+|-+)[ \t]*$`)
	fenceLine  = pattern.Regexp("^[ \t]*(`{3,}|~{3,})(.*)$")
	blockStart = pattern.Regexp(`^ {0,3}(?:[-*+>|]|[0-9]{1,9}[.)])`)
	// endsParagraph is what, in the line below a paragraph, is no part of it: an item, a quote, a table, a rule.
	endsParagraph = pattern.Regexp(`^[ \t]*(?:[-*+](?:[ \t]|$)|[0-9]{1,9}[.)](?:[ \t]|$)|[>|]|(?:=+|(?:-[ \t]*)+|(?:[*][ \t]*){3,}|(?:_[ \t]*){3,})$)`)
	startsWithTag = pattern.Regexp(`^[ \t]*</?[A-Za-z]`)
	onlyTags      = pattern.Regexp(`^(?:[ \t]*</?[A-Za-z][^<>]*>)+[ \t]*$`)
	closingMarks  = pattern.Regexp(`(?:^|[ \t])#+$`)
	leadingMarks  = pattern.Regexp("^(?:[ \t]+|#{1,6}[ \t]+|[-*+][ \t]+|[0-9]{1,9}[.)][ \t]+|\\[[ xX]\\][ \t]+)*")
	decoratedLine = pattern.Regexp("^([*_`~]*)(" + idPattern + ")([*_`~]*):([*_`~]*)(.*)$")
)

// heading gives the level and the title where l, followed by next, is a heading.
func heading(l, next string) (level int, title string) {
	if m := atxHeading().FindStringSubmatch(l); m != nil {
		return len(m[1]), m[2]
	}
	// A line with an id above "---" is an assertion above a rule, whatever CommonMark makes of it.
	if strings.TrimSpace(l) == "" || strings.HasPrefix(l, "    ") || blockStart().MatchString(l) || almostID().MatchString(l) {
		return 0, ""
	}
	if m := setextLine().FindStringSubmatch(next); m != nil {
		if m[1][0] == '=' {
			return 1, l
		}
		return 2, l
	}
	return 0, ""
}

// underlined reports whether l, a line of a paragraph, stands above what makes headings of text.
func underlined(l, next string) bool {
	return strings.TrimSpace(l) != "" && !endsParagraph().MatchString(l) && !almost(l) && atxHeading().FindString(l) == "" && setextLine().MatchString(next)
}

func isSection(title string) bool {
	title = strings.Trim(strings.TrimSpace(title), "*_`~: \t")
	return strings.EqualFold(strings.Join(strings.Fields(title), " "), "validation contract")
}

// decorated reads an assertion with whatever emphasis, backticks, list markers, checkboxes, numbers and heading
// marks stand around its id.
func decorated(text string) (id, rest string, ok bool) {
	head := leadingMarks().FindString(text)
	m := decoratedLine().FindStringSubmatch(text[len(head):])
	if m == nil {
		return "", "", false
	}
	opened, rest := m[1], strings.TrimSpace(m[5])
	if strings.Contains(head, "#") {
		rest = strings.TrimSpace(closingMarks().ReplaceAllString(rest, ""))
	}
	// Emphasis that was opened before the id and not closed around it goes round the whole line.
	if opened != "" && m[3] == "" && m[4] == "" {
		rest = strings.TrimSpace(strings.TrimSuffix(rest, mirrored(opened)))
	}
	return m[2], rest, true
}

func mirrored(s string) string {
	out := []byte(s)
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return string(out)
}

// fence follows fenced blocks; the zero value is outside one.
type fence struct {
	mark  byte
	width int
}

// step reports whether l is itself a fence line, and opens or closes the block.
func (f *fence) step(l string) bool {
	m := fenceLine().FindStringSubmatch(l)
	if m == nil {
		return false
	}
	mark, width, info := m[1][0], len(m[1]), m[2]
	switch {
	case f.width == 0 && (mark == '~' || !strings.Contains(info, "`")):
		*f = fence{mark: mark, width: width}
		return true
	case f.width > 0 && mark == f.mark && width >= f.width && strings.TrimSpace(info) == "":
		*f = fence{}
		return true
	}
	return false
}

func (f *fence) open() bool { return f.width > 0 }

// strip removes HTML comments from l, but not from code spans. in says whether l begins within a comment; the second
// result says whether it ends in one.
func strip(l string, in bool) (string, bool) {
	var out strings.Builder
	for l != "" {
		if in {
			_, after, found := strings.Cut(l, "-->")
			if !found {
				return out.String(), true
			}
			l, in = after, false
			continue
		}
		switch i := strings.IndexAny(l, "`<"); {
		case i < 0:
			out.WriteString(l)
			l = ""
		case l[i] == '`':
			n := codeSpan(l[i:])
			out.WriteString(l[:i+n])
			l = l[i+n:]
		case strings.HasPrefix(l[i:], "<!--"):
			out.WriteString(l[:i])
			l, in = l[i+len("<!--"):], true
			for _, end := range []string{">", "->"} { // "<!-->" and "<!--->" are whole comments
				if strings.HasPrefix(l, end) {
					l, in = l[len(end):], false
					break
				}
			}
		default:
			out.WriteString(l[:i+1])
			l = l[i+1:]
		}
	}
	return out.String(), in
}

// codeSpan measures the code span that s begins with, or its run of backticks where none ends it.
func codeSpan(s string) int {
	run := len(s) - len(strings.TrimLeft(s, "`"))
	for i := run; i < len(s); {
		j := strings.IndexByte(s[i:], '`')
		if j < 0 {
			break
		}
		i += j
		n := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		if n == run {
			return i + n
		}
		i += n
	}
	return run
}
