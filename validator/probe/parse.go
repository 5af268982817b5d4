package probe

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/width"
)

// NotUnderstood says why an assertion cannot be checked by a program. Its text is for people.
type NotUnderstood struct {
	Text    string // the assertion
	Span    Span   // the first thing that could not be read; empty at the end of the text
	Words   string // the text from there on
	Wanted  string // what would have been read there
	Nearest string // an assertion that is read and is like this one; what it says is another thing
}

func (e *NotUnderstood) Error() string {
	text := "not understood: the sentence ends where " + e.Wanted + " should follow"
	if e.Words != "" {
		text = fmt.Sprintf("not understood from %s: expected %s", quote([]byte(e.Words), 120), e.Wanted)
	}
	return text + "; the nearest that is read: " + safe(e.Nearest, 200)
}

// Caret shows the assertion with a caret under the first word that was not understood, what was expected there and the
// nearest form, on lines of their own.
func (e *NotUnderstood) Caret() string {
	line, column := pointed(e.Text, e.Span.Pos)
	return fmt.Sprintf("%s\n%s^ expected %s\nnearest: %s\n", line, strings.Repeat(" ", column), e.Wanted, safe(e.Nearest, 1000))
}

// pointed shows a text as one safe line, and the column in it of a place in the text.
func pointed(text string, pos int) (line string, column int) {
	before, after := safe(text[:pos], len(text)), safe(text[pos:], len(text))
	for _, r := range before {
		column++
		if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
			column++
		} else if unicode.In(r, unicode.Mn, unicode.Me) {
			column--
		}
	}
	return before + after, column
}

// mostWanted bounds how many things are named that could stand at one place.
const mostWanted = 4

// Parse reads an assertion. It is understood completely or not at all: the error is a *NotUnderstood.
func Parse(text string) (*Assertion, error) {
	a, e := parse(text)
	if a != nil {
		return a, nil
	}
	e.Nearest = nearest(text, e.Span.Pos)
	return nil, e
}

func parse(text string) (*Assertion, *NotUnderstood) {
	p := &parser{tokens: lex(text)}
	a := p.assertion()
	if a != nil {
		return a, nil
	}
	t := p.tokens[p.far]
	wanted := p.wanted[:min(len(p.wanted), mostWanted)]
	e := &NotUnderstood{Text: text, Span: Span{t.pos, t.end}, Words: strings.TrimSpace(text[t.pos:]), Wanted: strings.Join(wanted, " or ")}
	if t.kind == junk {
		e.Wanted = "a text that can be read: " + t.text
	}
	return nil, e
}

// parser reads tokens from left to right. A reader that does not find what it looks for notes how far it came and
// leaves the position alone: the farthest place is the first word that nothing could make sense of.
type parser struct {
	tokens   []token
	i        int
	far      int
	wanted   []string  // there
	twice    int       // the token that said so, from 1; 0: none
	negated  bool      // the outcome before is one that is not so
	modal    bool      // it stands behind "should": so may the next
	elliptic bool      // the outcome has no verb of its own
	rerun    bool      // "again" was read
	listing  bool      // the outcome before tells what is printed
	same     []Command // whose output is compared
}

// got is what became of a part of a sentence that may be left out.
type got int

const (
	no  got = iota // it does not begin here; the position is as it was
	yes            // it was read
	bad            // it begins here and cannot be read; why was noted
)

func gotten(ok bool) got {
	if ok {
		return yes
	}
	return bad
}

func (p *parser) at(i int) token { return p.tokens[min(i, len(p.tokens)-1)] }

func (p *parser) miss(i int, wanted string) {
	i = min(i, len(p.tokens)-1)
	if i > p.far {
		p.far, p.wanted = i, nil
	}
	if i == p.far && !slices.Contains(p.wanted, wanted) {
		p.wanted = append(p.wanted, wanted)
	}
}

// refuse notes that the token at i can be read and is not taken, whatever else was tried.
func (p *parser) refuse(i int, wanted string) {
	p.far, p.wanted = min(i, len(p.tokens)-1), []string{wanted}
}

// missed is miss for a part that began.
func (p *parser) missed(i int, wanted string) got {
	p.miss(i, wanted)
	return bad
}

func (p *parser) is(k kind) bool {
	if p.at(p.i).kind != k {
		return false
	}
	p.i++
	return true
}

// phrases holds what any was asked for, taken apart: a sentence is asked for the same ones again and again.
var phrases sync.Map

func apart(list string) [][]string {
	if known, ok := phrases.Load(list); ok {
		return known.([][]string)
	}
	var all [][]string
	for _, s := range strings.Split(list, "|") {
		all = append(all, strings.Fields(s))
	}
	phrases.Store(list, all)
	return all
}

// words reads a phrase, one word after the other.
func (p *parser) words(phrase string) bool { return p.phrase(apart(phrase)[0]) }

func (p *parser) phrase(list []string) bool {
	telling := false // small words begin too many phrases to tell what was meant
	for k, w := range list {
		if t := p.at(p.i + k); t.kind != word || t.lower != w {
			if telling {
				p.miss(p.i+k, `"`+w+`"`)
			}
			return false
		}
		telling = telling || !slices.Contains(small, w)
	}
	p.i += len(list)
	return true
}

// any reads one of several phrases, separated by |. A phrase stands before those that it begins with.
func (p *parser) any(phrases string) bool {
	return slices.ContainsFunc(apart(phrases), p.phrase)
}

// anyIf reads one of several phrases if what stands behind it is right.
func (p *parser) anyIf(phrases string, right func() bool) bool {
	save := p.i
	if p.any(phrases) && right() {
		return true
	}
	p.i = save
	return false
}

func (p *parser) textHere() bool   { return p.isText(p.i) }
func (p *parser) noTextHere() bool { return !p.isText(p.i) }

func (p *parser) assertion() *Assertion {
	a := &Assertion{}
	if !p.head(a) || !p.outcomes(a) || !p.tail(a) || !p.settle(a) {
		return nil
	}
	p.is(stop)
	if t := p.at(p.i); t.kind != end {
		p.miss(p.i, `",", "and", "with" or the end`)
		return nil
	}
	return a
}

// settle looks at what the parts of a sentence are to each other.
func (p *parser) settle(a *Assertion) bool {
	slices.Sort(a.Env)
	for _, c := range p.same {
		if len(p.same) > 1 || len(a.Env) > 0 || a.Dir != "" || a.Input.Given || p.twice > 0 {
			p.refuse(p.tokenAt(c.Span.Pos), "another command without circumstances: after `command`, ...")
			return false
		}
		a.Setup = append(a.Setup, c)
	}
	if p.twice > 0 {
		for _, c := range a.Outcomes {
			switch o := c.Outcome.(type) {
			case Succeeds, PrintsSame, Unchanged:
				continue
			case Exits:
				if slices.Equal(o.Codes, []int{0}) {
					continue
				}
			}
			p.refuse(p.twice, "which of the two runs is meant: after `command`, `command` ...")
			return false
		}
	}
	served := len(requests(a)) > 0
	for _, c := range a.Outcomes {
		if served && !early(c.Outcome) {
			p.refuse(p.tokenAt(c.Span.Pos), "another assertion for this: a server is stopped when it has answered, so nothing is known of its end")
			return false
		}
		if _, same := c.Outcome.(PrintsSame); same && len(a.Setup) == 0 {
			p.refuse(p.tokenAt(c.Span.Pos), "the output of another command: after `command`, ...")
			return false
		}
	}
	return true
}

func (p *parser) tokenAt(pos int) int {
	return max(0, slices.IndexFunc(p.tokens, func(t token) bool { return t.pos >= pos }))
}

// text reads `text` or "text".
func (p *parser) text() (string, bool) {
	t := p.at(p.i)
	switch {
	case t.kind != code && t.kind != quoted:
		p.miss(p.i, "a text in backticks or double quotes")
	case t.text == "":
		p.refuse(p.i, "a text that is not empty")
	case t.kind == code && strings.Contains(t.text, `\`):
		p.refuse(p.i, `a text in double quotes, where \n is a line end and \\ a backslash (in backticks a reader could take it for either)`)
	default:
		p.i++
		return t.text, true
	}
	return "", false
}

func (p *parser) isText(i int) bool {
	k := p.at(i).kind
	return k == code || k == quoted
}
