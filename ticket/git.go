package ticket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

const (
	quickLimit  = 2 * time.Minute  // any command that only reads or writes objects and refs
	slowLimit   = 15 * time.Minute // one that reads or writes a whole worktree
	outputLimit = 256 << 20        // bytes of stdout; a listing of a million paths fits
	stderrLimit = 64 << 10
)

// program is the git program that was found when the repository was opened.
type program struct {
	path  string
	env   []string
	limit int // bytes of stdout
}

// place says where a command runs. With gitDir set git looks for nothing: not even a planted .git file in dir can
// lead it elsewhere.
type place struct {
	dir      string
	gitDir   string // empty: found from dir
	workTree string // only with gitDir; empty: none is needed
}

// call is one command. Stdout is returned, never shown.
type call struct {
	at    place
	args  []string
	env   []string
	stdin io.Reader
	slow  bool
}

func (c call) limit() time.Duration {
	if c.slow {
		return slowLimit
	}
	return quickLimit
}

// gitError is a git command that ran and said no.
type gitError struct {
	args   []string
	exit   int // -1: ended by a signal
	stderr string
}

func (e *gitError) Error() string {
	text := strings.TrimSpace(e.stderr)
	if text == "" {
		text = fmt.Sprintf("exit code %d", e.exit)
	}
	return fmt.Sprintf("git %s: %s", e.args[0], text)
}

// exited reports whether err is a git command that ended with the exit code.
func exited(err error, code int) bool {
	e, ok := errors.AsType[*gitError](err)
	return ok && e.exit == code
}

// usable are the git programs whose version was asked, by path.
var usable sync.Map

// findGit looks git up once, before anything of a ticket runs, for the repository that dir is in.
func findGit(ctx context.Context, dir string) (program, error) {
	path, err := lookGit(dir)
	if err != nil {
		return program{}, err
	}
	p := program{path: path, env: environment(), limit: outputLimit}
	if _, ok := usable.Load(path); ok {
		return p, nil
	}
	out, err := p.output(ctx, call{at: place{dir: "/"}, args: []string{"version"}})
	if err != nil {
		return program{}, err
	}
	var major, minor int
	if _, err := fmt.Sscanf(string(out), "git version %d.%d", &major, &minor); err != nil {
		return program{}, fault.Envf("git_missing", []string{"put the git program on PATH"}, "asking %s for its version: it says %q", path, strings.TrimSpace(string(out)))
	}
	// 2.31 is the first that takes settings through GIT_CONFIG_COUNT; an older one would run the repository's filters.
	if major < 2 || major == 2 && minor < 31 {
		return program{}, fault.Envf("git_too_old", []string{"install git 2.31 or newer"}, "%s is version %d.%d", path, major, minor)
	}
	usable.Store(path, true)
	return p, nil
}

// output runs the command and returns its stdout. A command that fails is a *gitError, inside a *fault.Error where
// the reason is one that a person can act on.
func (p program) output(ctx context.Context, c call) ([]byte, error) {
	out, err := p.once(ctx, c)
	for began := time.Now(); halfMade(c, err) && time.Since(began) < halfMadeLimit; {
		time.Sleep(10 * time.Millisecond)
		out, err = p.once(ctx, c)
	}
	return out, err
}

// halfMadeLimit is far above what another git needs, also on a machine at its limits.
const halfMadeLimit = 5 * time.Second

// halfMade reports whether git, which looks at all worktrees, met one that another git was registering or removing at
// that moment. It then gives up, and would not a moment later.
func halfMade(c call, err error) bool {
	e, ok := errors.AsType[*gitError](err)
	return ok && c.args[0] == "worktree" && strings.Contains(e.stderr, "failed to read") && strings.Contains(e.stderr, "/worktrees/")
}

func (p program) once(ctx context.Context, c call) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.limit(), errTooSlow)
	defer cancel()

	cmd := p.command(ctx, c)
	cmd.Stdin = c.stdin
	stdout := &bounded{limit: p.limit, stop: cancel}
	stderr := &bounded{limit: stderrLimit}
	cmd.Stdout, cmd.Stderr = stdout, stderr

	err := cmd.Run()
	switch {
	case stdout.full:
		return nil, tooMuch(c.args[0], p.limit)
	case err == nil:
		return stdout.buf.Bytes(), nil
	}
	return nil, c.failure(ctx, err, stderr)
}

// command is the program with everything but its stdio. It ends with ctx.
func (p program) command(ctx context.Context, c call) *exec.Cmd {
	args := append([]string{}, settings...)
	env := append(append([]string{}, p.env...), c.env...)
	if c.at.gitDir != "" {
		env = append(env, "GIT_DIR="+c.at.gitDir)
		if c.at.workTree != "" {
			env = append(env, "GIT_WORK_TREE="+c.at.workTree)
		}
	}
	cmd := exec.CommandContext(ctx, p.path, append(args, c.args...)...)
	cmd.Dir, cmd.Env = c.at.dir, env
	ownGroup(cmd)
	return cmd
}

const (
	codeFailed = "git_failed"
	codeOutput = "git_output"
)

func tooMuch(command string, limit int) error {
	return fault.Envf(codeOutput, nil, "git %s: more than %d bytes of output", command, limit)
}

// failure is how a command that ended with err failed.
func (c call) failure(ctx context.Context, err error, stderr *bounded) error {
	switch {
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), errTooSlow):
		return fault.Envf("git_timeout", []string{"see whether git itself hangs in " + c.at.dir}, "git %s: no answer within %s", c.args[0], c.limit())
	case ctx.Err() != nil:
		return fmt.Errorf("git %s: %w", c.args[0], context.Cause(ctx))
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return fault.Env(codeFailed, fmt.Errorf("git %s: %w", c.args[0], err))
	}
	return explain(c.at, &gitError{args: c.args, exit: exit.ExitCode(), stderr: stderr.buf.String()})
}

// line is output for a command that prints one value. Only the line end that git adds is dropped: the value may be a
// path that ends with one.
func (p program) line(ctx context.Context, c call) (string, error) {
	out, err := p.output(ctx, c)
	return strings.TrimSuffix(string(out), "\n"), err
}

var errTooSlow = errors.New("too slow")

// writing are the commands that write; one of them that may not is a fault of its own.
var writing = []string{"hash-object", "mktree", "commit-tree", "update-ref", "update-index", "worktree"}

// explain gives the failures that have one well-known cause their code and their remedy. The texts are git's in the
// C locale.
func explain(at place, e *gitError) error {
	switch {
	case strings.Contains(e.stderr, "dubious ownership"), strings.Contains(e.stderr, "unsafe repository"):
		return fault.Env("dubious_ownership", e, "the repository belongs to another user; if you trust it: git config --global --add safe.directory "+shellQuote(at.dir))
	case strings.Contains(e.stderr, "not a git repository"):
		return fault.Usage("no_repository", fmt.Errorf("%q is in no git repository: %w", at.dir, e), "run it inside the ticket's repository, or name one with -C DIR")
	case strings.Contains(e.stderr, "No space left on device"):
		return fault.Env("disk_full", e, "free some space and run it again")
	case strings.Contains(e.stderr, "promisor remote"):
		return fault.Env(codeObjects, e, "this is a partial clone and nothing is fetched here: check the ticket's branch out first, in a worktree or a full clone")
	case strings.Contains(e.stderr, ".lock': File exists"):
		return fault.Env("git_locked", e, "another git command works there: wait for it and run it again")
	case !slices.Contains(writing, e.args[0]):
	case strings.Contains(e.stderr, "Read-only file system"), strings.Contains(e.stderr, "ermission denied"), strings.Contains(e.stderr, "insufficient permission"):
		return fault.Env("repository_read_only", e, "the repository's git directory must be writable for this user")
	}
	return fault.Env(codeFailed, e)
}

// ownGroup starts cmd in a process group of its own: a signal from the terminal is ours to handle, and what cmd
// started ends with it when the context does.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
}

// bounded keeps the first limit bytes; with stop set it ends the writer at the limit instead.
type bounded struct {
	buf   bytes.Buffer
	limit int
	stop  func()
	full  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := b.limit - b.buf.Len(); len(p) > room {
		b.buf.Write(p[:room])
		if b.stop != nil {
			b.full = true
			b.stop()
			return room, io.ErrShortWrite
		}
		return len(p), nil
	}
	return b.buf.Write(p)
}

func shellQuote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
