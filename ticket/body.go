package ticket

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/trkr-dev/trkr-validate/contract"
	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// bodyTimeout is how long issue.command may take.
const bodyTimeout = 30 * time.Second

// IssueBody runs command with sh in dir and returns what it prints: the body of the issue. {issue} stands for the id
// as a shell word; TRKR_ISSUE holds it too. The command is the caller's own and gets the caller's environment, but for
// GIT_*. It has 30 seconds; a failure is a fault of the environment.
func IssueBody(ctx context.Context, command, dir, issue string) ([]byte, error) {
	return issueBody(ctx, command, dir, issue, bodyTimeout)
}

func issueBody(ctx context.Context, command, dir, issue string, limit time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTooSlow)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", strings.ReplaceAll(command, "{issue}", shellQuote(issue)))
	cmd.Dir = dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "TRKR_ISSUE="+issue)
	stdout := &bounded{limit: contract.MaxSize, stop: cancel}
	stderr := &bounded{limit: stderrLimit}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	ownGroup(cmd)

	err := cmd.Run()
	// What it left in the background has no business any more.
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	hint := "try it by hand: TRKR_ISSUE=" + issue + " sh -c " + shellQuote(strings.ReplaceAll(command, "{issue}", shellQuote(issue)))
	switch {
	case stdout.full:
		return nil, fault.Envf("issue_command", []string{hint}, "issue.command printed more than %d bytes", contract.MaxSize)
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // it ended well; something it left behind held its output open
		return stdout.buf.Bytes(), nil
	case errors.Is(context.Cause(ctx), errTooSlow):
		return nil, fault.Envf("issue_command", []string{hint}, "issue.command did not end within %s", limit)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("running issue.command: %w", context.Cause(ctx))
	}
	return nil, fault.Envf("issue_command", []string{hint}, "running issue.command: %w: %s", err, strings.TrimSpace(stderr.buf.String()))
}
