package probe

import (
	"strings"
	"unicode/utf8"

	"github.com/itchyny/gojq"
)

// JSON says what a text has to be: one JSON value, or one on each line.
type JSON struct {
	Type  string // "object", "array", or "" for any
	Lines bool   // one value on each line, and one at least
	Where string // an expression of jq that has to give true
	Equal string // a value that it has to be equal to
}

func (j JSON) String() string {
	s := "valid JSON"
	switch {
	case j.Lines && j.Type == "object":
		s = "one JSON object per line"
	case j.Lines:
		s = "one JSON value per line"
	case j.Type == "object":
		s = "a JSON object"
	case j.Type == "array":
		s = "a JSON array"
	}
	switch {
	case j.Where != "":
		return s + " where " + Command{Text: j.Where}.String()
	case j.Equal != "":
		return s + " equal to " + Command{Text: j.Equal}.String()
	}
	return s
}

// json reads what kind of JSON is meant.
func (p *parser) json() (j JSON, g got) {
	switch {
	case p.any("one json value per line|one json object per line|one json document per line|json lines|newline-delimited json"):
		j.Lines = true
		if p.at(p.i-3).lower == "object" {
			j.Type = "object"
		}
	case p.any("a json object|a valid json object|one json object|a single json object"):
		j.Type = "object"
	case p.any("a json array|a valid json array|one json array|a single json array"):
		j.Type = "array"
	case p.any("valid json|well-formed json|a json document|a valid json document|one json document|json"):
	default:
		return j, no
	}
	at := p.i + 1
	switch {
	case p.any("where|in which|for which|such that|that satisfies"):
		var ok bool
		if j.Where, ok = p.raw(); !ok {
			return j, bad
		}
		if _, err := compile(j.Where); err != nil {
			p.refuse(p.i-1, "an expression of jq: "+err.Error())
			return j, bad
		}
	case p.any("with a key|with the key|with a field|with the field|that has the key|that has a key"):
		key, ok := p.text()
		if !ok || !utf8.ValidString(key) {
			return j, bad
		}
		j.Where = `has("` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `")`
		if _, err := compile(j.Where); err != nil {
			return j, bad
		}
	case p.any("equal to|that equals"):
		var ok bool
		if j.Equal, ok = p.raw(); !ok {
			return j, bad
		}
		if _, err := decode([]byte(j.Equal)); err != nil {
			p.refuse(at, "a JSON value: "+err.Error())
			return j, bad
		}
	}
	return j, yes
}

// raw reads a code span whose backslashes mean what its own language says.
func (p *parser) raw() (string, bool) {
	t := p.at(p.i)
	text := strings.TrimSpace(t.text)
	if t.kind != code || text == "" {
		p.miss(p.i, "an expression in backticks")
		return "", false
	}
	p.i++
	return text, true
}

// compile makes an expression ready to run. It sees its input and nothing else: no file, no environment.
func compile(expr string) (*gojq.Code, error) {
	q, err := gojq.Parse(expr)
	if err != nil {
		return nil, err
	}
	return gojq.Compile(q)
}
