package config

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// kind is how one Go type is written: in a file, in a variable or flag, and shown again.
type kind[T any] struct {
	read func(node) (T, []Problem)
	text func(string) (any, []Problem)
	show func(T) any
}

// check says what is wrong with a string and what to write instead; both empty where it is right.
type check func(string) (problem, hint string)

func quote(s string) string {
	const most = 80
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return strconv.Quote(s)
}

func wrong(n node, want, hint string) []Problem {
	return []Problem{{Line: n.line, Text: fmt.Sprintf("must be %s, not %s", want, n.kind()), Hint: hint}}
}

// readString takes a string that a file, a variable and a command line can all hold.
func readString(n node, also check) (string, []Problem) {
	s, ok := n.value.(string)
	if !ok {
		return "", wrong(n, "a string", "")
	}
	if strings.ContainsRune(s, 0) {
		return "", []Problem{{Line: n.line, Text: "must not hold a NUL character"}}
	}
	if also != nil {
		if problem, hint := also(s); problem != "" {
			return "", []Problem{{Line: n.line, Text: problem, Hint: hint}}
		}
	}
	return s, nil
}

func same[T any](v T) any { return v }

func text(also check) kind[string] {
	return kind[string]{
		read: func(n node) (string, []Problem) { return readString(n, also) },
		text: literal,
		show: same[string],
	}
}

// template is text in which {issue} stands for the issue.
func template(also check) kind[string] {
	return text(func(s string) (string, string) {
		if !strings.Contains(s, "{issue}") {
			return quote(s) + " does not hold {issue}", "put {issue} where the issue's id belongs"
		}
		return also(strings.ReplaceAll(s, "{issue}", "0"))
	})
}

func oneOf(words ...string) kind[string] {
	return text(func(s string) (string, string) {
		if slices.Contains(words, s) {
			return "", ""
		}
		hint := ""
		if near := Nearest(s, words); near != "" {
			hint = "did you mean " + quote(near) + "?"
		}
		return fmt.Sprintf("%s is none of %s", quote(s), strings.Join(words, ", ")), hint
	})
}

func boolean() kind[bool] {
	return kind[bool]{
		read: func(n node) (bool, []Problem) {
			v, ok := n.value.(bool)
			if !ok {
				return false, wrong(n, "true or false", "")
			}
			return v, nil
		},
		text: func(s string) (any, []Problem) {
			v, err := strconv.ParseBool(s)
			if err != nil {
				return nil, []Problem{{Text: quote(s) + " is neither true nor false"}}
			}
			return v, nil
		},
		show: same[bool],
	}
}

func count() kind[int] {
	return kind[int]{
		read: func(n node) (int, []Problem) {
			v, ok := n.value.(json.Number)
			if !ok {
				return 0, wrong(n, "a whole number", "")
			}
			i, err := strconv.ParseInt(v.String(), 10, 32)
			if err != nil {
				return 0, []Problem{{Line: n.line, Text: fmt.Sprintf("must be a whole number up to %d, not %s", math.MaxInt32, v)}}
			}
			return int(i), positive(n, float64(i))
		},
		text: numeral,
		show: same[int],
	}
}

func number() kind[float64] {
	const most = 1 << 16
	return kind[float64]{
		read: func(n node) (float64, []Problem) {
			v, ok := n.value.(json.Number)
			if !ok {
				return 0, wrong(n, "a number", "")
			}
			f, err := v.Float64()
			if err != nil || f > most {
				return 0, []Problem{{Line: n.line, Text: fmt.Sprintf("must be a number up to %d, not %s", most, v)}}
			}
			return f, positive(n, f)
		},
		text: numeral,
		show: same[float64],
	}
}

// optional is a limit that there need not be. No file can say so: it leaves the key out.
func optional(of kind[float64]) kind[float64] {
	read, show := of.read, of.show
	of.read = func(n node) (float64, []Problem) {
		if n.value == nil && n.line == 0 {
			return 0, nil
		}
		return read(n)
	}
	of.show = func(v float64) any {
		if v == 0 {
			return nil
		}
		return show(v)
	}
	return of
}

func positive(n node, v float64) []Problem {
	switch {
	case v == 0:
		return []Problem{{Line: n.line, Text: "must not be 0: a limit cannot be switched off", Hint: "leave the key out for the default"}}
	case v < 0:
		return []Problem{{Line: n.line, Text: "must be positive"}}
	}
	return nil
}

func duration() kind[time.Duration] {
	const hint = `write a number and a unit: "90s", "20m", "1h30m"`
	return kind[time.Duration]{
		read: func(n node) (time.Duration, []Problem) {
			s, problems := readString(n, nil)
			if problems != nil {
				problems[0].Hint = hint
				return 0, problems
			}
			d, err := time.ParseDuration(s)
			if err != nil {
				return 0, []Problem{{Line: n.line, Text: quote(s) + " is not a time", Hint: hint}}
			}
			return d, positive(n, d.Seconds())
		},
		text: literal,
		show: func(d time.Duration) any { return showDuration(d) },
	}
}

// showDuration leaves out the zero units that time.Duration prints: 20m, not 20m0s.
func showDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func list(also check) kind[[]string] {
	return kind[[]string]{
		read: func(n node) ([]string, []Problem) {
			elements, ok := n.value.([]node)
			if !ok {
				hint := ""
				if s, ok := n.value.(string); ok {
					hint = "write [" + quote(s) + "]"
				}
				return nil, wrong(n, "a list of strings", hint)
			}
			strs := make([]string, 0, len(elements))
			var problems []Problem
			for i, e := range elements {
				s, wrong := readString(e, also)
				for _, p := range wrong {
					p.Key = fmt.Sprintf("[%d]", i) + p.Key
					problems = append(problems, p)
				}
				strs = append(strs, s)
			}
			return strs, problems
		},
		text: func(s string) (any, []Problem) {
			if strings.HasPrefix(strings.TrimSpace(s), "[") {
				return jsonText(s)
			}
			return []any{s}, nil
		},
		show: same[[]string],
	}
}
