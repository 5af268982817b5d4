package probe

import (
	"slices"
	"strings"
)

// Words in front of a command that change nothing.
const running = "running|executing|invoking|calling|the command|a call of|a run of"

// head reads all that stands before the outcomes: what is given, what runs first, the command and its circumstances.
func (p *parser) head(a *Assertion) bool {
	for {
		from := p.i
		switch {
		case p.any("after|once"), p.words("given") && p.hasRun():
			if len(a.Setup) > 0 || len(a.When) > 0 || len(a.Env) > 0 || a.Dir != "" || a.Input.Given {
				p.refuse(from, `"after" in front of the circumstances of the command`)
				return false
			}
			done, ok := p.setup(a)
			if !ok {
				return false
			}
			if done {
				return p.circumstances(a)
			}
			continue
		}
		switch p.whenRun(a) {
		case yes:
			return true
		case bad:
			return false
		}
		switch p.circumstance(a) {
		case bad:
			return false
		case yes:
			if !p.is(comma) {
				p.miss(p.i, `"," and the command to look at`)
				return false
			}
			continue
		}
		return p.ofCommand(a)
	}
}

// ofCommand reads `cmd`, or "the output of `cmd`" and its like: then what is looked at is read again behind it.
func (p *parser) ofCommand(a *Assertion) bool {
	from := p.i
	var what []token
	if p.any("the exit code|the exit status|the output|the standard output|stdout|the stdout|stderr|the stderr|the first line|the last line|the first line of the output|the last line of the output|every line") {
		if what = p.tokens[from:p.i]; !p.words("of") {
			p.i, what = from, nil
		}
	}
	c, ok := p.command()
	if !ok {
		return false
	}
	a.Command = c
	if !p.circumstances(a) {
		return false
	}
	if what != nil {
		p.tokens = slices.Concat(p.tokens[:p.i], what, p.tokens[p.i:])
	}
	return true
}

// hasRun looks for "`cmd` has been run".
func (p *parser) hasRun() bool {
	if k := p.at(p.i + 1).lower; p.at(p.i).kind == code && (k == "has" || k == "was") {
		return true
	}
	p.i--
	return false
}

// command reads [running] `cmd`.
func (p *parser) command() (Command, bool) {
	p.any(running)
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

// setup reads the commands after "after", and the one that they prepare: the last, set apart by nothing but a comma.
// done: that was among them; else something else follows the comma.
func (p *parser) setup(a *Assertion) (done, ok bool) {
	apart := false
	for {
		c, ok := p.command()
		if !ok {
			return false, false
		}
		save := p.i
		suffixed := p.any("has been run|has run|was run|is run|has succeeded|succeeds|succeeded|ran")
		if suffixed && !p.nextCommand() {
			p.i, suffixed = save, false
		}
		save = p.i
		isComma := p.is(comma)
		and := p.words("and")
		then := p.words("then")
		if (isComma || and) && p.commandFollows() {
			a.Setup, apart = append(a.Setup, c), isComma && !and && !then
			continue
		}
		switch {
		case isComma && !and && !then && !apart:
			a.Setup = append(a.Setup, c)
			return false, true
		case isComma || and:
			p.miss(p.i, "a command in backticks")
		}
		p.i = save
		if !apart || suffixed {
			p.miss(p.i, `"," and the command to look at`)
			return false, false
		}
		a.Command = c
		return true, true
	}
}

// nextCommand looks for a command behind a comma or "and".
func (p *parser) nextCommand() bool {
	save := p.i
	defer func() { p.i = save }()
	apart := p.is(comma)
	return (p.words("and") || apart) && p.commandFollows()
}

func (p *parser) commandFollows() bool {
	save := p.i
	defer func() { p.i = save }()
	p.any(running)
	return p.at(p.i).kind == code && !p.exists(p.i+1)
}

// whenRun reads "when `cmd` is run," and its like.
func (p *parser) whenRun(a *Assertion) got {
	save := p.i
	if !p.any("when|if") {
		return no
	}
	t := p.at(p.i)
	who := p.any("running|executing|invoking|calling|i run|you run|we run|a user runs|the user runs|someone runs")
	if !who && (t.kind != code || !p.runs(p.i+1)) {
		p.i = save
		return no
	}
	c, ok := p.command()
	if !ok {
		return bad
	}
	a.Command = c
	if !who {
		p.i += 2
	}
	if !p.circumstances(a) {
		return bad
	}
	if p.at(p.i-1).kind != comma && !p.is(comma) {
		return p.missed(p.i, `","`)
	}
	p.words("then")
	return yes
}

// runs looks for "is run" and its like.
func (p *parser) runs(i int) bool {
	switch p.at(i + 1).lower {
	case "run", "executed", "invoked", "called":
		return p.at(i).lower == "is"
	}
	return false
}

// circumstances reads what is said of the command between it and its outcomes. Commas around them are decoration.
func (p *parser) circumstances(a *Assertion) bool {
	for {
		save := p.i
		apart := p.is(comma)
		switch p.circumstance(a) {
		case bad:
			return false
		case no:
			p.i = save
			return true
		}
		if !p.is(comma) && apart {
			p.miss(p.i, `","`)
			return false
		}
	}
}

// circumstance reads one.
func (p *parser) circumstance(a *Assertion) got {
	for _, part := range []func(*Assertion) got{p.input, p.given, p.environment, p.when, p.place, p.again, p.bare} {
		if g := part(a); g != no {
			return g
		}
	}
	return no
}

// tail reads a circumstance behind the outcomes. Where there are several, it could belong to one of them only.
func (p *parser) tail(a *Assertion) bool {
	from := p.i
	p.is(comma)
	g := no
	if t := p.at(p.i).lower; t == "if" || t == "when" || t == "given" || t == "for" {
		g = p.circumstance(a)
	}
	switch {
	case g == no:
		p.i = from
		return true
	case g == bad:
		return false
	case a.Outcomes[0].Span != a.Outcomes[len(a.Outcomes)-1].Span:
		p.refuse(from, "the circumstance in front of the command: it could belong to the last outcome only")
		return false
	}
	return true
}

// input reads what is said about standard input.
func (p *parser) input(a *Assertion) got {
	save := p.i
	set := func(text string, ok bool) got {
		if ok && (a.Input.Given || p.twice > 0) {
			p.refuse(save, "one input of one command")
			return bad
		}
		a.Input = Input{Given: true, Text: text}
		return gotten(ok)
	}
	switch {
	case p.any("with empty input|with empty stdin|with an empty input|with an empty stdin|with nothing on stdin|when stdin is empty|when standard input is empty|when the input is empty|if stdin is empty|if standard input is empty|if the input is empty"):
		return set("", true)
	case p.any("with no input|with no stdin|without input|without any input"):
		return yes
	case p.any("with input|with the input|with stdin|for input|for the input"):
		text, ok := p.text()
		p.any("on stdin|on standard input")
		return set(text, ok)
	case p.any("when given|when fed|given|fed|reading|with|when reading") && p.isText(p.i):
		text, ok := p.text()
		switch {
		case p.any("on stdin|on standard input|from stdin|from standard input|as input|as its input"):
			return set(text, ok)
		case p.at(save).lower == "with", p.exists(p.i):
			p.i = save
			return no
		}
		return p.missed(p.i, `"on stdin"`)
	}
	p.i = save
	return no
}

// again reads that the command is run once more.
func (p *parser) again(a *Assertion) got {
	save := p.i
	when := p.any("when|if")
	ran := p.any("it is run|is run|run|called|invoked|executed")
	switch at := p.i; {
	case when && !ran:
	case p.any("twice in a row|two times in a row|twice"):
		if len(a.Setup) > 0 || a.Command.Text == "" || a.Input.Given || a.Dir != "" || len(a.Env) > 0 {
			p.refuse(at, "which of the two runs is meant: after `command`, `command` ...")
			return bad
		}
		a.Setup, p.twice = []Command{a.Command}, max(at, 1)
		return yes
	case p.any("a second time|for a second time|for the second time|again"):
		if a.Command.Text == "" || a.Input.Given || a.Dir != "" || len(a.Env) > 0 || p.rerun || p.twice > 0 {
			p.refuse(at, "what was run before: after `command`, `command` ...")
			return bad
		}
		p.rerun = true
		if n := len(a.Setup); n == 0 && p.at(at).lower != "again" {
			a.Setup = []Command{a.Command}
		} else if n == 0 || a.Setup[n-1].Text != a.Command.Text {
			p.refuse(at, "what was run before: after `command`, `command` ...")
			return bad
		}
		return yes
	}
	p.i = save
	return no
}

// bare reads that there are no arguments, which has to be so.
func (p *parser) bare(a *Assertion) got {
	save := p.i
	p.any("when run|when called|when invoked|if run|if called")
	at := p.i
	if !p.any("with no arguments|without any arguments|without arguments|with no args|without args") {
		p.i = save
		return no
	}
	if a.Command.Text == "" || strings.ContainsAny(a.Command.Text, " \t\n|&;<>()$") {
		p.refuse(at, "a command that has none")
		return bad
	}
	return yes
}
