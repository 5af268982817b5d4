package main

import (
	"github.com/trkr-dev/trkr-validate/config"
	"github.com/trkr-dev/trkr-validate/validator"
	"github.com/trkr-dev/trkr-validate/validator/command"
	"github.com/trkr-dev/trkr-validate/validator/probe"
)

// agents builds the agents of a configuration in the order in which they are asked. It is the explicit list of the
// kinds that there are.
func agents(configured []config.Agent) []validator.Agent {
	var all []validator.Agent
	for _, a := range configured {
		switch a.Kind {
		case "probe":
			all = append(all, probe.New())
		case "command":
			all = append(all, command.New(a.Command))
		}
	}
	return all
}
