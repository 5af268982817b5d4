package verdict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// strictJSON decodes data into out, a pointer to a struct. It refuses what encoding/json lets through: unknown keys,
// keys of another case, keys that stand twice, and anything after the value. Errors name keys of out, never content
// of data.
func strictJSON(data []byte, out any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := checkKeys(dec, reflect.TypeOf(out).Elem()); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("something follows the JSON value")
	}
	if err := json.Unmarshal(data, out); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return fmt.Errorf("%s is not a %s", wrong.Field, wrong.Type)
		}
		return errors.New("it is not JSON of the right kind")
	}
	return nil
}

var errNotJSON = errors.New("it is not valid JSON")

// checkKeys walks one value of type t. It goes no deeper than t does, whatever the data.
func checkKeys(dec *json.Decoder, t reflect.Type) error {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	tok, err := dec.Token()
	if err != nil {
		return errNotJSON
	}
	switch tok {
	case json.Delim('{'):
		return checkObject(dec, t)
	case json.Delim('['):
		if t.Kind() != reflect.Slice {
			return errors.New("it holds a list where none belongs")
		}
		for dec.More() {
			if err := checkKeys(dec, t.Elem()); err != nil {
				return err
			}
		}
		if _, err := dec.Token(); err != nil {
			return errNotJSON
		}
	case nil:
		return errors.New("it holds a null")
	}
	return nil
}

func checkObject(dec *json.Decoder, t reflect.Type) error {
	seen := map[string]bool{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return errNotJSON
		}
		key, _ := tok.(string)
		if seen[key] {
			return errors.New("it holds a key twice")
		}
		seen[key] = true
		elem, ok := fieldType(t, key)
		if !ok {
			return errors.New("it holds an unknown key")
		}
		if err := checkKeys(dec, elem); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return errNotJSON
	}
	return nil
}

// fieldType gives the type that belongs to key in a value of type t.
func fieldType(t reflect.Type, key string) (reflect.Type, bool) {
	switch {
	case t.Kind() == reflect.Map:
		return t.Elem(), true
	case t.Kind() != reflect.Struct:
		return nil, false
	}
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name == key {
			return t.Field(i).Type, true
		}
	}
	return nil, false
}
