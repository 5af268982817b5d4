package main

import (
	"fmt"

	"github.com/trkr-dev/trkr-validate/config"
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
func agents(configured []config.Agent, p probe.Options) ([]validator.Agent, error) {
	var all []validator.Agent
	for _, a := range configured {
		switch a.Kind {
		case "probe":
			all = append(all, probe.New(p))
		case "command":
			all = append(all, command.New(a.Command))
		default:
			return nil, fmt.Errorf("no agent is made for the kind %q", a.Kind)
		}
	}
	return all, nil
}
