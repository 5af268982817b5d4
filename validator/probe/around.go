package probe

import (
	"slices"
	"strconv"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/pattern"
)

// given reads the files and directories that are made first.
func (p *parser) given(a *Assertion) got {
	save := p.i
	if !p.any("when given|if given|given|with|in a directory with|in a directory containing|in a directory that contains") {
		return no
	}
	first := p.i
	for {
		g, found := p.givenOne(a)
		if found == no && p.i == first {
			p.i = save
			return no
		}
		if found != yes {
			return p.missed(p.i, "a file or a directory and its path")
		}
		switch {
		case len(a.Setup) > 0 || len(a.When) > 0:
			p.refuse(save, `what is given in front of "after" and "when"`)
			return bad
		case slices.ContainsFunc(a.Given, func(other Given) bool { return other.Path == g.Path }):
			p.refuse(p.i-1, "each path once")
			return bad
		}
		a.Given = append(a.Given, g)
		next := p.i
		p.is(comma)
		p.words("and")
		if p.i == next || !p.givenFollows() {
			p.i = next
			return yes
		}
	}
}

func (p *parser) givenFollows() bool {
	save := p.i
	defer func() { p.i = save }()
	_, found := p.givenOne(nil)
	return found == yes
}

const (
	aFile = "a text file|a file|the file|a file named|a file called|an existing file"
	aDir  = "a directory|the directory|an empty directory|a directory named|a directory called|a folder|the folder|an empty folder"
)

// givenOne reads one of them.
func (p *parser) givenOne(_ *Assertion) (Given, got) {
	g := Given{Type: "file", Any: true, Mode: -1}
	save := p.i
	switch {
	case p.any("an empty file|the empty file"):
		g.Any = false
	case p.any("a read-only file|the read-only file"):
		g.Mode = 0o444
	case p.any("an unreadable file|the unreadable file"):
		g.Mode = 0
	case p.any("an executable file|the executable file"):
		g.Mode = 0o755
	case p.any(aFile):
		p.any("named|called")
	case p.any(aDir):
		p.any("named|called")
		g.Type, g.Any = "dir", false
	default:
		return g, no
	}
	if !p.isText(p.i) {
		p.miss(p.i, "its path in backticks")
		p.i = save
		return g, no
	}
	name, dir, ok := p.path()
	if !ok || dir && g.Type == "file" {
		return g, bad
	}
	g.Path = name
	p.any("that exists|exists")
	if g.Type == "dir" {
		return g, yes
	}
	if p.any("containing|with content|with the content|with contents|with the contents|that contains|holding|that holds") {
		if !g.Any {
			return g, p.missed(p.i-1, "no content of an empty file")
		}
		if g.Text, ok = p.text(); !ok {
			return g, bad
		}
		g.Any = false
	}
	if p.any("with mode|with permissions|with the mode|and mode") {
		if g.Mode >= 0 {
			return g, p.missed(p.i-1, "one mode")
		}
		if g.Mode, ok = p.mode(); !ok {
			return g, bad
		}
	}
	return g, yes
}

var octal = pattern.Regexp(`^0?[0-7]{3}$`)

// mode reads permission bits.
func (p *parser) mode() (int, bool) {
	t := p.at(p.i)
	if t.kind != word && t.kind != code || !octal().MatchString(t.text) {
		p.miss(p.i, "permissions such as 0644")
		return 0, false
	}
	p.i++
	n, err := strconv.ParseInt(t.text, 8, 32)
	return int(n), err == nil
}

// when reads "when|if `path` exists [and ...]".
func (p *parser) when(a *Assertion) got {
	save := p.i
	if !p.any("when|if|and|while") {
		return no
	}
	if t := p.at(save).lower; t == "and" && len(a.When) == 0 {
		p.i = save
		return no
	}
	for first := true; ; first = false {
		w, found := p.whenOne()
		switch {
		case found == bad:
			return bad
		case found == no && first:
			p.i = save
			return no
		case found == no:
			return p.missed(p.i, "another path that exists, or does not")
		case slices.ContainsFunc(a.When, func(other When) bool { return other.Path == w.Path }):
			p.refuse(p.i-1, "each path once")
			return bad
		}
		a.When = append(a.When, w)
		if !p.words("and") {
			return yes
		}
	}
}

func (p *parser) whenOne() (w When, g got) {
	save := p.i
	p.words("already")
	var ok, thereIs bool
	switch {
	case p.any("there is no|there's no|no"):
		thereIs = p.at(save).lower != "no"
	case p.any("there is already|there is"):
		thereIs, w.Exists = true, true
		p.any("a|the")
	}
	negated := p.i > save && !w.Exists
	if w.Type = p.noun(); w.Type == "" && !p.isText(p.i) || !p.isText(p.i) {
		p.i = save
		return w, no
	}
	if !thereIs && !negated && !p.exists(p.i+1) {
		p.i = save
		return w, no
	}
	if w.Type, w.Path, ok = p.entryOf(w.Type); !ok {
		return w, bad
	}
	switch {
	case thereIs:
		return w, yes
	case negated:
		return w, gotten(p.word("exists"))
	case p.any("does not exist|doesn't exist|does not yet exist|does not exist yet|is missing|is absent|is not there|is not present"):
		return w, yes
	default:
		w.Exists = true
		return w, gotten(p.oneOf("already exists|exists already|exists|is already there|is there|is present"))
	}
}

// exists looks for words that make what stands before them a path.
func (p *parser) exists(i int) bool {
	switch t := p.at(i).lower; t {
	case "exists", "already", "does", "doesn't", "is":
		return !p.runs(i)
	}
	return false
}

func (p *parser) word(w string) bool {
	if !p.words(w) {
		p.miss(p.i, `"`+w+`"`)
		return false
	}
	return true
}

var variable = pattern.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)

// A command always has these; PATH decides which programs run.
var everywhere = strings.Fields("PATH HOME PWD TMPDIR LANG USER LOGNAME SHELL TERM")

// environment reads the variables of the command.
func (p *parser) environment(a *Assertion) got {
	save := p.i
	when := p.any("when|if")
	ran := when && p.any("it is run with|run with|called with|invoked with")
	if !when && !p.any("with|without|and with") {
		return no
	}
	without := p.at(save).lower == "without"
	named := p.any("the environment variables|environment variables|the environment variable|environment variable|the variable|an environment variable")
	var list []string
	at := p.i
	for p.isText(p.i) {
		if p.at(p.i).kind == code && strings.Contains(p.at(p.i).text, `\`) && strings.Contains(p.at(p.i).text, "=") {
			_, _ = p.text() // which says why not
			return bad
		}
		list = append(list, p.at(p.i).text)
		if p.i++; p.at(p.i).lower != "and" || !p.isText(p.i+1) {
			break
		}
		p.i++
	}
	one := len(list) == 1 && variable().MatchString(list[0])
	pairs := len(list) > 0
	for _, s := range list {
		name, _, isPair := strings.Cut(s, "=")
		pairs = pairs && isPair && variable().MatchString(name)
	}
	is := when && !ran && p.any("is|are")
	switch {
	case one && !without && p.any("set to|equal to"):
		value, ok := p.text()
		if !ok {
			return bad
		}
		list[0] += "=" + value
	case one && without && p.words("set"), one && !without && p.any("not set|unset"):
	case pairs && !without && (p.any("set|in the environment|in its environment|exported") || named && (!when || ran)):
	default:
		if pairs && !without && (!when || ran) {
			return p.missed(p.i, `"set"`)
		}
		p.i = save
		return no
	}
	if when && !ran && !is {
		p.i = save
		return no
	}
	for _, s := range list {
		name, _, _ := strings.Cut(s, "=")
		switch {
		case name == "PATH", !strings.Contains(s, "=") && slices.Contains(everywhere, name):
			p.refuse(at, "another variable: this one is always there, and PATH is the box's")
			return bad
		case slices.ContainsFunc(a.Env, func(e string) bool { return e == name || strings.HasPrefix(e, name+"=") }):
			p.refuse(at, "each variable once")
			return bad
		case p.twice > 0, strings.ContainsRune(s, 0):
			p.refuse(at, "a variable of one command")
			return bad
		}
		a.Env = append(a.Env, s)
	}
	return yes
}

// place reads where the command is run.
func (p *parser) place(a *Assertion) got {
	save := p.i
	p.any("when run|when it is run|if run|when called|when invoked|run|executed")
	if p.any("in an empty directory|in a fresh directory|in a new directory|in an empty folder|from an empty directory") {
		if len(a.Given) > 0 || len(a.Setup) > 0 || len(a.When) > 0 || a.Dir != "" {
			p.refuse(save, "a directory that nothing was put into")
			return bad
		}
		return yes
	}
	if p.any("in the directory|from the directory|inside the directory|in directory|in the folder|in|from|inside|from inside") && p.isText(p.i) {
		name, _, ok := p.path()
		if ok && (a.Dir != "" || p.twice > 0) {
			p.refuse(save, "one directory of one command")
			return bad
		}
		a.Dir = name
		return gotten(ok)
	}
	p.i = save
	return no
}
