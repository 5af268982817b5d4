package probe

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
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
	p.any("with exit code|with exit status|with code|exit code|exit status|exit|code|status")
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

func isEnd(o Outcome) bool {
	switch o.(type) {
	case Exits, ExitsNonZero, Succeeds, Fails, DoesNotCrash:
		return true
	}
	return false
}

// ending reads what a command's end is said to be.
func (p *parser) ending(f form, not bool) ([]Outcome, got) {
	one := func(o Outcome, ok bool) ([]Outcome, got) { return []Outcome{o}, gotten(ok) }
	from := p.i
	switch {
	case p.verb(f, "exit|terminate"):
		return one(p.exits(not))
	case p.verb(f, "return"):
		if p.returnsCode() {
			return one(p.exits(not))
		}
	case p.verb(f, "finish|end|complete"):
		if p.at(p.i).lower == "with" {
			return one(p.exits(not))
		}
	}
	p.i = from
	switch {
	case p.verb(f, "succeed"):
		return one([]Outcome{Succeeds{}, Fails{}}[btoi(not)], true)
	case p.verb(f, "fail|error out|error"):
		return one([]Outcome{Fails{}, Succeeds{}}[btoi(not)], true)
	case not && p.verb(f, "crash"):
		return one(DoesNotCrash{}, true)
	case !not && (f == finite && p.any("is rejected|is refused") || f == base && p.any("be rejected|be refused")):
		return one(Fails{}, true)
	case !not && p.verb(f, "finish|end|complete|return|take|terminate|run"):
		list, timed, ok := p.inTime(Succeeds{})
		if ok && !timed {
			p.miss(p.i, `"within" and a time`)
		}
		return list, gotten(ok && timed)
	}
	return nil, no
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// returnsCode looks whether what is returned is an exit code and nothing that is printed.
func (p *parser) returnsCode() bool {
	t := p.at(p.i)
	switch t.lower {
	case "exit", "code", "status", "with", "non-zero", "nonzero", "zero":
		return true
	case "an", "a", "the":
		next := p.at(p.i + 1).lower
		return next == "exit" || next == "non-zero" || next == "nonzero" || next == "error" && p.at(p.i+2).lower == "code"
	}
	return t.kind == word && digits.MatchString(t.text)
}

const (
	nonZero = "non-zero|nonzero"
	ofCode  = " exit code| exit status| return code| status code| code| status| value"
)

// exits reads what follows "exits".
func (p *parser) exits(not bool) (Outcome, bool) {
	at := p.i
	var o Outcome
	switch {
	case p.words("successfully"):
		o = Succeeds{}
	case p.any("with an error code|with an error status|an error code"):
		o = ExitsNonZero{}
	case p.words("with an error") && p.at(p.i).lower != "message":
		o = Fails{}
	default:
		p.i = at
		p.words("with")
		var ok bool
		if o, ok = p.codeWords(); !ok {
			return nil, false
		}
	}
	if !not {
		return o, true
	}
	switch o := o.(type) {
	case Succeeds:
		return Fails{}, true
	case Exits:
		if slices.Equal(o.Codes, []int{0}) {
			return ExitsNonZero{}, true
		}
	}
	p.refuse(at, "0 or the code that is meant: every other one would be right")
	return nil, false
}

// codeWords reads [a|an|the] [non-zero] [exit] code N.
func (p *parser) codeWords() (Outcome, bool) {
	p.any("an|a|the")
	nonzero, zero := p.any(nonZero), p.words("zero")
	p.any("exit code|exit status|return code|status code|code|status")
	switch {
	case nonzero:
		return ExitsNonZero{}, true
	case zero:
		return Exits{[]int{0}}, true
	}
	p.words("of")
	return p.exitCode()
}

// exitCode reads N [or M...], "non-zero" or "zero".
func (p *parser) exitCode() (Outcome, bool) {
	switch {
	case p.any(nonZero):
		return ExitsNonZero{}, true
	case p.words("zero"):
		return Exits{[]int{0}}, true
	}
	var codes []int
	for {
		n, ok := p.digits()
		if !ok || n > 255 {
			p.miss(p.i, "an exit code from 0 to 255")
			return nil, false
		}
		if slices.Contains(codes, n) {
			p.refuse(p.i, "each exit code once")
			return nil, false
		}
		p.i++
		codes = append(codes, n)
		save := p.i
		apart := p.is(comma)
		or := p.words("or")
		if _, ok := p.digits(); !ok && or {
			continue // which says what is missing
		} else if !ok || !or && !(apart && p.orFollows()) {
			p.i = save
			return Exits{codes}, true
		}
	}
}

// orFollows looks whether the number here is one of several, the last behind "or".
func (p *parser) orFollows() bool {
	for i := p.i; ; i += 2 {
		if !digits.MatchString(p.at(i).text) {
			return false
		}
		if i++; p.at(i).kind != comma {
			return p.at(i).lower == "or"
		}
		if p.at(i+1).lower == "or" {
			return true
		}
		i--
	}
}

var digits = regexp.MustCompile(`^(0|[1-9][0-9]{0,5})$`)

// digits looks at a number and leaves it there.
func (p *parser) digits() (int, bool) {
	t := p.at(p.i)
	if t.kind != word && t.kind != code || !digits.MatchString(t.text) {
		return 0, false
	}
	n, err := strconv.Atoi(t.text)
	return n, err == nil
}

// codeSubject reads "[the] exit code is N".
func (p *parser) codeSubject() ([]Outcome, got) {
	save := p.i
	p.any("the|its|an|a")
	if !p.any("exit code|exit status|return code") {
		p.i = save
		return nil, no
	}
	is, not := p.copula()
	if !is {
		p.is(colon)
		p.words("of")
	}
	at := p.i
	o, ok := p.exitCode()
	if ok && not {
		if e, isCode := o.(Exits); !isCode || !slices.Equal(e.Codes, []int{0}) {
			p.refuse(at, "0 or the code that is meant: every other one would be right")
			return nil, bad
		}
		o = ExitsNonZero{}
	}
	return []Outcome{o}, gotten(ok)
}

// copula reads "is" and its like.
func (p *parser) copula() (is, not bool) {
	switch {
	case p.any("is not|isn't|should not be|must not be|shall not be|will not be"):
		return true, true
	case p.any("is|should be|must be|shall be|will be"):
		return true, false
	}
	return false, false
}

var amount = regexp.MustCompile(`^([0-9]{1,6}(?:\.[0-9]{1,3})?)([a-z]*)$`)

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
	m := amount.FindStringSubmatch(t.lower)
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
