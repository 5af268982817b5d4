package probe

import (
	"slices"
	"strconv"

	"github.com/trkr-dev/trkr-validate/internal/pattern"
)

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
		if p.namesCode(p.i) || p.at(p.i).lower == "with" && p.namesCode(p.i+1) {
			return one(p.exits(not))
		}
		if _, ok := p.digits(); ok || p.at(p.i).lower == "zero" {
			p.refuse(p.i, `"exit code" in front of it: a number alone may be printed`)
			return nil, bad
		}
	case p.verb(f, "finish|end|complete"):
		if p.at(p.i).lower == "with" && p.namesCode(p.i+1) {
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

// namesCode looks whether what a command returns or ends with is said to be an exit code: a number alone may be printed.
func (p *parser) namesCode(i int) bool {
	switch p.at(i).lower {
	case "exit", "code", "status", "non-zero", "nonzero":
		return true
	case "an", "a", "the":
		next := p.at(i + 1).lower
		return next == "exit" || next == "non-zero" || next == "nonzero" || next == "error" && p.at(i+2).lower == "code"
	}
	return false
}

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
		if !digits().MatchString(p.at(i).text) {
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

var digits = pattern.Regexp(`^(0|[1-9][0-9]{0,5})$`)

// digits looks at a number and leaves it there.
func (p *parser) digits() (int, bool) {
	t := p.at(p.i)
	if t.kind != word && t.kind != code || !digits().MatchString(t.text) {
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
