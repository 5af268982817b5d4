package verdict

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds of what is kept of one report, whatever it says. Exceeding one is a diagnostic.
const (
	maxEvidence = 16 << 10 // bytes of one criterion's evidence, or of one finding's text
	maxPlace    = 1 << 10  // bytes of one finding's place
	maxFindings = 200      // of each severity
	maxVerdicts = 16
	// Beyond two for each assertion. What floods a report has nothing more to say, and reading it takes time.
	maxReportLines = 20_000
	maxKept        = 4 << 20 // bytes of evidence and findings together
	maxNamed       = 20      // ids or lines that one diagnostic names
)

// collector keeps what the report lines of one place (outside fences, or inside) say.
type collector struct {
	known    map[string]int // the contract's ids
	criteria []Reported
	seen     map[string]seen
	findings []Finding
	severity map[Severity]int // findings so far
	verdicts []string
	last     bool // nothing followed the last VERDICT line
	kept     int
	too      []string // bounds exceeded
	unknown  names
	bad      names // lines that could not be read
}

// seen says which statuses an id had so far, and whether one of them twice.
type seen struct {
	statuses [3]bool
	repeated bool
}

func newCollector(known map[string]int) *collector {
	return &collector{known: known, seen: map[string]seen{}, severity: map[Severity]int{}}
}

// reported says whether any report line was read.
func (c *collector) reported() bool {
	return len(c.criteria) > 0 || len(c.findings) > 0 || len(c.verdicts) > 0 || c.unknown.n > 0
}

func (c *collector) add(l reportLine, cut bool) {
	if cut && (l.kind == criterionLine || l.kind == findingLine) {
		c.exceeded("a line longer than %d bytes", maxLine)
	}
	switch l.kind {
	case criterionLine:
		c.criterion(l)
	case findingLine:
		c.finding(l)
	case verdictLine:
		c.last = true
		if len(c.verdicts) < maxVerdicts {
			c.verdicts = append(c.verdicts, l.verdict)
		}
	case unreadable:
		c.bad.add(l.text)
	}
}

// criterion keeps every status that an id was given, and one repetition: more of the same says nothing new.
func (c *collector) criterion(l reportLine) {
	if _, ok := c.known[l.id]; !ok {
		c.unknown.add(l.id)
		return
	}
	was, place := c.seen[l.id], statusPlace(l.status)
	if was.statuses[place] {
		if was.repeated {
			return
		}
		was.repeated = true
	}
	was.statuses[place] = true
	c.seen[l.id] = was
	c.criteria = append(c.criteria, Reported{ID: l.id, Status: l.status, Evidence: c.keep(l.text, maxEvidence)})
}

func statusPlace(s Status) int {
	switch s {
	case Met:
		return 0
	case Unmet:
		return 1
	default:
		return 2
	}
}

func (c *collector) finding(l reportLine) {
	c.severity[l.severity]++
	if c.severity[l.severity] > maxFindings {
		c.exceeded("more than %d %s findings", maxFindings, l.severity)
		return
	}
	f := Finding{Severity: l.severity, Place: c.keep(l.place, maxPlace), Text: c.keep(l.text, maxEvidence)}
	f.Criteria = mentioned(c.known, f.Place+" "+f.Text)
	f.ID = FindingID(f)
	c.findings = append(c.findings, f)
}

// keep bounds s, and all that is kept together.
func (c *collector) keep(s string, limit int) string {
	if len(s) > limit {
		c.exceeded("a text longer than %d bytes", limit)
		s = cutBytes(s, limit)
	}
	if c.kept+len(s) > maxKept {
		c.exceeded("more than %d bytes of evidence and findings", maxKept)
		return ""
	}
	c.kept += len(s)
	return strings.Clone(s)
}

func (c *collector) exceeded(format string, args ...any) {
	detail := fmt.Sprintf("the report has "+format, args...)
	for _, have := range c.too {
		if have == detail {
			return
		}
	}
	c.too = append(c.too, detail)
}

// diagnose adds what these lines alone have wrong.
func (c *collector) diagnose(r *Report) {
	for _, detail := range c.too {
		r.Diagnose(ReportTooLarge, detail)
	}
	if c.unknown.n > 0 {
		r.Diagnose(CriterionUnknown, "the contract has no "+c.unknown.String())
	}
	if c.bad.n > 0 {
		r.Diagnose(LineUnreadable, "not a report line, though it begins as one: "+c.bad.String())
	}
}

// names is a bounded list for a diagnostic, each name once.
type names struct {
	list []string
	n    int
}

func (s *names) add(name string) {
	if len(name) > 80 {
		name = cutBytes(name, 80)
	}
	for _, have := range s.list {
		if have == name {
			return
		}
	}
	s.n++
	if len(s.list) < maxNamed {
		s.list = append(s.list, strings.Clone(name))
	}
}

func (s *names) String() string {
	text := strings.Join(s.list, ", ")
	if rest := s.n - len(s.list); rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}

const cutMark = "…"

// cutBytes cuts s to at most limit bytes, the mark included, at the border of a character.
func cutBytes(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := limit - len(cutMark)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + cutMark
}
