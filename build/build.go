// Package build runs validate.build on the host.
package build

import (
	"context"
	"errors"
	"io"
	"time"
)

// Request describes a build.
type Request struct {
	Dir     string        // the worktree
	Command string        // for /bin/sh -c
	Env     []string      // all of the environment, NAME=value; see Environment
	Timeout time.Duration // must be positive
	Log     io.Writer     // all output as it comes; nil discards. The caller bounds it (bound.NewWriter)
}

// Result of a build that ended with exit code 0.
type Result struct {
	Elapsed   time.Duration
	Leftovers []string // names of processes that were still there afterwards and were killed
	Tail      string   // the last of the output
}

var errEarly = errors.New("build: not there yet")

// Run builds. What the ticket is to blame for is a *verdict.Refusal.
func Run(ctx context.Context, r Request) (Result, error) { return Result{}, errEarly }

// Environment is what a build may see.
func Environment(caller, extra []string, issue, branch, commit string) ([]string, error) {
	return nil, errEarly
}
