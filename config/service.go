package config

import (
	"fmt"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/ready"
)

const serviceHint = `write {"command": "redis-server --port 6379", "ready": "tcp:6379"}`

// services reads "services": a list of objects.
func services() kind[[]Service] {
	return kind[[]Service]{
		read: func(n node) ([]Service, []Problem) {
			elements, ok := n.value.([]node)
			if !ok {
				return nil, wrong(n, "a list of objects", "write ["+strings.TrimPrefix(serviceHint, "write ")+"]")
			}
			all := make([]Service, 0, len(elements))
			var problems []Problem
			for i, e := range elements {
				s, found := readService(e)
				for _, p := range found {
					p.Key = fmt.Sprintf("[%d]", i) + p.Key
					problems = append(problems, p)
				}
				all = append(all, s)
			}
			return all, problems
		},
		text: jsonText,
		show: func(all []Service) any {
			shown := make([]any, len(all))
			for i, s := range all {
				shown[i] = map[string]any{"command": s.Command, "ready": s.Ready}
			}
			return shown
		},
	}
}

func readService(n node) (Service, []Problem) {
	o, ok := n.value.(object)
	if !ok {
		return Service{}, wrong(n, "an object", serviceHint)
	}
	var s Service
	var problems []Problem
	at := func(m member, found []Problem) {
		for _, p := range found {
			p.Key = "." + m.name + p.Key
			problems = append(problems, p)
		}
	}
	seen := map[string]int{}
	for _, m := range o {
		if first, again := seen[m.name]; again {
			at(m, []Problem{duplicate(m.line, first)})
			continue
		}
		seen[m.name] = m.line
		var found []Problem
		switch m.name {
		case "command":
			s.Command, found = readString(m.value, command)
		case "ready":
			s.Ready, found = readString(m.value, readiness)
		default:
			found = []Problem{unknown(m.line, m.name, []string{"command", "ready"}, "")}
		}
		at(m, found)
	}
	for _, name := range []string{"command", "ready"} {
		if _, ok := seen[name]; !ok {
			problems = append(problems, Problem{Line: n.line, Text: "has no " + name, Hint: serviceHint})
		}
	}
	return s, problems
}

func readiness(s string) (string, string) {
	if _, err := ready.Parse(s); err != nil {
		return err.Error(), `write "tcp:5432", "http://127.0.0.1:8080/health", or a command that succeeds once it is ready`
	}
	return "", ""
}
