package verdict

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/trkr-dev/trkr-validate/contract"
	"github.com/trkr-dev/trkr-validate/internal/pattern"
)

// kind says what a line of a report is.
type kind int

const (
	prose kind = iota
	criterionLine
	findingLine
	verdictLine
	unreadable // it claims to be a report line and cannot be read as one: never taken for prose
)

// reportLine is one line as read. text is evidence, or what a finding says, not yet cut.
type reportLine struct {
	kind     kind
	id       string
	status   Status
	severity Severity
	verdict  string
	place    string
	text     string
}

const decoration = "*_`~"

var (
	markers = pattern.Regexp(`^(?:[\s\p{Zs}\x{feff}]+|#{1,6}[\s\p{Zs}]+|[-*+][\s\p{Zs}]+|[0-9]{1,9}[.)][\s\p{Zs}]+|\[[ xX]\][\s\p{Zs}]+)*`)
	words   = []struct {
		word string
		kind kind
	}{{"CRITERION", criterionLine}, {"FINDING", findingLine}, {"VERDICT", verdictLine}}

	idHead = pattern.Regexp(`(?i)^VAL-(?:[A-Z][A-Z0-9]{0,15}-[0-9]{1,6}|[1-9][0-9]{0,5})`)

	// The grammar quoted back: choices, names in brackets, dots. Nothing that could be meant is among them.
	statusHint   = hint(`pass|fail|blocked`, ``)
	severityHint = hint(`BLOCKING|NOTE`, ``)
	verdictHint  = hint(`CLEAR|BLOCKING`, `[\s*_`+"`"+`~]*$`)
	idHint       = pattern.Regexp(`(?i)^(?:VAL-(?:n|x|\?|#|<[^<>0-9]*>|\{[^{}0-9]*\}|\.\.\.|…)|<[^<>0-9]*>|\{[^{}0-9]*\}|\.\.\.|…)(?:[^0-9A-Za-z]|$)`)
)

func hint(choice, after string) func() *regexp.Regexp {
	one := `(?:` + choice + `)`
	return pattern.Regexp(`(?i)^(?:[<{\[(]?\s*` + one + `(?:\s*(?:\||/|\bor\b)\s*` + one + `)+\s*[>})\]]?|[<{](?:status|severity|verdict|result)[>}]|\.\.\.|…)` + after)
}

// readLine reads one line that plain has been through. cut says that its end is missing.
func readLine(line []byte, cut bool) reportLine {
	var lead []byte
	rest := line
	if len(line) > 0 && classes[line[0]] != keyword {
		lead = markers().Find(line)
		rest = line[len(lead):]
	}
	if len(rest) > 0 && rest[0] == '>' {
		return reportLine{} // quoted
	}
	l, sample := readWord(rest, cut)
	switch {
	case l.kind != prose:
		if l.struck(string(rest)) || bytes.Contains(lead, []byte("[ ]")) && (l.status == Met || l.verdict == "CLEAR") {
			break // struck out, or still to do
		}
		if parts := strings.FieldsFunc(l.text, endsLine); len(parts) > 1 && slices.ContainsFunc(parts[1:], func(part string) bool {
			return readLine([]byte(part), false).kind != prose
		}) {
			break // where other line ends count, an objection of its own
		}
		return l
	case sample:
		return l
	default:
		// What stands behind symbols that are no list marker is not taken at its word.
		l, sample = readWord(withoutSymbols(rest), cut)
		if sample || l.kind == prose && !claims(strings.ToValidUTF8(string(rest), "\ufffd")) {
			return reportLine{}
		}
	}
	return reportLine{kind: unreadable, text: trimSpace(strings.ToValidUTF8(string(line), "\ufffd"))}
}

// endsLine reports whether some programs begin a new line at r.
func endsLine(r rune) bool { return strings.ContainsRune("\r\v\f\u0085\u2028\u2029", r) }

// struck reports whether line, which l was read from, is struck out, or a part of it that is not its text. The place of
// a finding may hold a single tilde.
func (l reportLine) struck(line string) bool {
	if at := strings.LastIndex(line, l.text); at >= 0 && l.text != "" {
		if strings.HasSuffix(l.text, "~~") && strings.Count(l.text, "~~") == 1 {
			return true // from a line before on
		}
		line = line[:at] + line[at+len(l.text):]
	}
	return strings.Contains(line, "~~") || l.kind != findingLine && strings.Contains(line, "~")
}

// readWord reads a line that begins with a word of the grammar, decorated or not, and a colon. sample says that it is
// the grammar quoted back.
func readWord(line []byte, cut bool) (l reportLine, sample bool) {
	rest := bytes.TrimLeft(line, decoration)
	opened := string(line[:len(line)-len(rest)])
	for _, w := range words {
		if len(rest) < len(w.word) || !strings.EqualFold(string(rest[:len(w.word)]), w.word) {
			continue
		}
		after := bytes.TrimLeft(rest[len(w.word):], decoration)
		after, found := bytes.CutPrefix(bytes.TrimLeft(after, " \t"), []byte(":"))
		if !found {
			break
		}
		text := strings.ToValidUTF8(string(after), "\ufffd")
		body := strings.TrimLeft(text, decoration)
		if opened != "" && body == text && string(rest[len(w.word)]) == ":" {
			body = strings.TrimSuffix(trimSpace(body), reversed(opened)) // decoration round the whole line
		}
		return readBody(w.kind, trimSpace(body), cut)
	}
	return reportLine{}, false
}

func readBody(k kind, body string, cut bool) (l reportLine, sample bool) {
	body = strings.TrimLeftFunc(strings.TrimLeft(body, decoration), unicode.IsSpace)
	var ok bool
	switch k {
	case criterionLine:
		l, ok = readCriterion(body)
	case findingLine:
		l, ok = readFinding(body)
	default:
		l, ok = readVerdict(body)
		if cut && l.kind == verdictLine {
			return reportLine{}, false
		}
	}
	return l, ok && l.kind == prose
}

// readCriterion reads "pass — VAL-1: evidence"; a placeholder is prose. ok is false where it is neither.
func readCriterion(body string) (out reportLine, ok bool) {
	word := letters(body)
	switch strings.ToLower(word) {
	case "pass":
		out.status = Met
	case "fail":
		out.status = Unmet
	case "blocked":
		out.status = Blocked
	}
	dash, n := separator(body[len(word):])
	if out.status == "" || dash == "" {
		return reportLine{}, sampled(body, statusHint())
	}
	body = strings.TrimLeft(body[len(word)+n:], decoration)
	id := idHead().FindString(body)
	if id == "" {
		return reportLine{}, sampled(body, idHint())
	}
	out.id = strings.ToUpper(id)
	body = body[len(id):]
	tail := strings.TrimLeft(body, decoration)
	switch {
	case strings.HasPrefix(tail, ":"):
		tail = tail[1:]
		if closing := strings.TrimLeft(tail, decoration); len(body) > len(tail)+1 || closing == "" || startsWithSpace(closing) {
			tail = closing // **VAL-1:** and the like
		}
	case tail == "":
	default:
		dash, n := separator(body)
		if dash == "" {
			return reportLine{}, false
		}
		tail = body[n:]
	}
	out.kind, out.text = criterionLine, trimSpace(tail)
	return out, true
}

// sampled reports whether body begins with hint and goes on as the grammar's description does. A text of its own there
// is somebody's word.
func sampled(body string, hint *regexp.Regexp) bool {
	at := hint.FindStringIndex(body)
	if at == nil {
		return false
	}
	rest := " " + body[at[1]:] // the hint may have taken the space before a dash
	if dash, n := separator(rest); dash != "" {
		rest = rest[n:]
	}
	rest = strings.TrimLeft(rest, decoration+" ")
	if id := idHint().FindString(rest); id != "" {
		rest = rest[len(id):]
	} else {
		rest = rest[len(idHead().FindString(rest)):]
	}
	return template(rest) || strings.EqualFold(strings.Trim(rest, decoration+": "), "x")
}

// readFinding reads "BLOCKING — where — what"; where may be missing.
func readFinding(body string) (out reportLine, ok bool) {
	word := letters(body)
	switch strings.ToUpper(word) {
	case "BLOCKING":
		out.severity = SeverityBlocking
	case "NOTE":
		out.severity = SeverityNote
	}
	dash, n := separator(body[len(word):])
	if out.severity == "" || dash == "" {
		return reportLine{}, sampled(body, severityHint())
	}
	body = strings.TrimLeft(body[len(word)+n:], decoration)
	place, text, found := cutAt(body, dash)
	if !found {
		place, text = "", body
	}
	out.kind, out.place, out.text = findingLine, strings.Trim(trimSpace(place), decoration), trimSpace(text)
	if out.text == "" {
		return reportLine{}, false
	}
	if out.place == "where" && strings.Trim(out.text, decoration) == "what" {
		return reportLine{}, true
	}
	return out, true
}

func readVerdict(body string) (out reportLine, ok bool) {
	switch word := strings.ToUpper(strings.TrimRight(trimSpace(body), decoration)); word {
	case "CLEAR", "BLOCKING":
		return reportLine{kind: verdictLine, verdict: word}, true
	}
	return reportLine{}, verdictHint().MatchString(body)
}

// separator reads the dash with space on each side that s begins with, decoration before it allowed; n is what it
// takes of s. A dash that ends s needs no space after it.
func separator(s string) (dash string, n int) {
	rest := strings.TrimLeft(s, decoration)
	body := strings.TrimLeftFunc(rest, unicode.IsSpace)
	if len(body) == len(rest) {
		return "", 0
	}
	for _, dash := range []string{"—", "–", "--", "-"} {
		if after, ok := strings.CutPrefix(body, dash); ok {
			rest := strings.TrimLeftFunc(after, unicode.IsSpace)
			if len(rest) == len(after) && rest != "" {
				return "", 0
			}
			return dash, len(s) - len(rest)
		}
	}
	return "", 0
}

// cutAt splits s at the dash that has a space on each side.
func cutAt(s, dash string) (before, after string, found bool) {
	for i := 0; ; {
		j := strings.Index(s[i:], dash)
		if j < 0 {
			return s, "", false
		}
		at, end := i+j, i+j+len(dash)
		left, _ := utf8.DecodeLastRuneInString(s[:at])
		if unicode.IsSpace(left) && startsWithSpace(s[end:]) {
			return s[:at], s[end:], true
		}
		i = end
	}
}

func startsWithSpace(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsSpace(r)
}

// letters is the run of ASCII letters that s begins with.
func letters(s string) string {
	for i, r := range s {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return s[:i]
		}
	}
	return s
}

func trimSpace(s string) string { return strings.TrimFunc(s, isSpace) }

// isSpace also covers the byte order mark, which JavaScript trims and Go does not.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' }

func reversed(s string) string {
	out := []byte(s)
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return string(out)
}

// mentioned finds the contract's ids in text, each once, in the order of mention.
func mentioned(known map[string]int, text string) []string {
	var ids []string
	for _, id := range idMention().FindAllString(text, 64) {
		id = strings.ToUpper(id)
		if _, ok := known[id]; ok && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

var idMention = pattern.Regexp(`(?i)\bVAL-(?:[A-Z][A-Z0-9]{0,15}-[0-9]{1,6}|[1-9][0-9]{0,5})\b`)

// index maps each id of the contract to its place.
func index(c contract.Contract) map[string]int {
	known := make(map[string]int, len(c.Assertions))
	for i, a := range c.Assertions {
		known[a.ID] = i
	}
	return known
}
