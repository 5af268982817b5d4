package probe

import (
	"slices"
	"strings"
)

// forms are outcomes as they can be written, one for each form of the language. nearest picks among them.
var forms = strings.Split(strings.TrimSpace(`
exits 0
exits with code 2
exits 0 or 1
exits non-zero
succeeds
fails
fails with an error message
does not crash
prints ''text''
prints ''one'' or ''two''
prints ''one'' and ''two'' in this order
prints ''one'' before ''two''
prints ''text'' twice
prints ''text'' at least 2 times
prints exactly ''text''
prints exactly ''text'' to stdout
prints nothing
prints nothing to stderr
prints something to stderr
does not print ''text''
does not print ''one'' or ''two''
prints the line ''text''
prints a line matching ''/^v[0-9]+$/''
prints no line matching ''/error/''
prints 3 lines
prints at least 3 lines
prints at most 3 lines to stdout
prints 2 lines containing ''text''
the first line is ''text''
the last line contains ''text''
every line matches ''/^[a-z]+$/''
the output starts with ''text''
stdout is empty
stderr contains ''text''
with a usage message
prints an error message containing ''text''
prints a version number
prints a semantic version
prints sorted lines
prints valid JSON
prints a JSON object
prints JSON where ''.count == 3''
prints JSON equal to ''{"a": 1}''
prints one JSON value per line
prints the same output
creates the file ''path''
creates the directory ''path''
creates the file ''path'' containing ''text''
does not create ''path''
creates nothing
writes ''text'' to the file ''path''
removes the file ''path''
does not remove ''path''
leaves ''path'' unchanged
changes the file ''path''
refuses to overwrite ''path''
the file ''path'' exists
the file ''path'' does not exist
the file ''path'' contains ''text''
the file ''path'' is empty
the file ''path'' is executable
the file ''path'' has mode 0644
the file ''path'' has 3 lines
the file ''path'' is valid JSON
exits 0 within 2s
finishes within 2s
answers ''GET http://127.0.0.1:8080/'' with 200
answers ''GET http://127.0.0.1:8080/'' with 200 and a body containing ''text''
`), "\n")

// circumstances stand where words of them are what is not understood.
var around = []struct{ words, form string }{
	{"env environment variable variables set unset", "`command` with `NAME=value` set exits 0"},
	{"stdin input piped pipe standard", "`command` with input `text` prints `text`"},
	{"directory folder inside from cwd", "`command` in the directory `path` exits 0"},
	{"if when unless except already missing exists", "when `path` exists, `command` fails"},
	{"twice again second idempotent repeated", "after `command`, `command` succeeds and leaves `path` unchanged"},
	{"given file files fixture", "given a file `path` containing `text`, `command` prints `text`"},
	{"after once before first then followed", "after `command`, `command` exits 0"},
}

// nearest makes an assertion that is read out of one that is not: a word exchanged for one like it, else what was
// understood before pos, with the form whose words are most like the words after that. It does not say the same.
func nearest(text string, pos int) string {
	tokens := lex(text)
	at := max(0, slices.IndexFunc(tokens, func(t token) bool { return t.pos >= pos }))
	if fixed := exchanged(text, tokens[at]); fixed != "" {
		return fixed
	}
	cut := clause(tokens, at)
	said, texts := map[string]bool{}, []token{}
	first := slices.IndexFunc(tokens, func(t token) bool { return t.kind == code })
	for i, t := range tokens {
		if i < cut || i == first {
			continue
		}
		if t.kind == word {
			said[stem(t.lower)] = true
		} else if t.kind == code || t.kind == quoted {
			texts = append(texts, t)
		}
	}
	command := "`command`"
	if first >= 0 {
		if c := strings.TrimSpace(tokens[first].text); c != "" {
			if _, err := read(c); err == nil {
				command = Command{Text: c}.String()
			}
		}
	}
	start := command + " "
	if a, _ := parse(text[:tokens[cut].pos]); cut > 0 && a != nil {
		start = a.String() + ", "
	}
	best, points := "", 0.0
	for _, f := range forms {
		if n := likeness(said, f); n > points {
			best, points = f, n
		}
	}
	for _, c := range around {
		if points < 0.4 && likeness(said, c.words) > 0 && tokens[cut].kind != end {
			return strings.Replace(c.form, "`command`", command, -1)
		}
	}
	if best == "" {
		best = "exits 0"
	}
	if strings.HasPrefix(best, "with") {
		start = strings.TrimSuffix(start, ", ")
		start = strings.TrimSuffix(start, " ") + " "
	}
	// The person's own texts where they can stand, the form's where they can not.
	filled := best
	for _, t := range texts {
		filled = strings.Replace(filled, slot(filled), text[t.pos:t.end], 1)
	}
	for _, f := range []string{filled, best} {
		if s := start + strings.ReplaceAll(f, "''", "`"); understood(s) {
			return s
		}
	}
	return "`command` " + strings.ReplaceAll(best, "''", "`")
}

func understood(s string) bool {
	a, _ := parse(s)
	return a != nil
}

// slot is the first text of a form that is the person's to say.
func slot(form string) string {
	if _, rest, ok := strings.Cut(form, "''"); ok {
		if text, _, ok := strings.Cut(rest, "''"); ok {
			return "''" + text + "''"
		}
	}
	return "\x00"
}

// clause is the token at which the outcome begins that is not understood.
func clause(tokens []token, at int) int {
	for i := min(at, len(tokens)-1); i > 0; i-- {
		switch t := tokens[i]; {
		case t.kind == comma, t.kind == semi, t.kind == stop, t.lower == "and" && i < at:
			return i
		}
	}
	return 0
}

// stem makes words alike that differ in their ending only.
func stem(w string) string {
	for _, ending := range []string{"ing", "es", "s", "ed"} {
		if s, ok := strings.CutSuffix(w, ending); ok && len(s) > 2 {
			return s
		}
	}
	return w
}

var small = strings.Fields("a an the to of with and or is in on it at no its if when from not without that i you as")

// likeness is how much of a form's words were said.
func likeness(said map[string]bool, form string) float64 {
	hit, all := 0.0, 0.0
	for _, t := range lex(strings.ReplaceAll(form, "''", "`")) {
		if t.kind != word {
			continue
		}
		weight := 1.0
		if slices.Contains(small, t.lower) {
			weight = 0.1
		}
		all += weight
		if said[stem(t.lower)] {
			hit += weight
		}
	}
	if hit < 0.5 {
		return 0
	}
	return hit / (all + 0.5)
}

// vocabulary is what words that are not understood may have been meant to be.
var vocabulary = strings.Fields(`after and answers at before but contains containing creates deletes directory does empty error exactly
	executable exists exits exit code fails file finishes given in input is least leaves line lines matches matching message mode most not
	nothing or order output outputs prints removes running status stderr stdin stdout starts succeeds than the this times to twice
	unchanged unset usage valid when where with within without writes`)

// exchanged tries words in the place of one that are written like it.
func exchanged(text string, t token) string {
	if t.kind != word {
		return ""
	}
	for far := 1; far <= 2; far++ {
		for _, w := range vocabulary {
			if distance(t.lower, w) != far || far > max(1, len(w)/3) || negates(w) != negates(t.lower) {
				continue
			}
			if a, _ := parse(text[:t.pos] + w + text[t.end:]); a != nil {
				return a.String()
			}
		}
	}
	return ""
}

func negates(w string) bool { return w == "not" || w == "without" || w == "nothing" || w == "unset" }

// distance is how many letters have to be changed, put in, taken out or exchanged with the next.
func distance(a, b string) int {
	if len(a) > 40 {
		return len(a)
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			switch {
			case i == 0 || j == 0:
				rows[i][j] = i + j
				continue
			}
			rows[i][j] = min(rows[i-1][j], rows[i][j-1]) + 1
			rows[i][j] = min(rows[i][j], rows[i-1][j-1]+btoi(a[i-1] != b[j-1]))
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
