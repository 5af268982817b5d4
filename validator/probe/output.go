package probe

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/trkr-dev/trkr-validate/internal/bound"
	"github.com/trkr-dev/trkr-validate/internal/pattern"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// stream is one output of an ended command.
type stream struct {
	name string
	data []byte
	cut  int64 // bytes after data that were not kept
}

func (s ended) stream(to Stream) stream {
	b := map[Stream]*bound.Buffer{Stdout: s.stdout, Stderr: s.stderr}[to]
	return stream{name: string(to), data: b.Head(), cut: b.Total() - int64(len(b.Head()))}
}

// streams are those that an outcome speaks of.
func (s ended) streams(to Stream) []stream {
	if to != AnyStream {
		return []stream{s.stream(to)}
	}
	return []stream{s.stream(Stdout), s.stream(Stderr)}
}

// find looks for something in one of the streams: what returns the bytes that show it.
func (s *seen) find(to Stream, expected string, what func([]byte) ([]byte, bool)) judgement {
	list := s.streams(to)
	for _, x := range list {
		if line, ok := what(x.data); ok {
			return met("%s has %s", x.name, quote(line, 160))
		}
	}
	for _, x := range list {
		if x.cut > 0 {
			return unverified("%s is not in the first %d bytes of %s; %d more were not looked at", expected, len(x.data), x.name, x.cut)
		}
	}
	return unmet("expected %s, got %s", expected, show(list))
}

// whole decides on everything that was printed. Without a stream, one has to be right and the other silent.
func (s *seen) whole(to Stream, expected string, right func([]byte) bool) judgement {
	list := s.streams(to)
	for _, x := range list {
		if x.cut > 0 {
			return unmet("expected %s, got more than %d bytes on %s", expected, len(x.data), x.name)
		}
	}
	if len(list) == 1 && right(list[0].data) {
		return met("%s is %s", list[0].name, quote(list[0].data, 160))
	}
	if len(list) == 2 {
		for i, x := range list {
			if other := list[1-i]; right(x.data) && len(other.data) == 0 {
				return met("%s is %s", x.name, quote(x.data, 160))
			} else if right(x.data) {
				return unmet("expected %s and nothing else, got %s (say \"to %s\" if the other does not matter)", expected, show(list), x.name)
			}
		}
	}
	return unmet("expected %s, got %s", expected, show(list))
}

func show(list []stream) string {
	texts := make([]string, len(list))
	for i, x := range list {
		texts[i] = x.name + " " + quote(x.data, 320/len(list))
	}
	return strings.Join(texts, ", ")
}

func (o Prints) judge(s *seen) judgement {
	return s.find(o.To, quote([]byte(o.Text), 120)+o.To.String(), func(b []byte) ([]byte, bool) {
		i := bytes.Index(b, []byte(o.Text))
		if i < 0 {
			return nil, false
		}
		from := bytes.LastIndexByte(b[:i], '\n') + 1
		if i-from > 80 {
			from = i
		}
		line, _, _ := bytes.Cut(b[i+len(o.Text):], []byte("\n"))
		return b[from : i+len(o.Text)+len(line)], true
	})
}

func (o DoesNotPrint) judge(s *seen) judgement {
	found := Prints(o).judge(s)
	switch found.status {
	case verdict.Met:
		return unmet("expected no %s, but %s", quote([]byte(o.Text), 120), found.why)
	case verdict.Unmet:
		return s.absent(met("no %s in %s", quote([]byte(o.Text), 120), show(s.streams(o.To))))
	}
	return found
}

func (o PrintsExactly) judge(s *seen) judgement {
	return s.whole(o.To, "exactly "+quote([]byte(o.Text), 160)+o.To.String(), func(b []byte) bool {
		if !strings.HasSuffix(o.Text, "\n") {
			b = bytes.TrimSuffix(b, []byte("\n"))
		}
		return string(b) == o.Text
	})
}

func (o PrintsNothing) judge(s *seen) judgement {
	list := s.streams(o.To)
	for _, x := range list {
		if len(x.data) > 0 {
			return unmet("expected nothing%s, got %s", o.To, show(list))
		}
	}
	names := "stdout and stderr are"
	if o.To != AnyStream {
		names = string(o.To) + " is"
	}
	return s.absent(met("%s empty", names))
}

func (o PrintsLineMatching) judge(s *seen) judgement {
	re, err := Test{Text: o.Pattern, Fold: o.Fold}.compile()
	if err != nil {
		return unverified("%v", err)
	}
	return s.find(o.To, "a line matching "+quote([]byte("/"+o.Pattern+"/"), 120)+o.To.String(), func(b []byte) ([]byte, bool) {
		return line(b, re.Match)
	})
}

func (o UsageMessage) judge(s *seen) judgement {
	j := s.find(o.To, strings.TrimPrefix(o.String(), "prints "), func(b []byte) ([]byte, bool) {
		l, found := line(b, usage)
		return l, found && bytes.Contains(b[bytes.Index(b, l):], []byte(o.Containing))
	})
	if o.Containing == "" || j.status != verdict.Unmet {
		return j
	}
	if all := (UsageMessage{To: o.To}).judge(s); all.status == verdict.Met && (Prints{o.Containing, o.To}).judge(s).status == verdict.Met {
		return unverified("%s stands in front of the usage message or elsewhere: %s", quote([]byte(o.Containing), 120), show(s.streams(o.To)))
	}
	return j
}

func usage(line []byte) bool {
	line = bytes.TrimLeftFunc(line, unicode.IsSpace)
	if len(line) < 5 || lower(string(line[:5])) != "usage" {
		return false
	}
	next, _ := utf8.DecodeRune(line[5:])
	return !unicode.IsLetter(next) && !unicode.IsDigit(next) && next != '_'
}

// ofShell matches what a shell says of a text, by which that text may never have come to the artifact.
var ofShell = pattern.Regexp(`^(/bin/)?(ba|da|a|k|z)?sh: (line )?[0-9]+: `)

func (ErrorMessage) judge(s *seen) judgement {
	shell := func(l []byte) bool {
		return ofShell().Match(l) || s.shell && (bytes.HasPrefix(l, []byte("/bin/sh: ")) || bytes.HasPrefix(l, []byte("sh: ")))
	}
	j := s.find(Stderr, "an error message on stderr", func(b []byte) ([]byte, bool) {
		return line(b, func(l []byte) bool { return len(bytes.TrimSpace(l)) > 0 && !shell(l) })
	})
	if words, only := line(s.stream(Stderr).data, shell); only && j.status == verdict.Unmet {
		return unverified("the only error message is the shell's: %s", quote(words, 160))
	}
	return j
}

// count counts lines; a last one without a line end is one.
func count(b []byte) int {
	n := bytes.Count(b, []byte("\n"))
	if len(b) > 0 && b[len(b)-1] != '\n' {
		n++
	}
	return n
}

// line returns the first line that is right, without its end.
func line(b []byte, right func([]byte) bool) ([]byte, bool) {
	for len(b) > 0 {
		l, rest, _ := bytes.Cut(b, []byte("\n"))
		if l = bytes.TrimSuffix(l, []byte("\r")); right(l) {
			return l, true
		}
		b = rest
	}
	return nil, false
}
