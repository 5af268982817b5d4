package probe

import (
	"fmt"
	"slices"
	"strings"
)

// NotUnderstood says why an assertion cannot be checked by a program. Its text is for people.
type NotUnderstood struct {
	Span   Span   // the first thing that could not be read; empty at the end of the text
	Words  string // the text from there on
	Wanted string // what would have been read there
}

func (e *NotUnderstood) Error() string {
	if e.Words == "" {
		return "not understood: the sentence ends where " + e.Wanted + " should follow"
	}
	return fmt.Sprintf("not understood from %s: expected %s", quote([]byte(e.Words), 120), e.Wanted)
}

// Parse reads an assertion. It is understood completely or not at all: the error is a *NotUnderstood.
func Parse(text string) (*Assertion, error) {
	p := &parser{tokens: lex(text)}
	a := p.assertion()
	if a != nil {
		return a, nil
	}
	t := p.tokens[p.far]
	e := &NotUnderstood{Span: Span{t.pos, t.end}, Words: strings.TrimSpace(text[t.pos:]), Wanted: strings.Join(p.wanted, " or ")}
	if t.kind == junk {
		e.Wanted = "a text that can be read: " + t.text
	}
	return nil, e
}

// parser reads tokens from left to right. A reader that does not find what it looks for notes how far it came and
// leaves the position alone: the farthest place is the first word that nothing could make sense of.
type parser struct {
	tokens []token
	i      int
	far    int
	wanted []string // there
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

func (p *parser) is(k kind) bool {
	if p.at(p.i).kind != k {
		return false
	}
	p.i++
	return true
}

// words reads a phrase, one word after the other.
func (p *parser) words(phrase string) bool {
	for k, w := range strings.Fields(phrase) {
		if t := p.at(p.i + k); t.kind != word || t.lower != w {
			if k > 0 {
				p.miss(p.i+k, fmt.Sprintf("%q", w))
			}
			return false
		}
	}
	p.i += len(strings.Fields(phrase))
	return true
}

// any reads one of several phrases. A phrase stands before those that it begins with.
func (p *parser) any(phrases ...string) bool {
	for _, s := range phrases {
		if p.words(s) {
			return true
		}
	}
	return false
}

func (p *parser) assertion() *Assertion {
	a := &Assertion{}
	var ok bool
	if p.words("after") {
		if a.Setup, a.Command, ok = p.setup(); !ok {
			return nil
		}
	} else if a.Command, ok = p.command(); !ok {
		return nil
	}
	if a.Input, ok = p.input(); !ok {
		return nil
	}
	if a.Outcomes, ok = p.outcomes(); !ok {
		return nil
	}
	p.is(stop)
	if t := p.at(p.i); t.kind != end {
		p.miss(p.i, `",", "and", "with" or the end`)
		return nil
	}
	return a
}

// command reads [running] `cmd`.
func (p *parser) command() (Command, bool) {
	p.words("running")
	t := p.at(p.i)
	text := strings.TrimSpace(t.text)
	if t.kind != code || text == "" {
		p.miss(p.i, "a command in backticks")
		return Command{}, false
	}
	if _, err := read(text); err != nil {
		p.refuse(p.i, "a command that a POSIX shell can read: "+err.Error())
		return Command{}, false
	}
	p.i++
	return Command{Text: text, Span: Span{t.pos, t.end}}, true
}

// setup reads the commands after "after", and the one they prepare: the last, set apart by nothing but a comma.
func (p *parser) setup() (before []Command, main Command, ok bool) {
	apart := false
	for {
		c, ok := p.command()
		if !ok {
			return nil, Command{}, false
		}
		save := p.i
		isComma := p.is(comma)
		and := p.words("and")
		then := p.words("then")
		if (isComma || and) && p.commandFollows() {
			before, apart = append(before, c), isComma && !and && !then
			continue
		}
		if isComma || and {
			p.miss(p.i, "a command in backticks")
		}
		p.i = save
		if !apart {
			p.miss(p.i, `"," and the command to look at`)
			return nil, Command{}, false
		}
		return before, c, true
	}
}

func (p *parser) commandFollows() bool {
	i := p.i
	if p.at(i).lower == "running" {
		i++
	}
	return p.at(i).kind == code
}

// input reads what is said about standard input, if anything is. Commas around it are decoration.
func (p *parser) input() (Input, bool) {
	save := p.i
	apart := p.is(comma)
	in, found, ok := p.inputPhrase()
	switch {
	case !ok:
		return Input{}, false
	case !found:
		p.i = save
		return Input{}, true
	}
	if apart {
		if !p.is(comma) {
			p.miss(p.i, `","`)
			return Input{}, false
		}
		return in, true
	}
	p.is(comma)
	return in, true
}

func (p *parser) inputPhrase() (in Input, found, ok bool) {
	switch {
	case p.any("with empty input", "with empty stdin", "with an empty input", "with an empty stdin"):
		return Input{Given: true}, true, true
	case p.any("with no input", "with no stdin"):
		return Input{}, true, true
	case p.words("with input"):
		text, ok := p.text()
		p.any("on stdin", "on standard input")
		return Input{Given: true, Text: text}, true, ok
	case p.words("given"):
		text, ok := p.text()
		if ok && !p.any("on stdin", "on standard input") {
			p.miss(p.i, `"on stdin"`)
			ok = false
		}
		return Input{Given: true, Text: text}, true, ok
	default:
		return Input{}, false, true
	}
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
