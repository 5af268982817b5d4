package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/itchyny/gojq"
)

// An expression runs outside the box on what the artifact printed: so long, and no longer.
const expressionTime = 5 * time.Second

func (o PrintsJSON) judge(s *seen) judgement {
	to := o.To
	if to == AnyStream {
		to = Stdout
	}
	x := s.stream(to)
	if x.cut > 0 {
		return unverified("%s has %d bytes more than were looked at", x.name, x.cut)
	}
	return o.JSON.judge(x.name, x.data)
}

// judge decides on all that something holds.
func (j JSON) judge(name string, data []byte) judgement {
	texts := [][]byte{data}
	if j.Lines {
		texts = nil
		for l := range bytes.Lines(data) {
			texts = append(texts, l)
		}
		if len(texts) == 0 {
			return unmet("expected %s, %s is empty", j, name)
		}
	}
	for _, text := range texts {
		v, err := decode(text)
		if err != nil {
			return unmet("expected %s, but %s is %s: %v", j, name, quote(text, 160), err)
		}
		if result := j.value(v); result.status != met("").status {
			result.why += fmt.Sprintf("; %s is %s", name, quote(text, 160))
			return result
		}
	}
	return met("%s is %s: %s", name, j, quote(data, 160))
}

// value decides on one value.
func (j JSON) value(v any) judgement {
	_, object := v.(map[string]any)
	_, array := v.([]any)
	switch {
	case j.Type == "object" && !object, j.Type == "array" && !array:
		return unmet("expected %s, got another value", j)
	case j.Where != "":
		return where(j.Where, v)
	case j.Equal != "":
		want, err := decode([]byte(j.Equal))
		if err != nil {
			return unverified("%v", err)
		}
		if gojq.Compare(v, want) != 0 {
			return unmet("expected JSON equal to %s", safe(j.Equal, 160))
		}
	}
	return met("")
}

// decode reads exactly one JSON value, as RFC 8259 writes them.
func decode(text []byte) (any, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("it is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("it is empty")
		}
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the first value")
	}
	return v, nil
}

// where decides on an expression: it has to give true, once at least, and nothing else.
func where(expr string, v any) judgement {
	query, err := compile(expr)
	if err != nil { // Parse has compiled it before
		return unverified("%v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), expressionTime)
	defer cancel()
	results := 0
	for iter := query.RunWithContext(ctx, v); ; results++ {
		result, more := iter.Next()
		switch err, failed := result.(error); {
		case !more && results == 0:
			return unmet("expected true of %s, it gave nothing", safe(expr, 120))
		case !more:
			return met("")
		case failed && ctx.Err() != nil:
			return unverified("%s took more than %s", safe(expr, 120), expressionTime)
		case failed:
			return unmet("expected true of %s, got the error: %s", safe(expr, 120), safe(err.Error(), 160))
		case result == false:
			return unmet("expected true of %s, got false", safe(expr, 120))
		case result != true:
			text, err := gojq.Marshal(result)
			if err != nil {
				text = []byte("another value")
			}
			return unverified("%s gave %s, which is neither true nor false: say what it has to be, like %s != null", safe(expr, 120), quote(text, 80), safe(expr, 60))
		}
	}
}
