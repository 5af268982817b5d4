package verdict

import (
	"bytes"
	"errors"
	"io"

	"github.com/trkr-dev/trkr-validate/contract"
)

// ParseReport reads an agent's final response: report lines, or typed acceptance reviews at its end. It reads r once,
// to its end, in bounded memory. It is lenient in reading (list markers, headings, emphasis, backticks, case, CRLF,
// colour, invalid UTF-8) and strict in judging: whatever cannot be taken at its word is a diagnostic. Assertions that
// were not reported on are Judge's to find, as another agent may have reported on them. The error is r's alone, and
// comes with what was read until then.
func ParseReport(r io.Reader, c contract.Contract) (Report, error) {
	p := &parser{known: index(c), left: maxReportLines + 2*len(c.Assertions) + 1, reviews: reviews{contract: c}}
	p.outside, p.fenced = newCollector(p.known), newCollector(p.known)
	lines := newLineReader(r)
	for {
		line, cut, ok := lines.next()
		if !ok {
			break
		}
		p.line(line, cut)
	}
	report := p.finish()
	if !errors.Is(lines.err, io.EOF) {
		return report, lines.err
	}
	return report, nil
}

type parser struct {
	known   map[string]int
	outside *collector // report lines outside fences
	fenced  *collector // those inside: they count only where there is none outside
	fence   fence
	comment comment
	reviews reviews
	left    int  // report lines that are still read
	quiet   bool // text after a verdict changes nothing any more
}

func (p *parser) line(line []byte, cut bool) {
	inReview := p.reviews.line(line, cut)
	hidden := p.comment.open
	if hidden && inReview {
		p.reviews.fail("it stands in an HTML comment")
	}
	g := scan(line)
	if !inReview && !p.fence.open() && (hidden || commentStart(line) >= 0) {
		p.comment.step(line)
		hidden = hidden && (p.comment.open || len(bytes.TrimFunc(line, isSpace)) > 0)
	}
	if g == ordinary && !cut && p.quiet || p.left == 0 {
		return // nearly every line of a long transcript
	}
	line = plain(line)
	if g == maybeFence && !hidden && p.fence.step(line) {
		return // decoration
	}
	var l reportLine
	if g != ordinary {
		l = readLine(line, cut)
	}
	if l.kind != prose {
		if hidden {
			l = reportLine{kind: unreadable, text: string(line)}
		}
		if p.left--; p.left == 0 {
			p.outside.exceeded("more than %d report lines", maxReportLines+2*len(p.known))
		}
	}
	blank := !cut && len(bytes.TrimFunc(line, isSpace)) == 0
	if cut && len(bytes.TrimLeftFunc(line, mayLead)) == 0 {
		l = reportLine{kind: unreadable, text: "a line whose first 192 KiB say nothing"}
	}
	into := p.outside
	if p.fence.open() {
		into = p.fenced
	}
	if !blank && !inReview && l.kind != verdictLine {
		p.outside.last, p.fenced.last = false, false
		p.quiet = true
	}
	if l.kind == verdictLine {
		other := p.outside
		if into == other {
			other = p.fenced
		}
		other.last, p.quiet = false, false
	}
	into.add(l, cut)
}

func (p *parser) finish() Report {
	p.reviews.finish()
	from := p.outside
	if !from.reported() && p.fenced.reported() {
		from = p.fenced
	}
	r := Report{Criteria: from.criteria, Findings: from.findings, Verdicts: from.verdicts, Typed: TypedAbsent}
	from.diagnose(&r)
	if from == p.fenced {
		p.outside.diagnose(&r) // what could not be read there may have been meant
	}
	if len(r.Verdicts) > 0 && !from.last {
		r.Diagnose(VerdictNotLast, "text follows the last VERDICT line")
	}
	switch {
	case p.reviews.invalid != "":
		r.Typed = TypedInvalid
		r.Diagnose(ReviewInvalid, p.reviews.invalid)
	case p.reviews.present():
		r.Typed = TypedReport
		r.Criteria = append(r.Criteria, p.reviews.results...)
		if len(r.Verdicts) == 0 {
			r.Conclude()
		}
	case len(r.Verdicts) == 0:
		r.Diagnose(VerdictMissing, "there is no VERDICT line")
	}
	for _, d := range check(p.known, r) {
		r.Diagnose(d.Code, d.Detail)
	}
	return r
}

// fence follows fenced blocks; the zero value is outside one.
type fence struct {
	mark  byte
	width int
}

func (f *fence) open() bool { return f.width > 0 }

// step reports whether line is itself a fence line, and opens or closes the block.
func (f *fence) step(line []byte) bool {
	line = bytes.TrimLeft(line, " \t")
	if len(line) == 0 || line[0] != '`' && line[0] != '~' {
		return false
	}
	mark := line[0]
	info := bytes.TrimLeft(line, string(mark))
	width := len(line) - len(info)
	switch {
	case width < 3:
	case f.width == 0 && (mark == '~' || bytes.IndexByte(info, '`') < 0):
		*f = fence{mark: mark, width: width}
		return true
	case f.width > 0 && mark == f.mark && width >= f.width && len(bytes.TrimSpace(info)) == 0:
		*f = fence{}
		return true
	}
	return false
}
