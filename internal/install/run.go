package install

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/bound"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/validator"
)

// Of each stream this much is kept to tell why a step failed.
const (
	keepHead = 4 << 10
	keepTail = 32 << 10
)

// run runs one step, called line for people, in /validate. A step that does not exit with 0 is a failure.
func (i *installer) run(ctx context.Context, line string, args ...string) (*Failure, error) {
	stdout, stderr := bound.NewBuffer(keepHead, keepTail), bound.NewBuffer(keepHead, keepTail)
	out, errs := i.log.Stream("  out| "), i.log.Stream("  err| ")
	exit, err := i.exec(ctx, line, io.MultiWriter(stdout, out), io.MultiWriter(stderr, errs), args...)
	i.logErr = errors.Join(i.logErr, out.Close(), errs.Close())
	if err != nil {
		return nil, err
	}
	if exit.Exited() && exit.Code == 0 {
		return nil, nil
	}
	return explain(line, args[0], exit, stdout.Bytes(), stderr.Bytes()), nil
}

// exec runs one step whatever comes of it.
func (i *installer) exec(ctx context.Context, line string, stdout, stderr io.Writer, args ...string) (sandbox.Exit, error) {
	i.logErr = errors.Join(i.logErr, i.log.Printf("install $ %s", line))
	left := time.Until(i.until)
	if left <= 0 {
		return sandbox.Exit{Code: -1, Cause: sandbox.CauseDeadline, Detail: "it was not started"}, nil
	}
	exit, err := i.session.Run(ctx, sandbox.Command{Args: args, Env: i.proxy, Dir: sandbox.Root, Stdout: stdout, Stderr: stderr, Timeout: left})
	if err != nil {
		return exit, err
	}
	i.logErr = errors.Join(i.logErr, i.log.Printf("  %s: %s", line, exit))
	if i.req.Ran != nil {
		i.req.Ran(validator.Ran{Command: line, Exit: exit})
	}
	return exit, nil
}

// step runs a program with its arguments.
func (i *installer) step(ctx context.Context, args ...string) (*Failure, error) {
	return i.run(ctx, strings.Join(args, " "), args...)
}
