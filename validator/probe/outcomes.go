package probe

import (
	"math"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const wantedOutcome = `an outcome such as "exits 0", "fails", "prints ` + "`text`" + `" or "creates the file ` + "`path`" + `"`

// outcomes reads outcome {(, | and | with) outcome}.
func (p *parser) outcomes() ([]Clause, bool) {
	var list []Clause
	with, more, ok := p.words("with"), true, true
	for more {
		from := p.i
		var found []Outcome
		if len(list) > 0 && p.words("within") {
			found, ok = p.within(list[len(list)-1].Outcome)
		} else {
			found, ok = p.outcome(with)
		}
		if !ok {
			return nil, false
		}
		list = p.clauses(list, from, found)
		if from = p.i; p.words("within") {
			if found, ok = p.within(found[len(found)-1]); !ok {
				return nil, false
			}
			list = p.clauses(list, from, found)
		}
		if more, with, ok = p.connector(); !ok {
			return nil, false
		}
	}
	return list, true
}

// clauses adds what was read since the token at from.
func (p *parser) clauses(list []Clause, from int, found []Outcome) []Clause {
	span := Span{p.at(from).pos, p.at(p.i - 1).end}
	for _, o := range found {
		list = append(list, Clause{o, span})
	}
	return list
}

// connector reads what joins two outcomes: a comma, "and", "with", ", and", "and with", each with an "it" that stands
// for the command. "then" claims an order, which is true by itself only of the command's end.
func (p *parser) connector() (more, with, ok bool) {
	apart := p.is(comma)
	and := p.words("and")
	then := p.words("then")
	if then {
		save := p.i
		p.words("it")
		if t := p.at(p.i); t.lower != "exits" && t.lower != "succeeds" && t.lower != "fails" {
			p.refuse(p.i, `after "then" the command's end, because no other order can be seen`)
			return false, false, false
		}
		p.i = save
	}
	if (apart || and || then) && p.words("it") {
		return true, false, true
	}
	if !then {
		with = p.words("with")
	}
	return apart || and || then || with, with, true
}

// outcome reads one outcome; a list of texts is several. After "with" it is a thing and not a deed.
func (p *parser) outcome(with bool) ([]Outcome, bool) {
	one := func(o Outcome, ok bool) ([]Outcome, bool) { return []Outcome{o}, ok }
	if o, found, ok := p.message(); found {
		return one(o, ok)
	}
	if with {
		if p.any("an exit code", "exit code", "an exit status", "exit status", "code", "status") {
			return one(p.exitCode())
		}
		p.miss(p.i, `"a usage message", "an error message" or "exit code N"`)
		return nil, false
	}
	switch {
	case p.words("exits"):
		return one(p.exits())
	case p.words("succeeds"):
		return one(Succeeds{}, true)
	case p.words("fails"):
		return one(Fails{}, true)
	case p.any("prints", "outputs"):
		return p.prints()
	case p.any("does not print", "doesn't print", "does not output", "doesn't output"):
		text, ok := p.text()
		to := p.stream()
		return one(DoesNotPrint{text, to}, ok)
	case p.words("creates"):
		return one(p.creates())
	case p.words("removes"):
		typ, path, ok := p.entry()
		return one(Removes{typ, path}, ok)
	case p.words("leaves"):
		p.words("the file")
		at := p.i
		path, dir, ok := p.path()
		if dir {
			p.refuse(at, "a file: only of a file can it be told that it is unchanged")
			return nil, false
		}
		if ok && !p.words("unchanged") {
			p.miss(p.i, `"unchanged"`)
			ok = false
		}
		return one(Unchanged{path}, ok)
	case p.any("finishes within", "ends within"):
		return p.within(Succeeds{})
	}
	p.miss(p.i, wantedOutcome)
	return nil, false
}

func exit(o Outcome) bool {
	switch o.(type) {
	case Exits, ExitsNonZero, Succeeds, Fails:
		return true
	}
	return false
}

// message reads a usage message or [with] an error message, with the stream.
func (p *parser) message() (o Outcome, found, ok bool) {
	save := p.i
	p.any("prints", "outputs")
	switch {
	case p.any("a usage message", "the usage message"):
		return UsageMessage{p.stream()}, true, true
	case p.words("an error message"):
		at := p.i
		if p.stream() == Stdout {
			p.refuse(at, "an error message on stderr: what stands on stdout is no error message")
			return nil, true, false
		}
		return ErrorMessage{}, true, true
	}
	p.i = save
	return nil, false, true
}

func (p *parser) exits() (Outcome, bool) {
	if p.any("non-zero", "nonzero", "with a non-zero exit code", "with a non-zero exit status", "with a non-zero code", "with a non-zero status") {
		return ExitsNonZero{}, true
	}
	if !p.any("with exit code", "with exit status", "with code", "with status") {
		p.words("with")
	}
	return p.exitCode()
}

func (p *parser) exitCode() (Outcome, bool) {
	n, ok := p.number()
	if !ok || n > 255 {
		p.miss(p.i, "an exit code from 0 to 255")
		return nil, false
	}
	p.i++
	return Exits{n}, true
}

var digits = regexp.MustCompile(`^[0-9]{1,6}$`)

// number looks at a number and leaves it there.
func (p *parser) number() (int, bool) {
	t := p.at(p.i)
	if t.kind != word && t.kind != code || !digits.MatchString(t.text) {
		return 0, false
	}
	n, err := strconv.Atoi(t.text)
	return n, err == nil
}

func (p *parser) prints() ([]Outcome, bool) {
	switch {
	case p.words("nothing"):
		return []Outcome{PrintsNothing{p.stream()}}, true
	case p.words("a line matching"):
		return p.matching()
	}
	if n, ok := p.lines(); ok {
		return []Outcome{PrintsLines{n, p.stream()}}, true
	}
	if p.words("exactly") {
		if n, ok := p.lines(); ok {
			return []Outcome{PrintsLines{n, p.stream()}}, true
		}
		text, ok := p.text()
		if !ok {
			return nil, false
		}
		return []Outcome{PrintsExactly{text, p.stream()}}, true
	}
	return p.texts()
}

func (p *parser) lines() (int, bool) {
	save := p.i
	if n, ok := p.number(); ok && n > 0 {
		p.i++
		if n == 1 && p.words("line") || n != 1 && p.words("lines") {
			return n, true
		}
		p.miss(p.i, `"lines"`)
	}
	p.i = save
	return 0, false
}

// texts reads `a`, `b` and `c` [to stdout] [and `d` to stderr]. A stream holds for the texts before it, and then each
// group has to name its own.
func (p *parser) texts() ([]Outcome, bool) {
	var list []Outcome
	named := false
	for {
		var group []string
		for {
			text, ok := p.text()
			if !ok {
				return nil, false
			}
			group = append(group, text)
			if !p.another() {
				break
			}
		}
		at := p.i
		to := p.stream()
		if named && to == AnyStream {
			p.refuse(at, `"to stdout" or "to stderr" here too`)
			return nil, false
		}
		for _, text := range group {
			list = append(list, Prints{text, to})
		}
		if to == AnyStream || !p.another() {
			return list, true
		}
		named = true
	}
}

// another reads what stands before one more text of a list, and leaves everything where none follows.
func (p *parser) another() bool {
	save := p.i
	apart := p.is(comma)
	and := p.words("and")
	if k := p.at(p.i).kind; (apart || and) && (k == code || k == quoted) {
		return true
	}
	p.i = save
	return false
}

func (p *parser) matching() ([]Outcome, bool) {
	t := p.at(p.i)
	pattern, fold := strings.CutSuffix(t.text, "/i")
	if !fold {
		pattern, _ = strings.CutSuffix(t.text, "/")
	}
	if t.kind != code || len(pattern) < 2 || pattern[0] != '/' || len(pattern) == len(t.text) {
		p.miss(p.i, "a regular expression in backticks, like `/^v[0-9]+/`")
		return nil, false
	}
	o := PrintsLineMatching{Pattern: pattern[1:], Fold: fold}
	if _, err := o.compile(); err != nil {
		p.refuse(p.i, "a regular expression of Go: "+err.Error())
		return nil, false
	}
	p.i++
	o.To = p.stream()
	return []Outcome{o}, true
}

func (o PrintsLineMatching) compile() (*regexp.Regexp, error) {
	if o.Fold {
		return regexp.Compile("(?i)" + o.Pattern)
	}
	return regexp.Compile(o.Pattern)
}

func (p *parser) stream() Stream {
	switch {
	case p.any("to stdout", "on stdout", "to standard output", "on standard output"):
		return Stdout
	case p.any("to stderr", "on stderr", "to standard error", "on standard error"):
		return Stderr
	}
	return AnyStream
}

func (p *parser) noun() string {
	switch {
	case p.any("the file", "a file", "file"):
		return "file"
	case p.any("the directory", "a directory", "directory"):
		return "dir"
	}
	return ""
}

func (p *parser) creates() (Outcome, bool) {
	at := p.i
	typ, name, ok := p.entry()
	if !ok {
		return nil, false
	}
	o := Creates{Type: typ, Path: name}
	if p.words("containing") {
		if typ == "dir" {
			p.refuse(at, "a file: a directory contains no text")
			return nil, false
		}
		o.Type = "file"
		o.Containing, ok = p.text()
	}
	return o, ok
}

// entry reads [the file|directory] and a path, which may say by itself that it is a directory.
func (p *parser) entry() (typ, name string, ok bool) {
	typ = p.noun()
	at := p.i
	name, dir, ok := p.path()
	switch {
	case dir && typ == "file":
		p.refuse(at, "the path of a file: a slash at the end means a directory")
		return "", "", false
	case dir:
		typ = "dir"
	}
	return typ, name, ok
}

// path reads a path below the command's working directory, which is the only place where both looks can be sure to
// see what the command did. dir: it can only be a directory's.
func (p *parser) path() (name string, dir, ok bool) {
	at := p.i
	s, ok := p.text()
	if !ok {
		return "", false, false
	}
	clean := path.Clean(s)
	if path.IsAbs(s) || clean == "." || clean == ".." || strings.HasPrefix(clean, "../") || strings.ContainsAny(s, "*?[]{}~$\x00") {
		p.refuse(at, "a path below the working directory, without wildcards")
		return "", false, false
	}
	final := s[strings.LastIndex(s, "/")+1:]
	return clean, final == "" || final == "." || final == "..", true
}

var amount = regexp.MustCompile(`^([0-9]{1,6}(?:\.[0-9]{1,3})?)([a-z]*)$`)

var units = map[string]time.Duration{
	"ms": time.Millisecond, "millisecond": time.Millisecond, "milliseconds": time.Millisecond,
	"s": time.Second, "second": time.Second, "seconds": time.Second,
	"minute": time.Minute, "minutes": time.Minute,
}

// within reads a limit for the outcome before it. Of the command's end it is always true or false; another outcome may
// come about earlier.
func (p *parser) within(of Outcome) ([]Outcome, bool) {
	t := p.at(p.i)
	m := amount.FindStringSubmatch(t.lower)
	if m == nil {
		p.miss(p.i, "a time such as 2s or 500ms")
		return nil, false
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
		return nil, false
	}
	p.i++
	w, within := of.(Within)
	return []Outcome{Within{Limit: d, Ends: exit(of) || within && w.Ends}}, true
}
