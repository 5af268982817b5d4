package main

import (
	"slices"
	"testing"

	"github.com/trkr-dev/trkr-validate/config"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/validator/probe"
)

func TestEveryAgentIsMadeOrNone(t *testing.T) {
	made, secrets, err := agents([]config.Agent{{Kind: "probe"}, {Kind: "command", Command: []string{"./judge.sh"}}}, nil, probe.Options{})
	if err != nil || len(made) != 2 || secrets != nil {
		t.Errorf("made %v, %v", made, err)
	}
	if made, _, err := agents([]config.Agent{{Kind: "probe"}, {Kind: "oracle"}}, nil, probe.Options{}); err == nil || made != nil {
		t.Errorf("a kind that nobody knows gave %v", made)
	}
}

// What is taken from the caller is a secret, what the configuration says is none, and what is not there is said.
func TestVariablesOfAnAgent(t *testing.T) {
	env, secrets, err := variables([]string{"KEY", "MODE=fast"}, []string{"KEYS=no", "KEY=a=b"})
	if err != nil || !slices.Equal(env, []string{"KEY=a=b", "MODE=fast"}) || !slices.Equal(secrets, []string{"a=b"}) {
		t.Errorf("%q, %q, %v", env, secrets, err)
	}
	_, _, err = variables([]string{"KEY"}, []string{"KEYS=no"})
	if f := fault.Of(err); f == nil || f.Code != "env_not_set" || !f.Usage || len(f.Hints) == 0 {
		t.Errorf("%v", err)
	}
}
