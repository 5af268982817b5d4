package main

import (
	"testing"

	"github.com/trkr-dev/trkr-validate/config"
	"github.com/trkr-dev/trkr-validate/validator/probe"
)

func TestEveryAgentIsMadeOrNone(t *testing.T) {
	made, err := agents([]config.Agent{{Kind: "probe"}, {Kind: "command", Command: []string{"./judge.sh"}}}, probe.Options{})
	if err != nil || len(made) != 2 {
		t.Errorf("made %v, %v", made, err)
	}
	if made, err := agents([]config.Agent{{Kind: "probe"}, {Kind: "oracle"}}, probe.Options{}); err == nil || made != nil {
		t.Errorf("a kind that nobody knows gave %v", made)
	}
}
