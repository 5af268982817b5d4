package contract

import (
	"cmp"
	"fmt"
	"strings"
)

// ErrNoSection says that an issue's body has no section "Validation contract". It is an *Error.
var ErrNoSection error = &Error{Problems: []Problem{{Text: `the issue has no section "Validation contract"`}}}

// ParseIssue reads the section "Validation contract" of an issue's body, up to the next heading of the same or a
// higher level. Ids may be decorated as people do (lists, checkboxes, emphasis, headings). An indented line continues
// the assertion before it, and so does every line of the same paragraph. A line that holds an id is read as an
// assertion or is a problem, never dropped; other prose is ignored, with a warning each: the []Problem, also given
// beside an error. The error is an *Error, or ErrNoSection.
func ParseIssue(body []byte) (Contract, []Problem, error) {
	s, c, err := parseIssue(body)
	return c, bounded(s.warnings), err
}

func parseIssue(body []byte) (*issueReader, Contract, error) {
	s := &issueReader{}
	if len(body) > MaxSize {
		return s, Contract{}, &Error{Problems: []Problem{{
			Text: fmt.Sprintf("the issue has %d bytes, at most %d are read", len(body), MaxSize),
		}}}
	}
	lines := splitLines(body)
	for i, l := range lines {
		next := ""
		if i+1 < len(lines) {
			next = lines[i+1].text
		}
		s.read(l, next)
	}
	c, err := s.finish()
	return s, c, err
}

// issueReader reads one body, line by line.
type issueReader struct {
	builder
	fence    fence
	fences   int  // fences opened so far: the number of the one we are in
	comment  int  // the line where the open comment began; 0 outside
	heading  bool // the line before was a setext title, this one is its underline
	sections []int
	level    int   // of the section's heading
	inside   bool  // in the section
	from     []int // which fence each assertion stood in, 0 for none; parallel to assertions
	open     bool  // an indented line continues the last assertion
	runs     bool  // so does any line of its paragraph, which has not ended
	rewrote  bool  // a comment was taken out of this line, and not from before its text
}

func (s *issueReader) read(l line, next string) {
	if s.heading {
		s.heading = false
		return
	}
	if s.comment == 0 {
		wasOpen := s.fence.open()
		if s.fence.step(l.text) {
			if !wasOpen {
				s.fences++
			}
			s.open, s.runs = false, false
			return
		}
	}
	s.rewrote = false
	if !s.fence.open() {
		text, in := strip(l.text, s.comment > 0)
		switch {
		case !in:
			s.comment = 0
		case s.comment == 0 || text != "": // another one began
			s.comment = l.n
		}
		if text != l.text && strings.TrimSpace(text) == "" {
			return // all of it was comment
		}
		s.rewrote = !strings.HasSuffix(l.text, text)
		l.text = text
		if s.runs && underlined(l.text, next) {
			s.problem(l.n, "%s goes on with %s and is underlined as a heading: put a blank line before it", shown(l.text), s.last())
			return
		}
		if level, title := heading(l.text, next); level > 0 {
			s.heading = atxHeading().FindString(l.text) == ""
			if s.section(l, level, title) {
				return
			}
		}
	}
	switch {
	case l.blank():
		s.runs = false
	case s.inside:
		s.content(l)
	default:
		s.outside(l)
	}
}

// section handles a heading; true if it has no further meaning.
func (s *issueReader) section(l line, level int, title string) bool {
	s.open, s.runs = false, false
	if isSection(title) {
		s.sections = append(s.sections, l.n)
		s.inside, s.level = true, level
		return true
	}
	if s.inside && level <= s.level {
		s.inside = false
	}
	return false
}

func (s *issueReader) content(l line) {
	where := 0
	if s.fence.open() {
		where = s.fences
	}
	id, text, ok := decorated(l.text)
	if (ok || s.continues(l)) && s.rewrote {
		s.problem(l.n, "%s holds an HTML comment within an assertion: take it out, or put it in backticks where it is meant", shown(l.text))
	}
	switch {
	case ok:
		s.add(id, text, l.n)
		s.from = append(s.from, where)
		s.open, s.runs = true, !atxHeading().MatchString(l.text)
	case almost(l.text):
		s.problem(l.n, `%s holds an id and is not read as an assertion: write it as "VAL-1: text", or take the id out`, shown(l.text))
		s.open, s.runs = false, false
	case s.continues(l):
		s.extend(l.text)
		s.runs = true
	case s.runs && s.unsure(l):
		s.problem(l.n, "%s may go on with %s or not: indent it, or put a blank line before it", shown(l.text), s.last())
	case s.open:
		s.warn(l.n, "%s is not indented, so it is no part of %s and is ignored", shown(l.text), s.last())
		s.open, s.runs = false, false
	default:
		s.warn(l.n, "%s is no assertion and is ignored", shown(l.text))
	}
}

func (s *issueReader) last() string { return s.assertions[len(s.assertions)-1].ID }

// continues reports whether l goes on with the assertion before it.
func (s *issueReader) continues(l line) bool {
	if s.open && l.indented() {
		return true
	}
	return s.runs && !s.fence.open() && !endsParagraph().MatchString(l.text) && !startsWithTag().MatchString(l.text)
}

// unsure reports whether l, right below an assertion, may be part of it: in a fence, which has no paragraphs, or after
// a tag, some of which end one.
func (s *issueReader) unsure(l line) bool {
	if s.fence.open() {
		return !fenceLine().MatchString(l.text)
	}
	return startsWithTag().MatchString(l.text) && !onlyTags().MatchString(l.text)
}

// outside looks at a line beside the section. An assertion under a heading of its own that ended the section would
// shrink the contract, so that is a problem; elsewhere ids are only mentioned.
func (s *issueReader) outside(l line) {
	id, _, ok := decorated(l.text)
	if s.fence.open() {
		return
	}
	if (ok || startsAlmost(l.text)) && atxHeading().MatchString(l.text) {
		s.problem(l.n, "%s is a heading outside the section: give it a lower level than the section's heading", cmp.Or(id, shown(l.text)))
		return
	}
	if !ok {
		return
	}
	s.warn(l.n, "%s stands outside the section and is ignored", id)
}

func (s *issueReader) finish() (Contract, error) {
	if len(s.sections) == 0 {
		return Contract{}, ErrNoSection
	}
	for _, n := range s.sections[1:] {
		s.problem(n, `there are two sections "Validation contract", the first in line %d`, s.sections[0])
	}
	if s.comment > s.sections[0] {
		s.problem(s.comment, `a comment begins here and never ends: close it with "-->", or put "<!--" in backticks`)
	}
	for i, where := range s.from {
		if where != s.from[0] {
			s.problem(s.assertions[i].Line, "assertions stand inside a code fence and outside it, or in two: keep them in one place")
			break
		}
	}
	return s.builder.finish()
}
