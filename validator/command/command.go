// Package command is the agent that the user brings: a command that lives in the box and prints a report.
package command

import (
	"context"
	"errors"
	"slices"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/validator"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// New makes an agent that runs argv in the box. argv must not be empty and is not expanded.
func New(argv []string) validator.Agent { return agent{argv: slices.Clone(argv)} }

type agent struct{ argv []string }

func (agent) Name() string           { return "command" }
func (agent) Version() string        { return "1" }
func (agent) Trust() validator.Trust { return validator.Inside }

func (agent) Validate(context.Context, sandbox.Sandbox, validator.Task) (verdict.Report, error) {
	return verdict.Report{}, errors.New("command: not built yet")
}
