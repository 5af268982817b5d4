package probe

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/pattern"
)

const wantedOutcome = `an outcome such as "exits 0", "fails", "prints ` + "`text`" + `" or "creates the file ` + "`path`" + `"`

// joint says how an outcome is joined to what stands before it.
type joint int

const (
	deed   joint = iota
	thing        // a thing follows and not a deed
	undone       // a deed follows that is not done
	said         // "it" stands in front: nothing but a verb follows
)

// outcomes reads outcome {(, | and | with) outcome}.
func (p *parser) outcomes(a *Assertion) bool {
	j := deed
	if before := p.at(max(0, p.i-1)); p.is(colon) || before.kind == comma || before.lower == "then" || p.words("then") {
		if p.pronoun() {
			j = said
		}
	}
	if j == deed && p.words("with") {
		j = thing
	}
	for more := true; more; {
		from := p.i
		var found []Outcome
		ok, timed := true, false
		if p.negated && j == thing {
			p.refuse(from-1, "a sentence of its own: behind what is not so, it would be open what this belongs to")
			return false
		}
		if len(a.Outcomes) > 0 && j == deed {
			found, timed, ok = p.inTime(a.Outcomes[len(a.Outcomes)-1].Outcome)
		}
		if ok && !timed {
			found, ok = p.outcome(j)
		}
		if ok && j == thing && len(a.Outcomes) > 0 {
			_, lines := a.Outcomes[len(a.Outcomes)-1].Outcome.(PrintsLines)
			if _, texts := found[0].(Prints); lines && texts {
				p.refuse(from-1, `"containing", or a sentence of its own: it is open which lines have it`)
				return false
			}
		}
		if !ok || !p.scoped(a, found) {
			return false
		}
		a.Outcomes = p.clauses(a.Outcomes, from, found)
		from = p.i
		if t := p.at(p.i); p.negated && (t.kind == open || t.lower == "within") {
			p.refuse(p.i, "a sentence of its own: behind what is not so, it would be open what this belongs to")
			return false
		}
		if found, timed, ok = p.inTime(found[len(found)-1]); timed && ok {
			a.Outcomes = p.clauses(a.Outcomes, from, found)
		}
		if !ok || !p.bracket(a) {
			return false
		}
		if p.twice > 0 {
			p.any("both times|each time")
		}
		if more, j, ok = p.connector(); !ok {
			return false
		}
	}
	return true
}

// clauses adds what was read since the token at from.
func (p *parser) clauses(list []Clause, from int, found []Outcome) []Clause {
	span := Span{p.at(from).pos, p.at(p.i - 1).end}
	for _, o := range found {
		list = append(list, Clause{o, span})
	}
	return list
}

// bracket reads (exit code N).
func (p *parser) bracket(a *Assertion) bool {
	from := p.i
	if !p.is(open) {
		return true
	}
	if !p.oneOf("exit code|with exit code|with exit status|with code|exit status|exit|code|status") {
		return false
	}
	o, ok := p.exitCode()
	if !ok {
		return false
	}
	if !p.is(closed) {
		p.miss(p.i, `")"`)
		return false
	}
	a.Outcomes = p.clauses(a.Outcomes, from, []Outcome{o})
	return true
}

func (p *parser) pronoun() bool { return p.any("it|the command|the program|the tool|this") }

// connector reads what joins two outcomes: a comma, "and", "but", "with", "without", a semicolon, a full stop before
// "It". "then" claims an order, which is true by itself only of the command's end.
func (p *parser) connector() (more bool, j joint, ok bool) {
	save := p.i
	if p.is(stop) {
		if p.pronoun() {
			return true, said, true
		}
		if p.subjectFollows() {
			return true, deed, true
		}
		p.i = save
		return false, deed, true
	}
	apart := p.is(comma) || p.is(semi)
	comes := p.any("and|but")
	circumstance := p.at(p.i).lower == "when" || p.at(p.i).lower == "if" || p.at(p.i).lower == "given"
	then := p.words("then")
	also := p.words("also")
	switch {
	case circumstance && apart && !comes:
		p.i = save
		return false, deed, true
	case then:
		at := p.i
		p.pronoun()
		if t := p.at(p.i); t.lower != "exits" && t.lower != "succeeds" && t.lower != "fails" {
			p.refuse(p.i, `after "then" the command's end, because no other order can be seen`)
			return false, deed, false
		}
		p.i = at
	}
	joined := apart || comes || then
	switch {
	case joined && p.pronoun():
		p.words("also")
		return true, said, true
	case !then && !also && p.words("without"):
		return true, undone, true
	case !then && !also && p.words("with"):
		return true, thing, true
	case joined || also:
		return true, deed, true
	}
	return false, deed, true
}

// outcome reads one outcome; a list of texts is several.
func (p *parser) outcome(j joint) ([]Outcome, bool) {
	after := p.listing
	p.listing, p.elliptic, p.negated = false, false, false
	if j == thing {
		return p.thing()
	}
	if j == deed && after {
		if list, g := p.rest(); g != no {
			p.listing, p.elliptic = true, true
			return list, g == yes
		}
	}
	if j == deed && p.at(p.i).lower == "errors" && p.at(p.i+1).lower != "out" {
		p.refuse(p.i, `"fails" or "prints an error message": it is open which of them`)
		return nil, false
	}
	if j == deed {
		for _, part := range []func() ([]Outcome, got){p.codeSubject, p.lineSubject, p.streamSubject, p.fileSubject, p.message, p.silence} {
			if list, g := part(); g != no {
				p.elliptic = after
				return list, g == yes
			}
		}
	}
	f, not := p.mood(j)
	if f == finite && p.modal && j == deed && !p.finiteVerb() {
		f = base // should exit 0 and print
	}
	p.negated, p.modal = not, f == base && !not
	for _, part := range []func(form, bool) ([]Outcome, got){p.serving, p.ending, p.printing, p.filing} {
		if list, g := part(f, not); g != no {
			return list, g == yes
		}
	}
	p.miss(p.i, wantedOutcome)
	return nil, false
}

// finiteVerb looks whether the word here is a verb that is not in its plain form.
func (p *parser) finiteVerb() bool {
	w := p.at(p.i).lower
	return strings.HasSuffix(w, "s") && w != "finish"
}

// scoped refuses a stream that is named behind the last of several things that are printed: it could hold for all.
func (p *parser) scoped(a *Assertion, found []Outcome) bool {
	if !p.elliptic || len(a.Outcomes) == 0 {
		return true
	}
	before, printed := streamOf(a.Outcomes[len(a.Outcomes)-1].Outcome)
	named := p.at(p.i-1).lower == "stdout" || p.at(p.i-1).lower == "stderr" || p.at(p.i-2).lower == "standard"
	if printed && before == AnyStream && named {
		p.refuse(p.i-1, "a stream behind each thing that is printed: this one could hold for all of them")
		return false
	}
	return true
}

// streamOf is the stream of an outcome that has one.
func streamOf(o Outcome) (to Stream, printed bool) {
	switch o := o.(type) {
	case Prints:
		return o.To, true
	case PrintsOneOf:
		return o.To, true
	case PrintsInOrder:
		return o.To, true
	case PrintsTimes:
		return o.To, true
	case PrintsExactly:
		return o.To, true
	case PrintsLine:
		return o.To, true
	case PrintsLineMatching:
		return o.To, true
	case PrintsLines:
		return o.To, true
	case PrintsNothing:
		return o.To, true
	case PrintsSomething:
		return o.To, true
	case DoesNotPrint:
		return o.To, true
	case NoLineMatching:
		return o.To, true
	case PrintsSorted:
		return o.To, true
	case Output:
		return o.To, true
	case UsageMessage:
		return o.To, true
	case PrintsVersion:
		return o.To, true
	case PrintsJSON:
		return o.To, true
	}
	return "", false
}

// form is the form of a verb.
type form int

const (
	finite form = iota // exits
	base               // exit
	gerund             // exiting
)

// mood reads what stands in front of a verb, and whether that turns its meaning around.
func (p *parser) mood(j joint) (f form, not bool) {
	switch {
	case j == undone:
		return gerund, true
	case p.any("does not|doesn't|should not|shouldn't|must not|mustn't|shall not|will not|won't"):
		return base, true
	case p.any("should|must|shall|will|has to|is expected to"):
		return base, false
	}
	return finite, false
}

// verb reads one of several verbs, separated by |, in this form. A second word of one stays as it is.
func (p *parser) verb(f form, verbs string) bool {
	for _, v := range strings.Split(verbs, "|") {
		first, rest, _ := strings.Cut(v, " ")
		if p.words(inflect(first, f) + " " + rest) {
			return true
		}
	}
	return false
}

func inflect(v string, f form) string {
	last := v[len(v)-1]
	vowel := len(v) > 1 && strings.IndexByte("aeiou", v[len(v)-2]) >= 0
	switch {
	case f == base:
		return v
	case f == finite && (strings.HasSuffix(v, "sh") || strings.HasSuffix(v, "ch") || last == 'o'):
		return v + "es"
	case f == finite && last == 'y' && !vowel:
		return v[:len(v)-1] + "ies"
	case f == finite:
		return v + "s"
	case last == 'e':
		return v[:len(v)-1] + "ing"
	}
	return v + "ing"
}

const (
	nonZero = "non-zero|nonzero"
	ofCode  = " exit code| exit status| return code| status code| code| status| value"
)

var amount = pattern.Regexp(`^([0-9]{1,6}(?:\.[0-9]{1,3})?)([a-z]*)$`)

var units = map[string]time.Duration{
	"ms": time.Millisecond, "millisecond": time.Millisecond, "milliseconds": time.Millisecond,
	"s": time.Second, "sec": time.Second, "second": time.Second, "seconds": time.Second,
	"minute": time.Minute, "minutes": time.Minute,
}

// inTime reads "within" and a time, if that is there. Of the command's end it is always true or false; another outcome
// may come about earlier.
func (p *parser) inTime(of Outcome) (list []Outcome, found, ok bool) {
	if !p.any("within|in less than|in under|in at most|in no more than|less than|at most|under") {
		return nil, false, true
	}
	t := p.at(p.i)
	m := amount().FindStringSubmatch(t.lower)
	if t.lower == "a" || t.lower == "one" {
		m = []string{"", "1", ""}
	}
	if m == nil {
		p.miss(p.i, "a time such as 2s or 500ms")
		return nil, true, false
	}
	unit := m[2]
	if unit == "" {
		p.i++
		unit = p.at(p.i).lower
	}
	value, err := strconv.ParseFloat(m[1], 64)
	d := time.Duration(math.Round(value*float64(units[unit])/1e6)) * time.Millisecond
	if err != nil || d <= 0 {
		p.miss(p.i, "a time such as 2s or 500ms")
		return nil, true, false
	}
	p.i++
	w, within := of.(Within)
	return []Outcome{Within{Limit: d, Ends: isEnd(of) || within && w.Ends}}, true, true
}
