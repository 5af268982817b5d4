package probe

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/trkr-dev/trkr-validate/internal/pattern"
	"github.com/trkr-dev/trkr-validate/verdict"
)

func (o PrintsOneOf) judge(s *seen) judgement {
	worst := judgement{}
	for _, text := range o.Texts {
		switch j := (Prints{text, o.To}).judge(s); {
		case j.status == verdict.Met:
			return j
		case worst.status != verdict.Unverified:
			worst = j
		}
	}
	if worst.status == verdict.Unmet {
		return unmet("expected %s%s, got %s", each(o.Texts, "or"), o.To, show(s.streams(o.To)))
	}
	return worst
}

func (o PrintsInOrder) judge(s *seen) judgement {
	expected := each(o.Texts, "then") + o.To.String()
	return s.find(o.To, expected, func(b []byte) ([]byte, bool) {
		end, from := 0, -1
		for _, text := range o.Texts {
			i := bytes.Index(b, []byte(text))
			if i < end {
				return nil, false
			}
			if from < 0 {
				from = i
			}
			end = i + len(text)
		}
		return b[from:end], true
	})
}

func (o PrintsTimes) judge(s *seen) judgement {
	n := 0
	list := s.streams(o.To)
	for _, x := range list {
		if x.cut > 0 {
			return unverified("%d bytes of %s were not looked at", x.cut, x.name)
		}
		n += bytes.Count(x.data, []byte(o.Text))
	}
	return s.counted(o.Count, n, quote([]byte(o.Text), 120)+o.To.String(), list)
}

// counted decides on a number. That there are few is only shown by a program that ran to its end.
func (s *seen) counted(c Count, n int, what string, list []stream) judgement {
	if !c.right(n) {
		return unmet("expected %s of %s, got %d: %s", c, what, n, show(list))
	}
	j := met("%d of %s", n, what)
	if c.Cmp == "at most" {
		return s.absent(j)
	}
	return j
}

func (o PrintsSomething) judge(s *seen) judgement {
	return s.find(o.To, "some output"+o.To.String(), func(b []byte) ([]byte, bool) {
		return line(b, func(l []byte) bool { return len(bytes.TrimSpace(l)) > 0 })
	})
}

func (o PrintsLine) judge(s *seen) judgement {
	return s.find(o.To, "the line "+quote([]byte(o.Text), 120)+o.To.String(), func(b []byte) ([]byte, bool) {
		return line(b, func(l []byte) bool { return string(l) == o.Text })
	})
}

func (o NoLineMatching) judge(s *seen) judgement {
	switch found := PrintsLineMatching(o).judge(s); found.status {
	case verdict.Met:
		return unmet("expected no line matching %s, but %s", slashed(o.Pattern, o.Fold), found.why)
	case verdict.Unmet:
		return s.absent(met("no line matches %s in %s", slashed(o.Pattern, o.Fold), show(s.streams(o.To))))
	default:
		return found
	}
}

func (o PrintsLines) judge(s *seen) judgement {
	list := s.streams(o.To)
	if o.Containing != "" {
		n, all := 0, 0
		for _, x := range list {
			all += count(x.data)
			if x.cut > 0 {
				return unverified("%d bytes of %s were not looked at", x.cut, x.name)
			}
			for l := range bytes.Lines(x.data) {
				n += btoi(bytes.Contains(l, []byte(o.Containing)))
			}
		}
		if o.Count.Cmp == "" && o.Count.N == n && all > n {
			return unverified("%d of %d lines have %s: it is open whether there may be others (\"at least\" allows them): %s", n, all, quote([]byte(o.Containing), 120), show(list))
		}
		return s.counted(o.Count, n, "lines containing "+quote([]byte(o.Containing), 120)+o.To.String(), list)
	}
	j := s.whole(o.To, strings.TrimPrefix(o.String(), "prints "), func(b []byte) bool { return o.Count.right(count(b)) })
	if j.status == verdict.Unmet {
		var counts []string
		for _, x := range list {
			counts = append(counts, fmt.Sprintf("%d on %s", count(x.data), x.name))
		}
		j.why = fmt.Sprintf("%s (%s)", j.why, strings.Join(counts, ", "))
	} else if o.Count.Cmp == "at most" {
		return s.absent(j)
	}
	return j
}

func (o Line) judge(s *seen) judgement {
	return s.whole(o.To, o.String(), func(b []byte) bool {
		lines := split(b)
		n, err := strconv.Atoi(o.Which)
		switch {
		case len(lines) == 0:
			return false
		case o.Which == "first":
			return o.Test.holds(lines[0])
		case o.Which == "last":
			return o.Test.holds(lines[len(lines)-1])
		case o.Which == "every":
			return !slices.ContainsFunc(lines, func(l []byte) bool { return !o.Test.holds(l) })
		}
		return err == nil && n <= len(lines) && o.Test.holds(lines[n-1])
	})
}

// split returns the lines of a text without their ends.
func split(b []byte) (lines [][]byte) {
	for l := range bytes.Lines(b) {
		lines = append(lines, bytes.TrimSuffix(bytes.TrimSuffix(l, []byte("\n")), []byte("\r")))
	}
	return lines
}

// holds applies the test to a whole text. A line end at its end counts only where the test's text has one.
func (t Test) holds(b []byte) bool {
	if !strings.HasSuffix(t.Text, "\n") {
		b = bytes.TrimSuffix(b, []byte("\n"))
	}
	switch t.Rel {
	case Is:
		return string(b) == t.Text
	case Contains:
		return bytes.Contains(b, []byte(t.Text))
	case Begins:
		return bytes.HasPrefix(b, []byte(t.Text))
	case Ends:
		return bytes.HasSuffix(b, []byte(t.Text))
	}
	re, err := t.compile()
	return err == nil && re.Match(b)
}

func (o Output) judge(s *seen) judgement {
	list := s.streams(o.To)
	for _, x := range list {
		if x.cut > 0 {
			return unverified("%d bytes of %s were not looked at", x.cut, x.name)
		}
		if !o.Test.holds(x.data) {
			continue
		}
		if !o.Not && len(list) == 2 && len(list[0].data) > 0 && len(list[1].data) > 0 {
			return unverified("%s %s, but both streams have something: say stdout or stderr", x.name, o.Test)
		}
		if o.Not {
			return unmet("expected that %s %s, but %s is %s", outputName(o.To), o.Test.says(true), x.name, quote(x.data, 160))
		}
		return met("%s is %s", x.name, quote(x.data, 160))
	}
	if o.Not {
		return s.absent(met("%s", show(list)))
	}
	return unmet("expected that %s %s, got %s", outputName(o.To), o.Test, show(list))
}

var (
	someVersion     = pattern.Regexp(`(?:^|[^0-9A-Za-z.])v?[0-9]+\.[0-9]+`)
	semanticVersion = pattern.Regexp(`(?:^|[^0-9A-Za-z.+-])v?(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)` +
		`(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(?:$|[^0-9A-Za-z.+-]|\.(?:$|\s))`)
)

func (o PrintsVersion) judge(s *seen) judgement {
	re := someVersion
	if o.Semantic {
		re = semanticVersion
	}
	return s.find(o.To, strings.TrimPrefix(o.String(), "prints "), func(b []byte) ([]byte, bool) { return line(b, re().Match) })
}

// judge compares bytes, and letters whatever their case. Where the two differ nobody knows which order is meant.
func (o PrintsSorted) judge(s *seen) judgement {
	list := s.streams(o.To)
	var lines [][]byte
	for _, x := range list {
		if x.cut > 0 {
			return unverified("%d bytes of %s were not looked at", x.cut, x.name)
		}
		if len(lines) > 0 && len(x.data) > 0 {
			return unverified("both streams have lines: say which of them is sorted")
		}
		lines = append(lines, split(x.data)...)
	}
	if o.Descending {
		slices.Reverse(lines)
	}
	exact := slices.IsSortedFunc(lines, bytes.Compare)
	folded := slices.IsSortedFunc(lines, func(a, b []byte) int { return bytes.Compare(folding(a), folding(b)) })
	numbers := 0
	numeric := slices.IsSortedFunc(lines, func(a, b []byte) int {
		x, _ := number(a)
		y, _ := number(b)
		return cmp.Compare(x, y)
	})
	for _, l := range lines {
		_, is := number(l)
		numbers += btoi(is)
	}
	switch {
	case len(lines) >= 2 && numbers == len(lines) && numeric != exact:
		return unverified("sorted if the numbers are taken as %s, not otherwise: %s", map[bool]string{true: "numbers", false: "texts"}[numeric], show(list))
	case len(lines) < 2:
		return unverified("%d%s: too few to show an order", len(lines), plural(" line", len(lines)))
	case exact && folded:
		return met("%s", show(list))
	case exact || folded:
		return unverified("sorted if upper and lower case %s, not otherwise: %s", map[bool]string{true: "differ", false: "are the same"}[exact], show(list))
	default:
		return unmet("expected sorted lines%s, got %s", o.To, show(list))
	}
}

func number(b []byte) (float64, bool) {
	x, err := strconv.ParseFloat(string(bytes.TrimSpace(b)), 64)
	return x, err == nil
}

func folding(b []byte) []byte { return bytes.Map(unicode.ToLower, b) }

func (PrintsSame) judge(s *seen) judgement {
	if s.earlier == nil {
		return unverified("nothing was run before")
	}
	empty := true
	for _, to := range []Stream{Stdout, Stderr} {
		before, now := s.earlier.stream(to), s.stream(to)
		switch {
		case before.cut > 0 || now.cut > 0:
			return unverified("%d bytes of %s were not looked at", before.cut+now.cut, now.name)
		case !bytes.Equal(before.data, now.data):
			return unmet("expected the same on %s: before %s, now %s", now.name, quote(before.data, 160), differing(now.data, Test{Rel: Is, Text: string(before.data)}, 160))
		}
		empty = empty && len(now.data) == 0
	}
	if empty {
		return unverified("nothing was printed, before and now")
	}
	return met("the same as before: %s", show(s.streams(AnyStream)))
}
