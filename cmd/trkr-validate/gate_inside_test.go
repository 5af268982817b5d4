package main

import (
	"testing"

	"github.com/trkr-dev/trkr-validate/config"
)

func TestAnInsideAgentCountsOnlyWhereTheConfigurationHasOne(t *testing.T) {
	probe, trusted, plain := config.Agent{Kind: "probe"}, config.Agent{Kind: "command", Trust: "inside"}, config.Agent{Kind: "command"}
	for _, c := range []struct {
		agents []config.Agent
		want   bool
	}{
		{nil, false}, {[]config.Agent{probe}, false}, {[]config.Agent{plain}, false}, {[]config.Agent{trusted}, true},
		{[]config.Agent{probe, trusted}, true}, {[]config.Agent{trusted, plain}, false},
	} {
		if got := takesInside(config.Config{Validate: config.Validate{Agents: c.agents}}); got != c.want {
			t.Errorf("%+v: %v", c.agents, got)
		}
	}
}
