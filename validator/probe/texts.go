package probe

import (
	"slices"
	"strings"
)

// absentTexts reads `a`[, `b`] [or `c`] [to stdout]. With "and" it would be open whether one of them may be printed.
func (p *parser) absentTexts() ([]Outcome, bool) {
	var list []string
	for or := false; ; {
		text, ok := p.text()
		if !ok {
			return nil, false
		}
		list = append(list, text)
		if or {
			break
		}
		save := p.i
		apart := p.is(comma)
		or = p.any("or|nor")
		if !p.isText(p.i) && or {
			continue
		} else if !p.isText(p.i) || !apart && !or || p.pathFollows() {
			p.i = save
			if p.words("and") && p.isText(p.i) && !p.pathFollows() {
				p.refuse(save, `"or": with "and" it is open whether one of them may be there`)
				return nil, false
			}
			p.i = save
			if len(list) > 1 {
				p.miss(p.i, `"or"`)
				return nil, false
			}
			break
		}
	}
	to := p.stream()
	outcomes := make([]Outcome, len(list))
	for i, text := range list {
		outcomes[i] = DoesNotPrint{text, to}
	}
	return outcomes, true
}

// texts reads `a`, `b` and `c` [to stdout] [and `d` to stderr] and what may be said of such a list.
func (p *parser) texts() ([]Outcome, bool) {
	var list []Outcome
	named := false
	for {
		at := p.i
		group, o, ok := p.group()
		if !ok {
			return nil, false
		}
		to := p.stream()
		if o == nil && len(group) == 1 {
			if times, found := p.times(); found == yes {
				o = PrintsTimes{Text: group[0], Count: times}
				if to == AnyStream {
					to = p.stream()
				}
			} else if found == bad {
				return nil, false
			}
		}
		if times, isTimes := o.(PrintsTimes); isTimes && !named {
			times.To = to
			if list = append(list, times); p.another() {
				continue
			}
			return list, true
		}
		if counted := len(list) > 0 && !named; o != nil && named || counted {
			p.refuse(at, "another outcome for this")
			return nil, false
		}
		if o != nil {
			return []Outcome{onStream(o, to)}, true
		}
		if p.any("and nothing else") {
			if len(group) != 1 || named || to != AnyStream {
				p.refuse(p.i-3, "one text without a stream, which is then all that is printed: or \"prints exactly\"")
				return nil, false
			}
			return []Outcome{PrintsExactly{group[0], to}}, true
		}
		if named && to == AnyStream {
			p.refuse(p.i, `"to stdout" or "to stderr" here too`)
			return nil, false
		}
		for _, text := range group {
			list = append(list, Prints{text, to})
		}
		if to != AnyStream && p.at(p.i).lower == "only" {
			p.refuse(p.i, `what is on the other stream: it is open whether that has to be empty`)
			return nil, false
		}
		save := p.i
		if p.is(comma); p.any("but not|and not|not") && p.isText(p.i) {
			at := p.i
			none, ok := p.absentTexts()
			if ok && to == AnyStream && none[0].(DoesNotPrint).To != AnyStream {
				p.refuse(at, "a stream behind each text: this one could hold for all of them")
				return nil, false
			}
			for i, o := range none {
				if d := o.(DoesNotPrint); d.To == AnyStream {
					none[i] = DoesNotPrint{d.Text, to}
				}
			}
			return append(list, none...), ok
		}
		p.i = save
		if to == AnyStream || !p.another() {
			return list, true
		}
		named = true
	}
}

// group reads the texts that stand together; a list in an order, or of which one is enough, is an outcome already.
func (p *parser) group() (texts []string, o Outcome, ok bool) {
	var joints []string
	for {
		text, ok := p.text()
		if !ok {
			return nil, nil, false
		}
		texts = append(texts, text)
		j, ok := p.separator()
		if !ok {
			return nil, nil, false
		}
		if j == "" {
			break
		}
		joints = append(joints, j)
	}
	of := func(only ...string) bool {
		return len(joints) > 0 && !slices.ContainsFunc(joints, func(j string) bool { return !slices.Contains(only, j) })
	}
	at := p.i
	switch n := len(joints) - 1; {
	case of(",", "and"):
		if p.any("in this order|in that order|in order") {
			return texts, PrintsInOrder{Texts: texts}, true
		}
		return texts, nil, true
	case of("before"):
		return texts, PrintsInOrder{Texts: texts}, true
	case n >= 0 && joints[n] == "or" && of(",", "or"):
		return texts, PrintsOneOf{Texts: texts}, true
	case n < 0:
		return texts, nil, true
	}
	p.refuse(at-2, "one kind of list: all in any order, all in this order, or one of them")
	return nil, nil, false
}

// separator reads what joins two texts: "," "and" "or" "before", or nothing where no more follow.
func (p *parser) separator() (string, bool) {
	save := p.i
	apart := p.is(comma)
	found := ""
	switch {
	case p.any("before|and before|followed by|and then|then"):
		if found = "before"; p.at(p.i-1).lower == "then" && !p.isText(p.i) {
			p.i = save
			return "", true
		}
	case p.words("or"):
		found = "or"
	case p.words("and"):
		found = "and"
	case apart:
		found = ","
	}
	switch {
	case found != "" && p.isText(p.i) && !p.pathFollows():
		return found, true
	case found == "or" || found == "before":
		p.miss(p.i, "another text")
		return "", false
	}
	p.i = save
	return "", true
}

func onStream(o Outcome, to Stream) Outcome {
	switch o := o.(type) {
	case PrintsInOrder:
		o.To = to
		return o
	case PrintsOneOf:
		o.To = to
		return o
	case PrintsTimes:
		o.To = to
		return o
	}
	return o
}

// another reads what stands before one more text of a list, and leaves everything where none follows.
func (p *parser) another() bool {
	save := p.i
	apart := p.is(comma)
	and := p.words("and")
	if (apart || and) && p.isText(p.i) && !p.pathFollows() {
		return true
	}
	p.i = save
	return false
}

// lineList reads `a`, `b` and `c` as lines.
func (p *parser) lineList() ([]Outcome, bool) {
	var list []Outcome
	for {
		text, ok := p.oneLine()
		if !ok {
			return nil, false
		}
		if list = append(list, PrintsLine{text, ""}); !p.another() {
			break
		}
	}
	to := p.stream()
	for i, o := range list {
		list[i] = PrintsLine{o.(PrintsLine).Text, to}
	}
	return list, true
}

// oneLine reads a text that a line can hold.
func (p *parser) oneLine() (string, bool) {
	at := p.i
	s, ok := p.text()
	if ok && strings.ContainsAny(s, "\n\r") {
		p.refuse(at, "a text without a line end")
		return "", false
	}
	return s, ok
}
