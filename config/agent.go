package config

import (
	"fmt"
	"strings"
)

const agentHint = `this version knows "probe" and {"command": ["./judge.sh"]}`

// agents reads "agent": one agent or a list of them.
func agents() kind[[]Agent] {
	return kind[[]Agent]{
		read: func(n node) ([]Agent, []Problem) {
			elements, ok := n.value.([]node)
			if !ok {
				a, problems := readAgent(n)
				return []Agent{a}, problems
			}
			if len(elements) == 0 {
				return nil, []Problem{{Line: n.line, Text: "names no agent", Hint: agentHint}}
			}
			var all []Agent
			var problems []Problem
			for i, e := range elements {
				a, wrong := readAgent(e)
				for _, p := range wrong {
					p.Key = fmt.Sprintf("[%d]", i) + p.Key
					problems = append(problems, p)
				}
				all = append(all, a)
			}
			return all, problems
		},
		text: func(s string) (any, []Problem) {
			if t := strings.TrimSpace(s); strings.HasPrefix(t, "[") || strings.HasPrefix(t, "{") {
				return jsonText(s)
			}
			return s, nil
		},
		show: func(all []Agent) any {
			shown := make([]any, len(all))
			for i, a := range all {
				shown[i] = showAgent(a)
			}
			if len(shown) == 1 {
				return shown[0]
			}
			return shown
		},
	}
}

func showAgent(a Agent) any {
	if a.Kind == "probe" {
		return a.Kind
	}
	shown := map[string]any{a.Kind: a.Command}
	if len(a.Env) > 0 {
		shown["env"] = a.Env
	}
	if a.Trust != "" {
		shown["trust"] = a.Trust
	}
	return shown
}

func readAgent(n node) (Agent, []Problem) {
	switch v := n.value.(type) {
	case string:
		if v == "probe" {
			return Agent{Kind: v}, nil
		}
		return Agent{}, []Problem{{Line: n.line, Text: quote(v) + " is no agent", Hint: agentHint}}
	case object:
		return readAgentObject(n.line, v)
	default:
		return Agent{}, wrong(n, `"probe", an object or a list of these`, agentHint)
	}
}

func readAgentObject(line int, o object) (Agent, []Problem) {
	for _, m := range o {
		if m.name == "cli" || m.name == "model" {
			return Agent{}, []Problem{{Line: m.line, Key: "." + m.name, Text: fmt.Sprintf("agents of the kind %q are not in this version", m.name), Hint: agentHint}}
		}
	}
	known := []string{"command", "env", "trust"}
	agent := Agent{Kind: "command"}
	var problems []Problem
	at := func(m member, found ...Problem) {
		for _, p := range found {
			p.Key = "." + m.name + p.Key
			problems = append(problems, p)
		}
	}
	seen := map[string]int{}
	for _, m := range o {
		if first, again := seen[m.name]; again {
			at(m, duplicate(m.line, first))
			continue
		}
		seen[m.name] = m.line
		switch m.name {
		case "command":
			argv, wrong := list(nil).read(m.value)
			at(m, wrong...)
			if wrong == nil && (len(argv) == 0 || argv[0] == "") {
				at(m, Problem{Line: m.line, Text: "names no program", Hint: `write ["./judge.sh", "--strict"]`})
			}
			agent.Command = argv
		case "env":
			env, wrong := list(variable).read(m.value)
			at(m, wrong...)
			agent.Env = env
		case "trust":
			trust, wrong := oneOf("inside").read(m.value)
			at(m, wrong...)
			agent.Trust = trust
		default:
			at(m, unknown(m.line, m.name, known, ""))
		}
	}
	if _, ok := seen["command"]; !ok {
		problems = append(problems, Problem{Line: line, Text: "names no command", Hint: agentHint})
	}
	return agent, problems
}
