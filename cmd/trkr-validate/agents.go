package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trkr-dev/trkr-validate/config"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/validator"
	"github.com/trkr-dev/trkr-validate/validator/command"
	"github.com/trkr-dev/trkr-validate/validator/probe"
)

// services are those of a configuration.
func services(configured []config.Service) []validator.Service {
	var all []validator.Service
	for _, s := range configured {
		all = append(all, validator.Service(s))
	}
	return all
}

// agents builds the agents of a configuration in the order in which they are asked. It is the explicit list of the
// kinds that there are. One that it does not know is an error: a run with fewer judges than were asked for is none.
func agents(configured []config.Agent, environ []string, p probe.Options) (all []validator.Agent, secrets []string, err error) {
	for i, a := range configured {
		switch a.Kind {
		case "probe":
			all = append(all, probe.New(p))
		case "command":
			env, own, err := variables(a.Env, environ)
			if err != nil {
				return nil, nil, fmt.Errorf("validate.agent[%d]: %w", i, err)
			}
			secrets = append(secrets, own...)
			all = append(all, command.New(command.Options{Argv: a.Command, Env: env, Secrets: own}))
		default:
			return nil, nil, fmt.Errorf("no agent is made for the kind %q", a.Kind)
		}
	}
	return all, secrets, nil
}

// variables are those that an agent gets. The values taken from the caller's environment are secrets.
func variables(asked, environ []string) (env, secrets []string, err error) {
	for _, v := range asked {
		if strings.Contains(v, "=") {
			env = append(env, v)
			continue
		}
		i := slices.IndexFunc(environ, func(e string) bool { return strings.HasPrefix(e, v+"=") })
		if i < 0 {
			return nil, nil, fault.Usagef("env_not_set", []string{"set " + v + " before the call, or take it out of the agent's env"}, "the agent asks for the variable %s, which is not set", v)
		}
		env = append(env, environ[i])
		secrets = append(secrets, environ[i][len(v)+1:])
	}
	return env, secrets, nil
}
