// Package schema makes JSON Schemas (draft 2020-12) of Go types, as encoding/json writes them.
package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Rules add to what a type alone says.
type Rules struct {
	Enums  map[reflect.Type][]string // the values of a string type
	Limits map[string]map[string]any // keywords of a field, by "Type.Field"
	As     map[reflect.Type]any      // what a type with a MarshalJSON of its own is written as: another type's value
}

// Of is the schema of v's type. name and version make its id.
func Of(name string, version int, v any, r Rules) ([]byte, error) {
	g := generator{rules: r, defs: map[string]any{}, types: map[string]reflect.Type{}}
	top, err := g.of(reflect.TypeOf(v))
	if err != nil {
		return nil, fmt.Errorf("the schema of %s: %w", name, err)
	}
	out := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$id":     fmt.Sprintf("urn:trkr-validate:%s:%d", name, version),
		"title":   fmt.Sprintf("trkr-validate %s, version %d", name, version),
		"allOf":   []any{top},
	}
	if len(g.defs) > 0 {
		out["$defs"] = g.defs
	}
	data, err := json.MarshalIndent(out, "", "  ")
	return append(data, '\n'), err
}

type generator struct {
	rules Rules
	defs  map[string]any
	types map[string]reflect.Type // by the name of their definition
}

func (g *generator) of(t reflect.Type) (any, error) {
	if as, ok := g.rules.As[t]; ok {
		t = reflect.TypeOf(as)
	}
	if values, ok := g.rules.Enums[t]; ok {
		return map[string]any{"enum": values}, nil
	}
	switch {
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}, nil
	case t.Kind() == reflect.Struct:
		return g.object(t)
	}
	switch t.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}, nil
	case reflect.Bool:
		return map[string]any{"type": "boolean"}, nil
	case reflect.Int, reflect.Int64, reflect.Int32:
		return map[string]any{"type": "integer"}, nil
	case reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer", "minimum": 0}, nil
	case reflect.Float64:
		return map[string]any{"type": "number"}, nil
	case reflect.Pointer:
		to, err := g.of(t.Elem())
		return map[string]any{"anyOf": []any{to, map[string]any{"type": "null"}}}, err
	case reflect.Slice:
		of, err := g.of(t.Elem())
		return map[string]any{"type": "array", "items": of}, err
	case reflect.Map:
		of, err := g.of(t.Elem())
		return map[string]any{"type": "object", "additionalProperties": of}, err
	}
	return nil, fmt.Errorf("%s has no schema", t)
}

// object defines a struct once and refers to it.
func (g *generator) object(t reflect.Type) (any, error) {
	ref := map[string]any{"$ref": "#/$defs/" + t.Name()}
	if t.Name() == "" {
		return nil, fmt.Errorf("%s has no name", t)
	}
	if _, known := g.defs[t.Name()]; known {
		if g.types[t.Name()] != t {
			return nil, fmt.Errorf("%s and %s have the same name", t, g.types[t.Name()])
		}
		return ref, nil
	}
	g.types[t.Name()] = t
	properties, required := map[string]any{}, []string{}
	def := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	g.defs[t.Name()] = def
	for _, f := range reflect.VisibleFields(t) {
		tag, tagged := f.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		if f.Anonymous || !f.IsExported() || !tagged || name == "-" {
			continue
		}
		ft := f.Type
		optional := strings.Contains(options, "omit")
		if optional && ft.Kind() == reflect.Pointer {
			ft = ft.Elem() // it is there or left out, never null
		}
		one, err := g.of(ft)
		if err != nil {
			return nil, err
		}
		if limits := g.rules.Limits[t.Name()+"."+f.Name]; limits != nil {
			one = map[string]any{"allOf": []any{one, limits}}
		}
		properties[name] = one
		if !optional {
			required = append(required, name)
		}
	}
	def["required"] = required
	return ref, nil
}
