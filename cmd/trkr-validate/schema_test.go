package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// What is committed is what the program prints. With UPDATE_SCHEMAS set it is written instead.
func TestSchemasAreCommitted(t *testing.T) {
	dir := filepath.Join("..", "..", "docs", "schemas")
	committed, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range border {
		want, err := schemaOf(b.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := compiled(b.name); err != nil {
			t.Error(err)
		}
		name := filepath.Join(dir, fmt.Sprintf("%s-%d.json", b.name, schemaVersion))
		if os.Getenv("UPDATE_SCHEMAS") != "" {
			if err := os.WriteFile(name, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the program prints: UPDATE_SCHEMAS=1 go test ./cmd/trkr-validate -run TestSchemasAreCommitted writes it; where its form changed, it needs another version", name)
		}
	}
	if len(committed) != len(border) && os.Getenv("UPDATE_SCHEMAS") == "" {
		t.Errorf("%d schemas are committed, there are %d", len(committed), len(border))
	}
}

func compiled(name string) (*jsonschema.Schema, error) {
	data, err := schemaOf(name)
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("urn:x", doc); err != nil {
		return nil, err
	}
	return c.Compile("urn:x")
}

// keepsSchema is the script command schema.
func keepsSchema(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: schema NAME [FILE]")
	}
	s, err := compiled(args[0])
	ts.Check(err)
	file := append(args, "stdout")[1]
	docs := []string{ts.ReadFile(file)}
	if strings.HasSuffix(file, ".jsonl") {
		docs = strings.Split(strings.TrimSpace(docs[0]), "\n")
	}
	for i, text := range docs {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		ts.Check(err)
		if err := s.Validate(doc); err != nil {
			ts.Fatalf("%s %d does not keep the schema %s: %v", file, i+1, args[0], err)
		}
	}
}
