package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Source says which layer a value comes from, the strongest last.
type Source string

// The layers.
const (
	FromDefault Source = "default"
	FromFile    Source = "file"
	FromEnv     Source = "environment"
	FromFlag    Source = "flag"
)

// Setting is the value that won for one key.
type Setting struct {
	Key    string
	Value  any // from a default or a file as it stands there; from a variable a string; from a flag a string or []string
	Source Source
	At     string // "/repo/.trkr/config.json:12", "TRKR_VALIDATE_ENGINE", "--engine"; empty for a default
}

// Resolve makes the Config of what each layer's winner says. A key without a setting has its default. What is wrong
// is an *Error with all problems.
func Resolve(settings []Setting) (Config, error) {
	var c Config
	var problems []Problem
	for _, k := range Keys() {
		s := Setting{Key: k.Name, Value: k.Default, Source: FromDefault}
		for _, candidate := range settings {
			if candidate.Key == k.Name {
				s = candidate
			}
		}
		v, found := k.resolve(s)
		for _, p := range found {
			p.Where, p.Key = s.At, k.Name+p.Key
			problems = append(problems, p)
		}
		if found == nil {
			k.set(&c, v)
		}
	}
	if len(problems) > 0 {
		return Config{}, &Error{Problems: problems}
	}
	return c, nil
}

func (k Key) resolve(s Setting) (any, []Problem) {
	raw := s.Value
	if s.Source == FromEnv || s.Source == FromFlag {
		var problems []Problem
		if raw, problems = k.fromText(raw); problems != nil {
			return nil, problems
		}
	}
	return k.read(fromPlain(raw))
}

func (k Key) fromText(raw any) (any, []Problem) {
	switch v := raw.(type) {
	case string:
		return k.text(v)
	case []string: // a flag that was given several times
		if len(v) == 1 {
			return k.text(v[0])
		}
		all := make([]any, 0, len(v))
		for _, s := range v {
			one, problems := k.text(s)
			if problems != nil {
				return nil, problems
			}
			all = append(all, one)
		}
		return all, nil
	default:
		return v, nil
	}
}

// UnknownEnv looks through an environment for variables that were meant to set a key and set none: the name starts
// with EnvPrefix and is near to that of a key. An empty variable is none. others holds the variables that begin like ours and are not near.
func UnknownEnv(environ []string) (problems []Problem, others []string) {
	names := make([]string, 0)
	for _, k := range Keys() {
		names = append(names, strings.TrimPrefix(k.Env(), EnvPrefix))
	}
	for _, e := range environ {
		full, value, _ := strings.Cut(e, "=")
		name, ours := strings.CutPrefix(full, EnvPrefix)
		if !ours || value == "" || slices.Contains(names, name) {
			continue
		}
		if near := Nearest(name, names); near != "" {
			problems = append(problems, Problem{Where: full, Text: "sets nothing", Hint: fmt.Sprintf("did you mean %s%s?", EnvPrefix, near)})
		} else {
			others = append(others, full)
		}
	}
	return problems, others
}

// Digest binds a record to what was in force: "sha256:..." over the canonical form of ticket and validate without
// what may differ from machine to machine and says nothing about the judgement: engine, cpus, the values of
// variables, commit, the default branch, which CI names and a clone knows. The order of lists counts; where a value came from does not.
func (c Config) Digest() string {
	canonical := map[string]any{}
	for _, k := range Keys() {
		if k.Name == orchestrator || strings.HasPrefix(k.Name, "loop.") {
			continue // what happens between runs
		}
		switch k.Name {
		case "issue.source", "issue.command", "issue.repository", "issue.url", "ticket.base", "validate.engine", "validate.limits.cpus", "validate.commit":
		case "validate.env":
			canonical[k.Name] = namesOf(c.Validate.Env)
		case "validate.agent":
			agents := slices.Clone(c.Validate.Agents)
			for i := range agents {
				agents[i].Env = namesOf(agents[i].Env)
			}
			c.Validate.Agents = agents
			canonical[k.Name] = k.Value(c)
		default:
			canonical[k.Name] = k.Value(c)
		}
	}
	raw, err := json.Marshal(canonical) // sorts the keys
	if err != nil {
		panic(errors.New("config: a value that JSON does not have")) // strings, numbers, booleans and lists of them
	}
	sum := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// namesOf are the names of variables.
func namesOf(env []string) []string {
	names := []string{}
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		names = append(names, name)
	}
	return names
}
