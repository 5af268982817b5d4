package loop

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/trkr-dev/trkr-validate/contract"
	"github.com/trkr-dev/trkr-validate/internal/pattern"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// MaxHandoff is the most bytes that a handoff may have.
const MaxHandoff = 1 << 20

// maxProblems is how many problems of one handoff are told.
const maxProblems = 100

// Handoff is what an implementer says about the work: what is done, what is not, what was run, what was noticed.
type Handoff struct {
	Implemented []Item
	Undone      []Item
	Commands    []Command
	Issues      []Issue
}

// Item says something about assertions.
type Item struct {
	Line int
	IDs  []string
	Text string
}

// Command is one that the implementer ran.
type Command struct {
	Line int
	Text string // verbatim
	Exit int
	Why  string // what explains the exit code; empty where nothing does
}

// Issue is something that the implementer noticed and left alone.
type Issue struct {
	Line     int
	Severity verdict.Severity
	Place    string
	Text     string
}

// The sections of a handoff, in the order in which they are written.
var sections = []string{"Implemented", "Left undone", "Commands run", "Discovered issues"}

const (
	implemented = iota
	undone
	commands
	issues
	elsewhere // before the first section, or in one that is not known
)

var (
	headingLine = pattern.Regexp(`^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#*)?[ \t]*$`)
	itemLine    = pattern.Regexp(`^ {0,3}(?:[-*+]|[0-9]{1,9}[.)])[ \t]+(.*)$`)
	noneLine    = pattern.Regexp(`(?i)^(?:[-*+][ \t]+)?none\.?$`)
	oneID       = pattern.Regexp("^[*_`~\\s]*(VAL-(?:[A-Z][A-Z0-9]{0,15}-[0-9]{1,6}|[1-9][0-9]{0,5}))[*_`~]*")
	andLine     = pattern.Regexp(`^\s*(?:,|&|and\b)`)
	colonLine   = pattern.Regexp("^\\s*(?:[:—–]|--?)[*_`~]*\\s*")
	exitPart    = pattern.Regexp(`(?i)^[\s(]*(?:(?:—|–|-+>?|→|=>|:|,)\s*)?(?:exit(?:s|ed)?(?:\s+with)?(?:\s+(?:code|status))?)\s*[:=]?\s*(-?[0-9]{1,10})\b\)?`)
	issueLine   = pattern.Regexp("^[*_`]*(BLOCKING|NOTE)[*_`]*\\s+(?:—|–|--?)\\s+(.*)$")
	placed      = pattern.Regexp(`^(\S+)\s+(?:—|–|--)\s+(.*)$`)
	noReason    = pattern.Regexp(`(?i)^[^\pL\pN]*(?:none|n/?a|todo|tbd|later|later on|pending|not applicable|not done|no reason|undone|left undone)?[^\pL\pN]*$`)
)

// handoffParser reads one line after the other.
type handoffParser struct {
	contract contract.Contract
	handoff  Handoff
	problems []contract.Problem

	at     int          // the section that the line is in
	from   map[int]int  // the line in which each section begins
	items  map[int]int  // how many items each has, those that cannot be read too
	none   map[int]int  // the line that says that there is none
	title  bool         // there was a heading above the sections
	strays map[int]bool // text that is no item was told of this section
	open   int          // the line of the item that goes on; 0: none does
	text   strings.Builder
}

// ParseHandoff reads a handoff and tells all that is wrong with it, with line numbers and in their order. What could be
// read is returned beside the problems.
func ParseHandoff(data []byte, c contract.Contract) (Handoff, []contract.Problem) {
	if len(data) > MaxHandoff {
		return Handoff{}, []contract.Problem{{Text: fmt.Sprintf("it has %d bytes; a handoff has at most %d and is no diary", len(data), MaxHandoff)}}
	}
	p := &handoffParser{contract: c, at: elsewhere, from: map[int]int{}, items: map[int]int{}, none: map[int]int{}, strays: map[int]bool{}}
	text := strings.TrimPrefix(strings.ToValidUTF8(string(data), "\ufffd"), "\ufeff")
	for i, line := range strings.Split(text, "\n") {
		p.line(i+1, strings.TrimSuffix(line, "\r"))
	}
	p.close()
	for i, name := range sections {
		switch {
		case p.from[i] == 0:
			p.problem(0, "the section %q is missing: write it, with \"None.\" where there is nothing to say", "## "+name)
		case p.items[i] == 0 && p.none[i] == 0:
			p.problem(p.from[i], "%q says nothing: write \"None.\" where that is so", "## "+name)
		case p.items[i] > 0 && p.none[i] > 0:
			p.problem(p.none[i], "\"None.\" stands beside what there is in %q", "## "+name)
		}
	}
	p.bothWays()
	slices.SortStableFunc(p.problems, func(a, b contract.Problem) int { return a.Line - b.Line })
	if more := len(p.problems) - maxProblems; more > 0 {
		p.problems = append(p.problems[:maxProblems], contract.Problem{Text: fmt.Sprintf("and %d more problems", more)})
	}
	return p.handoff, p.problems
}

func (p *handoffParser) problem(line int, format string, args ...any) {
	p.problems = append(p.problems, contract.Problem{Line: line, Text: fmt.Sprintf(format, args...)})
}

func (p *handoffParser) line(n int, line string) {
	if strings.TrimSpace(line) == "" {
		p.close()
		return
	}
	if m := headingLine().FindStringSubmatch(line); m != nil {
		p.close()
		p.heading(n, len(m[1]), m[2])
		return
	}
	switch {
	case p.at == elsewhere:
		p.stray(n, "%s belongs to no section: a handoff is its four sections", shown(line))
	case noneLine().MatchString(strings.TrimSpace(line)):
		p.close()
		p.none[p.at] = n
	case p.open > 0 && (strings.HasPrefix(line, "  ") || line[0] == '\t'):
		p.text.WriteString(" " + strings.TrimSpace(line))
	case itemLine().MatchString(line):
		p.close()
		p.begin(n, itemLine().FindStringSubmatch(line)[1])
	case p.at == issues && issueLine().MatchString(line):
		p.close()
		p.begin(n, line)
	default:
		p.close()
		p.items[p.at]++
		p.stray(n, "%s is no item: begin it with \"- \", or indent it by two spaces to go on with the one before", shown(line))
	}
}

// stray tells of text where none belongs, once for each section.
func (p *handoffParser) stray(n int, format string, args ...any) {
	if !p.strays[p.at] {
		p.strays[p.at] = true
		p.problem(n, format, args...)
	}
}

func (p *handoffParser) heading(n, level int, name string) {
	if level == 1 && len(p.from) == 0 && !p.title {
		p.title = true
		return
	}
	p.at = elsewhere
	p.strays[elsewhere] = true // the heading is the problem, not what follows it
	i := slices.IndexFunc(sections, func(s string) bool { return strings.EqualFold(s, strings.TrimSpace(name)) })
	switch {
	case level != 2 || i < 0:
		p.problem(n, "%s is no section of a handoff: there are %s", shown(strings.Repeat("#", level)+" "+name), `"## `+strings.Join(sections, `", "## `)+`"`)
	case p.from[i] > 0:
		p.problem(n, "%q stands here again, first in line %d", "## "+sections[i], p.from[i])
	default:
		p.at, p.from[i] = i, n
	}
}

func (p *handoffParser) begin(n int, text string) {
	p.open = n
	p.text.WriteString(strings.TrimSpace(text))
}

// close reads the item that was open.
func (p *handoffParser) close() {
	n, text := p.open, p.text.String()
	p.open = 0
	p.text.Reset()
	if n == 0 {
		return
	}
	p.items[p.at]++
	switch p.at {
	case implemented:
		p.item(n, text, &p.handoff.Implemented)
	case undone:
		p.item(n, text, &p.handoff.Undone)
	case commands:
		p.command(n, text)
	case issues:
		p.issue(n, text)
	}
}

// item reads "VAL-1, VAL-2: text".
func (p *handoffParser) item(n int, text string, to *[]Item) {
	rest, it := text, Item{Line: n}
	for {
		m := oneID().FindStringSubmatch(rest)
		if m == nil {
			break
		}
		rest = rest[len(m[0]):]
		if _, ok := p.contract.Lookup(m[1]); !ok {
			p.problem(n, "the contract has no %s", m[1])
		} else if !slices.Contains(it.IDs, m[1]) {
			it.IDs = append(it.IDs, m[1])
		}
		and := andLine().FindString(rest)
		if and == "" {
			break
		}
		rest = rest[len(and):]
	}
	head := colonLine().FindString(rest)
	switch {
	case len(rest) == len(text):
		p.problem(n, "%s begins with no assertion's id: write \"- VAL-1: ...\"", shown(text))
		return
	case head == "":
		p.problem(n, "%s: a colon is missing after the ids", shown(text))
		return
	}
	it.Text = strings.TrimSpace(rest[len(head):])
	switch {
	case p.at == undone && noReason().MatchString(it.Text):
		p.problem(n, "%s is left undone without a reason", strings.Join(it.IDs, ", "))
	case !hasWord(it.Text):
		p.problem(n, "%s says nothing about %s", shown(text), strings.Join(it.IDs, ", "))
	}
	*to = append(*to, it)
}

// command reads "`make test` exit 0: why".
func (p *handoffParser) command(n int, text string) {
	ran, rest, ok := codeSpan(text)
	if !ok || strings.TrimSpace(ran) == "" {
		p.problem(n, "%s is no command: write it in backticks as it was run, and its exit code behind it: - `make test` exit 0", shown(text))
		return
	}
	m := exitPart().FindStringSubmatch(rest)
	if m == nil {
		p.problem(n, "`%s` stands without its exit code: write \"exit 0\" behind it", cut(ran))
		return
	}
	c := Command{Line: n, Text: ran}
	if _, err := fmt.Sscanf(m[1], "%d", &c.Exit); err != nil {
		p.problem(n, "`%s`: %s is no exit code", cut(ran), m[1])
		return
	}
	if why := strings.TrimSpace(rest[len(m[0]):]); hasWord(why) {
		c.Why = strings.TrimLeft(why, ":—–-,;( ")
	}
	p.handoff.Commands = append(p.handoff.Commands, c)
}

func (p *handoffParser) issue(n int, text string) {
	m := issueLine().FindStringSubmatch(text)
	if m == nil || !hasWord(m[2]) {
		p.problem(n, "%s is no discovered issue: write \"BLOCKING — what\" or \"NOTE — what\"", shown(text))
		return
	}
	is := Issue{Line: n, Severity: verdict.Severity(m[1]), Text: strings.TrimSpace(m[2])}
	if parts := placed().FindStringSubmatch(is.Text); parts != nil && ParsePlace(parts[1]).File != "" {
		is.Place, is.Text = parts[1], parts[2]
	}
	p.handoff.Issues = append(p.handoff.Issues, is)
}

// bothWays finds what is said to be done and not to be.
func (p *handoffParser) bothWays() {
	done := map[string]int{}
	for _, it := range p.handoff.Implemented {
		for _, id := range it.IDs {
			done[id] = it.Line
		}
	}
	for _, it := range p.handoff.Undone {
		for _, id := range it.IDs {
			if done[id] > 0 {
				p.problem(it.Line, "%s is left undone here and implemented in line %d", id, done[id])
			}
		}
	}
}

// codeSpan reads the span in backticks that s begins with.
func codeSpan(s string) (inside, rest string, ok bool) {
	body := strings.TrimLeft(s, "`")
	mark := s[:len(s)-len(body)]
	if mark == "" {
		return "", s, false
	}
	for i := 0; i < len(body); {
		if body[i] != '`' {
			i++
			continue
		}
		run := len(body[i:]) - len(strings.TrimLeft(body[i:], "`"))
		if run == len(mark) {
			return strings.TrimSpace(body[:i]), body[i+run:], true
		}
		i += run
	}
	return "", s, false
}

func hasWord(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
}

// shown quotes the start of a line for people.
func shown(line string) string { return fmt.Sprintf("%q", cut(strings.TrimSpace(line))) }

func cut(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
