package probe

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// Verbs that say that something is printed.
const prints = "print|display|show|report|say|list|echo|mention"

// printing reads what a command is said to print.
func (p *parser) printing(f form, not bool) ([]Outcome, got) {
	from := p.i
	sure := p.verb(f, prints)
	if !sure && !p.verb(f, "output|emit") && (!p.verb(f, "write|produce|give") || !p.writes(from)) {
		p.i = from
		return nil, no
	}
	what := p.printed
	if not {
		what = p.notPrinted
	}
	said := p.at(p.i - 1).lower
	list, ok := what()
	if ok && !sure && slices.ContainsFunc(list, func(o Outcome) bool { return p.maybeFile(said, o) }) {
		p.refuse(from, `"prints", or "to stdout" or "to stderr" behind it: it could be a file as well`)
		return nil, bad
	}
	if ok && claims(said) && slices.ContainsFunc(list, ofForm) {
		p.refuse(from, `"prints": what is reported could be what is true of something else`)
		return nil, bad
	}
	p.listing = !not
	return list, gotten(ok)
}

// rest reads what is printed as well, without a second verb.
func (p *parser) rest() ([]Outcome, got) {
	save := p.i
	if !p.any("a version number|a semantic version|valid json|a line matching|a line that matches|a line containing|the line|no line matching") {
		return nil, no
	}
	p.i = save
	list, ok := p.printed()
	return list, gotten(ok)
}

// allOfIt refuses what would take something out of "nothing".
func (p *parser) allOfIt() bool {
	switch p.at(p.i).lower {
	case "but", "except", "other", "else", "apart", "besides":
		p.refuse(p.i, `what is printed: "prints exactly"`)
		return false
	}
	return true
}

// writes tells whether what stands after "writes" is printed: a text needs a stream, or it could be a file.
func (p *parser) writes(from int) bool {
	save := p.i
	defer func() { p.i = save }()
	produces := p.at(from).lower[0] == 'p' || p.at(from).lower[0] == 'g'
	switch t := p.at(p.i); {
	case p.any("an error message|an error to|an error on|nothing|no output|anything|any output|something|valid json|json|the same output|a usage|usage|some output"):
		return true
	case produces && p.words("exactly"):
		return true
	case p.isText(p.i) && !produces:
		for i := p.i; p.at(i).kind != end; i++ {
			if t := p.at(i); t.lower == "to" || t.lower == "on" {
				p.i = i
				return p.stream() != AnyStream
			} else if !p.isText(i) && t.kind != comma && t.lower != "and" {
				return false
			}
		}
	case t.lower == "exactly", t.lower == "only":
		return true
	}
	return false
}

// printed reads what is printed.
func (p *parser) printed() ([]Outcome, bool) {
	one := func(o Outcome) ([]Outcome, bool) { return []Outcome{o}, true }
	first := p.at(p.i).lower
	if list, g := p.message(); g != no {
		return list, g == yes
	}
	switch {
	case p.words("neither"):
		return p.absentTexts()
	case p.any("nothing|no output"):
		if !p.allOfIt() {
			return nil, false
		}
		return one(PrintsNothing{p.stream()})
	case p.anyIf("something|some output|output", func() bool { return !p.holding() }):
		return one(PrintsSomething{p.stream()})
	case p.any("the same output as before|the same output as the first time"):
		return one(PrintsSame{})
	case p.any("the same output as|the same text as|the same as"):
		c, ok := p.command()
		p.same = append(p.same, c)
		return []Outcome{PrintsSame{}}, ok
	case p.any("the same output"):
		p.any("again|both times|each time")
		return one(PrintsSame{})
	case p.any("no line matching|no line that matches|no lines matching"):
		o, ok := p.matching()
		return []Outcome{NoLineMatching(o)}, ok
	case p.any("a line matching|a line that matches"):
		o, ok := p.matching()
		return []Outcome{o}, ok
	case p.any("text matching|output matching|text that matches|output that matches"):
		t, ok := p.expression()
		return []Outcome{Output{Test: t, To: p.stream()}}, ok
	case p.anyIf("the line|a line", p.textHere):
		text, ok := p.oneLine()
		return []Outcome{PrintsLine{text, p.stream()}}, ok
	case p.anyIf("the lines", p.textHere):
		return p.lineList()
	case p.any("sorted lines|its lines sorted|lines in alphabetical order|lines in sorted order|lines in ascending order|its lines in ascending order"):
		return one(PrintsSorted{false, p.stream()})
	case p.any("lines in descending order|its lines in descending order"):
		return one(PrintsSorted{true, p.stream()})
	case p.any("a version number|a version"):
		return one(PrintsVersion{false, p.stream()})
	case p.any("a semantic version|a semver version|a semantic version number"):
		return one(PrintsVersion{true, p.stream()})
	}
	if j, g := p.json(); g != no {
		return []Outcome{PrintsJSON{j, p.stream()}}, g == yes
	}
	if n, g := p.lines(); g != no {
		o := PrintsLines{Count: n}
		ok := g == yes
		if ok && p.any(lineContaining) {
			o.Containing, ok = p.oneLine()
		}
		at := p.i
		o.To = p.stream()
		return []Outcome{o}, ok && p.onlyThere(first, at, o.To)
	}
	if p.any("exactly|only|just") {
		text, ok := p.text()
		at := p.i
		to := p.stream()
		return []Outcome{PrintsExactly{text, to}}, ok && p.onlyThere(first, at, to)
	}
	if p.words("a line") { // of several texts it would be one that holds all
		text, ok := "", p.oneOf(lineContaining)
		if ok {
			text, ok = p.oneLine()
		}
		if save := p.i; ok && p.another() {
			p.refuse(save, "one text of one line")
			return nil, false
		}
		return []Outcome{Prints{text, p.stream()}}, ok
	}
	whole := p.any("output|some output|something") // of which a text behind it could be all
	if (whole || p.any("text|a message|the message|the text")) && !p.any(containing) && (whole || !p.isText(p.i)) {
		p.miss(p.i, `"containing" and a text`)
		return nil, false
	}
	return p.texts()
}

// onlyThere refuses "only" in front of a text whose stream is named: the other one could be meant to be empty.
func (p *parser) onlyThere(first string, at int, to Stream) bool {
	if to == AnyStream || first != "only" && first != "just" {
		return true
	}
	p.refuse(at, `no stream, or "exactly" for "`+first+`": it is open whether the other stream has to be empty`)
	return false
}

// What a line says could be all of it.
const (
	lineContaining = "containing|that contains|which contains|including|that includes|mentioning|that mentions|naming|that names"
	containing     = lineContaining + "|saying|that says"
)

// holding looks for "containing" or "matching".
func (p *parser) holding() bool {
	save := p.i
	defer func() { p.i = save }()
	return p.any(containing + "|matching|that matches")
}

// notPrinted reads what is not.
func (p *parser) notPrinted() ([]Outcome, bool) {
	switch {
	case p.any("anything|any output"):
		if !p.allOfIt() {
			return nil, false
		}
		return []Outcome{PrintsNothing{p.stream()}}, true
	case p.any("an error message|any error message|an error|any error|any errors"):
		return p.noError()
	case p.any("a line matching|any line matching|a line that matches"):
		o, ok := p.matching()
		return []Outcome{NoLineMatching(o)}, ok
	}
	return p.absentTexts()
}

// noError reads the stream on which there is no error message: without it, or of an error, more than stderr is meant.
func (p *parser) noError() ([]Outcome, bool) {
	at := p.i
	if p.stream() == Stderr {
		return []Outcome{PrintsNothing{Stderr}}, true
	}
	p.refuse(at, `"on stderr": elsewhere nobody can tell what an error is`)
	return nil, false
}

// message reads a usage message or an error message, and what it holds.
func (p *parser) message() ([]Outcome, got) {
	save := p.i
	article := p.any("the|a|its|an")
	switch {
	case p.words("usage line"):
		return []Outcome{UsageMessage{To: p.stream()}}, yes
	case p.any("usage message|usage text|usage information|usage info|usage help|usage"):
		to := p.stream()
		list, g := p.held(nil, to)
		for i, o := range list {
			list[i] = UsageMessage{to, o.(Prints).Text}
		}
		if len(list) == 0 {
			list = []Outcome{UsageMessage{To: to}}
		}
		return list, g
	case article && p.any("error message|error"), p.any("errors"), p.any("error message|error") && !p.isText(p.i):
		at := p.i
		to := p.stream()
		if to == Stdout {
			p.refuse(at, "an error message on stderr: what stands on stdout is no error message")
			return nil, bad
		}
		list := []Outcome{ErrorMessage{}}
		if p.isText(p.i) {
			text, ok := p.text()
			return append(list, Prints{text, Stderr}), gotten(ok)
		}
		return p.held(list, Stderr)
	case article && p.at(p.i).kind == word:
		p.miss(p.i, `"usage message", "error message" or another thing that can be checked`)
	}
	p.i = save
	return nil, no
}

// held reads "containing" and texts.
func (p *parser) held(list []Outcome, to Stream) ([]Outcome, got) {
	if !p.any(containing) {
		return list, yes
	}
	for {
		text, ok := p.text()
		if !ok {
			return nil, bad
		}
		list = append(list, Prints{text, to})
		if !p.another() {
			break
		}
	}
	at := p.i
	if said := p.stream(); said != AnyStream && said != to {
		p.refuse(at, "the stream in front of what is in the message")
		return nil, bad
	}
	return list, yes
}

// thing reads what follows "with".
func (p *parser) thing() ([]Outcome, bool) {
	one := func(o Outcome, ok bool) ([]Outcome, bool) { return []Outcome{o}, ok }
	if list, g := p.message(); g != no {
		return list, g == yes
	}
	at := p.i
	switch {
	case p.any("no error message|no error|no errors"):
		return p.noError()
	case p.any("no output|nothing"):
		if to := p.stream(); to != AnyStream || p.at(p.i-1).lower == "output" {
			return one(PrintsNothing{to}, true)
		}
		p.miss(p.i, `"on stdout" or "on stderr"`)
		return nil, false
	case p.any("an empty stdout|empty stdout|an empty standard output"):
		return one(PrintsNothing{Stdout}, true)
	case p.any("an empty stderr|empty stderr|an empty standard error"):
		return one(PrintsNothing{Stderr}, true)
	case p.any("the output|output|stdout|stderr|a message|the message|text|something"):
		return p.thingPrinted()
	case p.isText(p.i):
		list, ok := p.texts()
		if ok && !allStreams(list) {
			p.i = at
			p.refuse(at, `"to stdout" or "to stderr" behind the text: it could be an argument or an input as well`)
			return nil, false
		}
		return list, ok
	}
	if p.any("an exit code|the exit code|exit code|an exit status|exit status|code|status|an exit code of") {
		p.words("of")
		return one(p.exitCode())
	}
	if p.any("a non-zero exit code|a nonzero exit code|a non-zero exit status|a non-zero code|a non-zero status|non-zero exit code") {
		return one(ExitsNonZero{}, true)
	}
	p.miss(p.i, `"a usage message", "an error message" or "exit code N"`)
	return nil, false
}

// thingPrinted reads what follows "with output", "with stderr", "with a message" and the like.
func (p *parser) thingPrinted() ([]Outcome, bool) {
	first := p.at(p.i - 1).lower
	to := Stream(first)
	if to != Stdout && to != Stderr {
		to = p.stream()
	}
	all := first == "output" && p.isText(p.i)
	switch {
	case p.any(containing), all, first == "message" && p.isText(p.i):
	case p.any("matching|that matches"):
		t, ok := p.expression()
		return []Outcome{Output{Test: t, To: cmp.Or(to, p.stream())}}, ok
	case to != AnyStream && to != Stream(first):
		return []Outcome{PrintsSomething{to}}, true
	default:
		p.miss(p.i, `"containing" and a text`)
		return nil, false
	}
	at := p.i
	texts, o, ok := p.group()
	if to == AnyStream {
		to = p.stream()
	}
	switch {
	case ok && all && len(texts) > 1:
		p.refuse(at, `"containing": it is open whether all the output is meant`)
		return nil, false
	case ok && all:
		return []Outcome{PrintsExactly{texts[0], to}}, true
	case o != nil:
		return []Outcome{onStream(o, to)}, ok
	}
	return printed(texts, to), ok
}

func printed(texts []string, to Stream) []Outcome {
	list := make([]Outcome, len(texts))
	for i, text := range texts {
		list[i] = Prints{text, to}
	}
	return list
}

func allStreams(list []Outcome) bool {
	for _, o := range list {
		if p, ok := o.(Prints); !ok || p.To == AnyStream {
			return false
		}
	}
	return true
}

// expression reads `/re/`.
func (p *parser) expression() (Test, bool) {
	t := p.at(p.i)
	pattern, fold := strings.CutSuffix(t.text, "/i")
	if !fold {
		pattern, _ = strings.CutSuffix(t.text, "/")
	}
	if t.kind != code || len(pattern) < 2 || pattern[0] != '/' || len(pattern) == len(t.text) {
		p.miss(p.i, "a regular expression in backticks, like `/^v[0-9]+/`")
		return Test{}, false
	}
	o := Test{Rel: Matches, Text: pattern[1:], Fold: fold}
	if _, err := o.compile(); err != nil {
		p.refuse(p.i, "a regular expression of Go: "+err.Error())
		return Test{}, false
	}
	p.i++
	return o, true
}

func (p *parser) matching() (PrintsLineMatching, bool) {
	t, ok := p.expression()
	return PrintsLineMatching{t.Text, t.Fold, p.stream()}, ok
}

func (t Test) compile() (*regexp.Regexp, error) {
	if t.Fold {
		return regexp.Compile("(?i)" + t.Text)
	}
	return regexp.Compile(t.Text)
}

func (p *parser) stream() Stream {
	for _, prep := range []string{"to", "on", "in"} {
		switch {
		case p.any(prep + " stdout|" + prep + " standard output|" + prep + " the standard output"):
			return Stdout
		case p.any(prep + " stderr|" + prep + " standard error|" + prep + " the standard error"):
			return Stderr
		}
	}
	if t := p.at(p.i).lower; (t == "to" || t == "on") && p.at(p.i+1).kind == word {
		p.miss(p.i+1, `"stdout" or "stderr"`)
	}
	return AnyStream
}
