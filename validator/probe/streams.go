package probe

import "strconv"

// silence reads "nothing to stderr" and "something to stderr" without a verb.
func (p *parser) silence() ([]Outcome, got) {
	save := p.i
	if p.any("nothing|no output") {
		if to := p.stream(); to != AnyStream {
			return []Outcome{PrintsNothing{to}}, yes
		}
	}
	p.i = save
	if p.any("something|some output") {
		if to := p.stream(); to != AnyStream {
			return []Outcome{PrintsSomething{to}}, yes
		}
	}
	p.i = save
	return nil, no
}

// subjectFollows looks whether a sentence about the code, a line, a stream or a file begins here.
func (p *parser) subjectFollows() bool {
	save := p.i
	defer func() { p.i = save }()
	if _, found := p.streamName(); found {
		return true
	}
	p.any("the|its|no|a")
	switch p.at(p.i).lower {
	case "exit", "first", "last", "file", "directory", "error":
		return true
	}
	return false
}

func (p *parser) streamName() (Stream, bool) {
	switch {
	case p.any("the standard output|its standard output|standard output|the stdout|its stdout|stdout"):
		return Stdout, true
	case p.any("the standard error|its standard error|standard error|the stderr|its stderr|stderr|the error output|its error output|the error message"):
		return Stderr, true
	case p.any("the output|its output|output"):
		return AnyStream, true
	}
	return "", false
}

// streamSubject reads "stdout is empty", "the output contains `text`" and the like.
func (p *parser) streamSubject() ([]Outcome, got) {
	save := p.i
	to, found := p.streamName()
	if !found {
		return nil, no
	}
	one := func(o Outcome, ok bool) ([]Outcome, got) { return []Outcome{o}, gotten(ok) }
	if is, not := p.copula(); is {
		switch {
		case p.words("empty"):
			return one([]Outcome{PrintsNothing{to}, PrintsSomething{to}}[btoi(not)], true)
		case !not && p.words("sorted"):
			return one(PrintsSorted{To: to}, true)
		}
		if j, g := p.json(); g != no && !not {
			return one(PrintsJSON{j, to}, g == yes)
		}
		if n, g := p.lines(); g == yes && !not {
			p.words("long")
			return one(PrintsLines{Count: n, To: to}, true)
		}
		p.any("exactly|equal to")
		text, ok := p.text()
		if !not || !ok {
			return one(PrintsExactly{text, to}, ok)
		}
		return one(Output{Test{Rel: Is, Text: text}, true, to}, true)
	}
	message := p.at(p.i-1).lower == "message"
	f, not := p.mood(deed)
	switch {
	case not && message:
		p.refuse(save, `"stderr": it is open whether there has to be a message`)
		return nil, bad
	case p.verb(f, "contain|include|mention|have|show") || f == finite && p.words("has"):
		return p.streamHolds(to, not)
	case !not && p.verb(f, "stay|remain"):
		return one(PrintsNothing{to}, p.word("empty"))
	}
	t, ok, found := p.test(f)
	if !found {
		p.miss(p.i, `"is empty", "is", "contains", "starts with", "ends with" or "matches"`)
		if p.at(save).lower == "output" {
			p.i = save
			return nil, no
		}
		return nil, bad
	}
	if t.Rel == Is && !not {
		return one(PrintsExactly{t.Text, to}, ok)
	}
	return one(Output{t, not, to}, ok)
}

// streamHolds reads what follows "stdout contains".
func (p *parser) streamHolds(to Stream, not bool) ([]Outcome, got) {
	one := func(o Outcome, ok bool) ([]Outcome, got) { return []Outcome{o}, gotten(ok) }
	switch {
	case p.any("a line matching|a line that matches"):
		t, ok := p.expression()
		if not {
			return one(NoLineMatching{t.Text, t.Fold, to}, ok)
		}
		return one(PrintsLineMatching{t.Text, t.Fold, to}, ok)
	case not:
		list, ok := p.absentTexts()
		for i, o := range list {
			list[i] = DoesNotPrint{o.(DoesNotPrint).Text, to}
		}
		return list, gotten(ok && p.streamless())
	case p.any("no line matching|no line that matches"):
		t, ok := p.expression()
		return one(NoLineMatching{t.Text, t.Fold, to}, ok)
	case p.any("the line|a line"):
		text, ok := p.oneLine()
		return one(PrintsLine{text, to}, ok)
	}
	if n, g := p.lines(); g != no {
		return one(PrintsLines{Count: n, To: to}, g == yes)
	}
	texts, o, ok := p.group()
	if o != nil {
		return one(onStream(o, to), ok)
	}
	if n, g := p.times(); len(texts) == 1 && g != no {
		return one(PrintsTimes{texts[0], n, to}, g == yes)
	}
	return printed(texts, to), gotten(ok)
}

// streamless refuses a second stream behind texts whose stream stands in front.
func (p *parser) streamless() bool {
	if t := p.at(p.i - 1).lower; t == "stdout" || t == "stderr" || t == "output" || t == "error" {
		p.refuse(p.i-1, "one stream")
		return false
	}
	return true
}

// test reads a comparison: equals, contains, starts with, ends with, matches.
func (p *parser) test(f form) (t Test, ok, found bool) {
	switch {
	case p.verb(f, "equal"):
		t.Rel = Is
	case p.verb(f, "contain|include|mention|hold"):
		t.Rel = Contains
	case p.verb(f, "start with|begin with"):
		t.Rel = Begins
	case p.verb(f, "end with"):
		t.Rel = Ends
	case f == finite && p.words("matches") || f == base && p.words("match"):
		t, ok = p.expression()
		return t, ok, true
	default:
		return t, false, false
	}
	t.Text, ok = p.text()
	return t, ok, true
}

// lineSubject reads "the first line is `text`" and the like.
func (p *parser) lineSubject() ([]Outcome, got) {
	save := p.i
	o := Line{}
	switch {
	case p.any("the first line|its first line"):
		o.Which = "first"
	case p.any("the last line|its last line|the final line"):
		o.Which = "last"
	case p.any("every line|each line"):
		o.Which = "every"
	case p.words("line"):
		n, ok := p.digits()
		if !ok || n == 0 {
			p.i = save
			return nil, no
		}
		p.i++
		o.Which = strconv.Itoa(n)
	default:
		return nil, no
	}
	if p.any("of|on") {
		to, found := p.streamName()
		if !found {
			return nil, p.missed(p.i, "stdout or stderr")
		}
		o.To = to
	}
	p.any("it prints|printed")
	var ok, found bool
	if is, not := p.copula(); is && !not {
		p.words("exactly")
		if j, g := p.json(); g != no && o.Which == "every" && j == (JSON{}) {
			return []Outcome{PrintsJSON{JSON{Lines: true}, o.To}}, g
		}
		o.Test.Rel = Is
		o.Test.Text, ok = p.oneLine()
		return []Outcome{o}, gotten(ok)
	} else if is {
		return nil, p.missed(p.i-1, "what the line is")
	}
	f, not := p.mood(deed)
	if o.Test, ok, found = p.test(f); !found || not {
		return nil, p.missed(p.i, `"is", "contains", "starts with", "ends with" or "matches"`)
	}
	return []Outcome{o}, gotten(ok)
}

var numbers = map[string]int{
	"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
}

// count reads [exactly|at least|at most|...] N.
func (p *parser) count() (c Count, g got) {
	save := p.i
	off := 0
	switch {
	case p.any("exactly|only|just"):
	case p.any("at least|no fewer than|no less than"):
		c.Cmp = "at least"
	case p.any("more than"):
		c.Cmp, off = "at least", 1
	case p.any("at most|no more than|up to"):
		c.Cmp = "at most"
	case p.any("fewer than|less than"):
		c.Cmp, off = "at most", -1
	}
	n, ok := p.digits()
	if t := p.at(p.i); !ok {
		n, ok = numbers[t.lower], numbers[t.lower] > 0
		if t.lower == "a" && (p.i > save || p.at(p.i+1).lower != "single") {
			ok = false
		}
	}
	if !ok {
		p.i = save
		return c, no
	}
	p.i++
	if p.at(p.i-1).lower == "a" {
		p.words("single")
	}
	if c.Cmp == "" && p.any("or more") {
		c.Cmp = "at least"
	} else if c.Cmp == "" && p.any("or fewer|or less") {
		c.Cmp = "at most"
	}
	c.N = n + off
	return c, yes
}

// lines reads N lines.
func (p *parser) lines() (Count, got) {
	save := p.i
	c, g := p.count()
	if g != yes || !p.any("lines|line") {
		if g == yes {
			p.miss(p.i, `"lines"`)
		}
		p.i = save
		return c, no
	}
	if c.N < 1 || (p.at(p.i-1).lower == "line") != (c.N == 1 || c.Cmp != "" && p.at(p.i-2).text == "1" || p.at(p.i-2).lower == "one") {
		p.refuse(save, `a number of lines, from 1 on (for none: "nothing")`)
		return c, bad
	}
	return c, yes
}

// times reads "twice" and the like.
func (p *parser) times() (Count, got) {
	save := p.i
	var c Count
	switch {
	case p.any("exactly|only|just"):
	case p.any("at least"):
		c.Cmp = "at least"
	case p.any("at most"):
		c.Cmp = "at most"
	}
	switch {
	case p.words("once"):
		c.N = 1
		return c, yes
	case p.words("twice"):
		c.N = 2
		return c, yes
	}
	p.i = save
	if c, g := p.count(); g == yes && c.N > 0 && p.any("times|time") {
		return c, yes
	}
	p.i = save
	return Count{}, no
}
