package probe

import (
	"path"
	"strings"
)

const unchanged = "unchanged|untouched|intact|as it is|as it was|as they are|as they were"

// filing reads what a command is said to do to files.
func (p *parser) filing(f form, not bool) ([]Outcome, got) {
	from := p.i
	list := func(of func(typ, path string) Outcome) ([]Outcome, got) {
		list, ok := p.entries(of, not)
		return list, gotten(ok)
	}
	switch {
	case p.verb(f, "create|make|generate"):
		switch {
		case p.at(from).lower[0] != 'c' && p.anyIf("anything|nothing", p.noTextHere):
			p.refuse(p.i-1, `"file": it could be printed as well`)
			return nil, bad
		case not && p.anyIf("anything|any file|any files|a file|any new file|any new files", p.noTextHere),
			!not && p.anyIf("nothing|no files|no file|no new files", p.noTextHere):
			return []Outcome{CreatesNothing{}}, gotten(p.allOfIt())
		case !not && p.words("no"):
			return list(func(typ, path string) Outcome { return DoesNotCreate{typ, path} })
		case not:
			return list(func(typ, path string) Outcome { return DoesNotCreate{typ, path} })
		}
		return p.creates()
	case p.verb(f, "remove|delete"):
		if not {
			return list(func(typ, path string) Outcome { return Keeps{typ, path} })
		}
		return list(func(typ, path string) Outcome { return Removes{typ, path} })
	case !not && p.verb(f, "leave"):
		return p.leaves()
	case p.verb(f, "change|modify|alter|overwrite|update"), not && p.verb(f, "touch"):
		if not {
			return p.filesOnly(func(path string) Outcome { return Unchanged{path} }, true)
		}
		return p.filesOnly(func(path string) Outcome { return Changes{path} }, false)
	case !not && p.verb(f, "refuse to"):
		if !p.verb(base, "overwrite|change|modify|replace|touch|remove|delete") {
			return nil, p.missed(p.i, `"overwrite", "change" or "remove" and a path`)
		}
		found, g := p.filesOnly(func(path string) Outcome { return Unchanged{path} }, false)
		return append([]Outcome{Fails{}}, found...), g
	case !not && p.verb(f, "write"):
		return p.writesFile()
	}
	p.i = from
	return nil, no
}

// leaves reads what follows "leaves".
func (p *parser) leaves() ([]Outcome, got) {
	at := p.i
	if p.any("nothing behind|no files behind|no file behind|the directory empty") {
		if p.at(p.i-1).lower == "empty" {
			p.refuse(at, `"creates nothing"`)
			return nil, bad
		}
		return []Outcome{CreatesNothing{}}, yes
	}
	if to, found := p.streamName(); found {
		return []Outcome{PrintsNothing{to}}, gotten(p.word("empty"))
	}
	if p.words("no") {
		typ, name, ok := p.entry()
		p.words("behind")
		return []Outcome{Missing{typ, name}}, gotten(ok)
	}
	found, g := p.filesOnly(func(path string) Outcome { return Unchanged{path} }, false)
	if g == yes && !p.any(unchanged) {
		return nil, p.missed(p.i, `"unchanged"`)
	}
	return found, g
}

// writesFile reads [`text`] to [the file] `path`, or the file `path`.
func (p *parser) writesFile() ([]Outcome, got) {
	at := p.i
	var list []Outcome
	text, said := "", p.isText(p.i)
	if said {
		var ok bool
		if text, ok = p.text(); !ok {
			return nil, bad
		}
	}
	p.any("its output|the output|output|the result")
	switch to := p.any("to|into"); {
	case to:
		p.any("the file|a file|file")
	case said:
		p.refuse(at, `"writes the file" for a path, "writes ... to stdout" for a text`)
		return nil, bad
	case !p.any("the file|a file|a new file|file"):
		return nil, p.missed(p.i, `"the file" and its path, or a text and "to stdout"`)
	}
	at = p.i
	name, dir, ok := p.path()
	if !ok {
		return nil, bad
	}
	if dir {
		p.refuse(at, "a file")
		return nil, bad
	}
	list = append(list, Writes{name})
	if said {
		list = append(list, Holds{Path: name, Test: Test{Rel: Contains, Text: text}})
	} else if p.any(containing) {
		text, ok = p.text()
		list = append(list, Holds{Path: name, Test: Test{Rel: Contains, Text: text}})
	}
	return list, gotten(ok)
}

// creates reads a list of what is created, the last with what it contains.
func (p *parser) creates() ([]Outcome, got) {
	at := p.i
	list, ok := p.entries(func(typ, path string) Outcome { return Creates{Type: typ, Path: path} }, false)
	if !ok {
		return nil, bad
	}
	from := p.i
	o := list[0].(Creates)
	if len(list) == 1 && o.Type != "dir" && p.any("containing|that contains|with") {
		if j, g := p.json(); g == yes {
			return append(list, HoldsJSON{o.Path, j}), yes
		} else if n, g := p.lines(); g == yes {
			return append(list, HasLines{o.Path, n}), yes
		}
		p.i = from
	}
	switch {
	case p.any("containing|that contains|with content|with the content"):
		all := strings.HasPrefix(p.at(p.i-1).lower, "content")
		if len(list) > 1 {
			p.refuse(p.i-1, "one file and what it contains, the others in another outcome")
			return nil, bad
		}
		if o.Type == "dir" {
			p.refuse(at, "a file: a directory contains no text")
			return nil, bad
		}
		o.Type = "file"
		text, ok := p.text()
		if all {
			return []Outcome{o, Holds{Path: o.Path, Test: Test{Rel: Is, Text: text}}}, gotten(ok)
		}
		o.Containing = text
		return []Outcome{o}, gotten(ok)
	case p.any("with mode|with permissions|with the mode"):
		mode, ok := p.mode()
		for _, o := range list[:len(list):len(list)] {
			list = append(list, HasMode{o.(Creates).Path, mode})
		}
		return list, gotten(ok)
	}
	return list, gotten(ok)
}

// entries reads [the file|directory] `a`[, `b`] [and [the directory] `c`]; with or, "or" is what joins them.
func (p *parser) entries(of func(typ, path string) Outcome, or bool) ([]Outcome, bool) {
	var list []Outcome
	common := ""
	switch {
	case p.any("the files|files|new files"):
		common = "file"
	case p.any("the directories|directories"):
		common = "dir"
	}
	for {
		typ, name, ok := p.entry()
		if !ok {
			return nil, false
		}
		if common != "" && typ != "" && typ != common {
			p.refuse(p.i-1, "the path of a file")
			return nil, false
		}
		if typ == "" {
			typ = common
		}
		list = append(list, of(typ, name))
		save := p.i
		apart := p.is(comma)
		and := p.words("and")
		isOr := p.any("or|nor")
		if !apart && !and && !isOr || isOr && (!or || and) || and && or || !p.entryFollows() {
			p.i = save
			return list, true
		}
	}
}

func (p *parser) entryFollows() bool {
	save := p.i
	defer func() { p.i = save }()
	p.noun()
	return p.isText(p.i) && !p.pathFollows()
}

// filesOnly reads paths of files.
func (p *parser) filesOnly(of func(path string) Outcome, or bool) ([]Outcome, got) {
	at := p.i
	dir := false
	list, ok := p.entries(func(typ, path string) Outcome {
		dir = dir || typ == "dir"
		return of(path)
	}, or)
	if ok && dir {
		p.refuse(at, "a file: only of a file can it be told that it is unchanged")
		return nil, bad
	}
	return list, gotten(ok)
}

func (p *parser) noun() string {
	switch {
	case p.any("the file|a file|file|a new file|the new file|an executable file"):
		if p.at(p.i-2).lower == "executable" {
			p.i -= 3
			return ""
		}
		p.any("named|called")
		return "file"
	case p.any("the directory|a directory|directory|a new directory|the folder|a folder|folder"):
		p.any("named|called")
		return "dir"
	}
	return ""
}

// entry reads [the file|directory] and a path, which may say by itself that it is a directory.
func (p *parser) entry() (typ, name string, ok bool) { return p.entryOf(p.noun()) }

func (p *parser) entryOf(typ string) (_, name string, ok bool) {
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

// pathFollows looks whether the text here begins a sentence about a path.
func (p *parser) pathFollows() bool {
	if !p.isText(p.i) {
		return false
	}
	switch p.at(p.i + 1).lower {
	case "exists", "does", "doesn't", "is", "isn't", "has", "contains", "still", "no", "remains", "stays", "should", "must", "shall", "will",
		"starts", "begins", "ends", "matches", "equals":
		return true
	}
	return false
}

// fileSubject reads "the file `path` exists" and the like.
func (p *parser) fileSubject() ([]Outcome, got) {
	save := p.i
	one := func(o Outcome, ok bool) ([]Outcome, got) { return []Outcome{o}, gotten(ok) }
	if p.any("no file is created|no files are created|nothing is created|no other file is created") {
		return one(CreatesNothing{}, p.at(save+1).lower != "other")
	}
	none := p.words("no")
	typ := p.noun()
	if typ == "" {
		p.any("the path")
	}
	if !p.isText(p.i) || !p.pathFollows() {
		p.i = save
		return nil, no
	}
	typ, name, ok := p.entryOf(typ)
	if !ok {
		return nil, bad
	}
	if none {
		if !p.any("is created|exists|should exist|must exist") {
			return nil, p.missed(p.i, `"is created" or "exists"`)
		}
		if p.at(p.i-1).lower == "created" {
			return one(DoesNotCreate{typ, name}, true)
		}
		return one(Missing{typ, name}, true)
	}
	if is, not := p.copula(); is {
		o, ok := p.fileIs(typ, name, not)
		return one(o, ok)
	}
	if p.any("no longer exists") {
		return one(Removes{typ, name}, true)
	}
	if p.any("remains|stays") {
		return one(Unchanged{name}, typ != "dir" && p.oneOf(unchanged))
	}
	if p.any("still exists|should still exist|must still exist") {
		return one(Keeps{typ, name}, true)
	}
	f, not := p.mood(deed)
	if p.verb(f, "exist") {
		return one([]Outcome{Exists{typ, name}, Missing{typ, name}}[btoi(not)], true)
	}
	if typ == "dir" {
		return nil, p.missed(p.i, `"exists"`)
	}
	if !not && (p.verb(f, "have") || f == finite && p.words("has")) {
		return p.fileHas(name)
	}
	t, ok, found := p.test(f)
	if !found {
		return nil, p.missed(p.i, `"exists", "contains", "is unchanged" or "has mode 0644"`)
	}
	return one(Holds{name, t, not}, ok)
}

func (p *parser) oneOf(phrases string) bool {
	if !p.any(phrases) {
		p.miss(p.i, `"`+strings.Split(phrases, "|")[0]+`"`)
		return false
	}
	return true
}

// fileIs reads what follows "`path` is".
func (p *parser) fileIs(typ, name string, not bool) (Outcome, bool) {
	at := p.i
	either := func(yes, no Outcome) (Outcome, bool) { return []Outcome{yes, no}[btoi(not)], true }
	switch {
	case p.words("created"):
		return either(Creates{Type: typ, Path: name}, DoesNotCreate{typ, name})
	case p.any("removed|deleted"):
		return either(Removes{typ, name}, Keeps{typ, name})
	case !not && p.any("gone"):
		return Removes{typ, name}, true
	case p.any("there|present"):
		return either(Exists{typ, name}, Missing{typ, name})
	case typ != "dir" && p.any("changed|modified|overwritten|altered|updated"):
		return either(Changes{name}, Unchanged{name})
	case typ != "dir" && not && p.words("touched"), typ != "dir" && !not && p.any("left unchanged|left untouched|left intact|left as it is|"+unchanged):
		return Unchanged{name}, true
	case typ != "dir" && p.words("empty"):
		return IsEmpty{name, not}, true
	case typ != "dir" && p.words("executable"):
		return IsExecutable{name, not}, true
	case !not && typ == "" && p.any("a directory|a folder"):
		return Exists{"dir", name}, true
	case !not && typ == "" && p.any("a file|a regular file"):
		return Exists{"file", name}, true
	}
	if typ != "dir" && !not {
		if j, g := p.json(); g != no {
			return HoldsJSON{name, j}, g == yes
		}
		if p.any("exactly|equal to") {
			text, ok := p.text()
			return Holds{Path: name, Test: Test{Rel: Is, Text: text}}, ok
		}
	}
	p.miss(at, `"created", "removed", "unchanged", "empty", "executable" or "valid JSON"`)
	return nil, false
}

// fileHas reads what follows "`path` has".
func (p *parser) fileHas(name string) ([]Outcome, got) {
	if p.any("mode|permissions|the mode|the permissions") {
		mode, ok := p.mode()
		return []Outcome{HasMode{name, mode}}, gotten(ok)
	}
	n, g := p.lines()
	if g == no {
		return nil, p.missed(p.i, `"mode 0644" or "3 lines"`)
	}
	return []Outcome{HasLines{name, n}}, g
}
