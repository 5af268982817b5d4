package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// node is one JSON value with the line it stands on; 0 where it came from no file.
type node struct {
	line  int
	value any // nil, bool, string, json.Number, []node, object
}

// object keeps order and duplicates, which a map would lose.
type object []member

type member struct {
	name  string
	line  int
	value node
}

// maxDepth is far more than any setting needs and far less than a stack holds.
const maxDepth = 64

// parseJSON reads exactly one JSON value. The error is for people and names the line.
func parseJSON(data []byte) (node, int, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(data) {
		return node{}, 0, errors.New("not valid UTF-8")
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return node{}, 0, errors.New("empty; the least that is valid is {}")
	}
	// The token reader below knows no message as good as the whole-document check's.
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		line := 0
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			line = lineAt(data, syntax.Offset)
		}
		return node{}, line, fmt.Errorf("not JSON: %w", err)
	}
	r := reader{data: data, dec: json.NewDecoder(bytes.NewReader(data)), line: 1}
	r.dec.UseNumber()
	n, err := r.value(0)
	return n, r.line, err
}

func lineAt(data []byte, offset int64) int {
	// The offset points behind the byte that was wrong.
	end := max(0, min(offset-1, int64(len(data))))
	return 1 + bytes.Count(data[:end], []byte("\n"))
}

type reader struct {
	data []byte
	dec  *json.Decoder
	seen int64
	line int
}

func (r *reader) token() (json.Token, error) {
	t, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	offset := r.dec.InputOffset()
	r.line += bytes.Count(r.data[r.seen:offset], []byte("\n"))
	r.seen = offset
	return t, nil
}

func (r *reader) value(depth int) (node, error) {
	if depth > maxDepth {
		return node{}, fmt.Errorf("nested more than %d deep", maxDepth)
	}
	t, err := r.token()
	if err != nil {
		return node{}, err
	}
	n := node{line: r.line, value: t}
	switch t {
	case json.Delim('['):
		list := []node{}
		for r.dec.More() {
			element, err := r.value(depth + 1)
			if err != nil {
				return node{}, err
			}
			list = append(list, element)
		}
		n.value = list
	case json.Delim('{'):
		members := object{}
		for r.dec.More() {
			name, err := r.token()
			if err != nil {
				return node{}, err
			}
			m := member{name: fmt.Sprint(name), line: r.line}
			if m.value, err = r.value(depth + 1); err != nil {
				return node{}, err
			}
			members = append(members, m)
		}
		n.value = members
	default:
		return n, nil
	}
	_, err = r.token() // the closing bracket
	return n, err
}

// plain is the value as encoding/json would give it: what the layers above pass on.
func (n node) plain() any {
	switch v := n.value.(type) {
	case []node:
		list := make([]any, len(v))
		for i, element := range v {
			list[i] = element.plain()
		}
		return list
	case object:
		m := make(map[string]any, len(v))
		for _, e := range v {
			m[e.name] = e.value.plain()
		}
		return m
	default:
		return v
	}
}

// fromPlain is the inverse of plain for what a layer hands back.
func fromPlain(v any) node {
	switch v := v.(type) {
	case []string:
		list := make([]node, len(v))
		for i, s := range v {
			list[i] = node{value: s}
		}
		return node{value: list}
	case []any:
		list := make([]node, len(v))
		for i, element := range v {
			list[i] = fromPlain(element)
		}
		return node{value: list}
	case map[string]any:
		members := make(object, 0, len(v))
		for name, value := range v {
			members = append(members, member{name: name, value: fromPlain(value)})
		}
		return node{value: members}
	case int:
		return node{value: json.Number(fmt.Sprint(v))}
	case float64:
		return node{value: json.Number(strconv.FormatFloat(v, 'f', -1, 64))}
	default:
		return node{value: v}
	}
}

// kind names a value's type in the words of JSON.
func (n node) kind() string {
	switch n.value.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case []node:
		return "a list"
	default:
		return "an object"
	}
}
