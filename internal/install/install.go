// Package install makes the artifact usable in the box, as a user would: offline, under a uid of its own, into a prefix
// that the program under test can read and not write.
package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/plain"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/validator"
	"github.com/trkr-dev/trkr-validate/validator/gateway"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// Request says what to install.
type Request struct {
	Commands   []string        // validate.install; empty: by the kind that Manifest shows
	Manifest   []verdict.Entry // of the sealed artifact set
	Path       []string        // directories of the artifact that hold programs, as seen from inside
	Timeout    time.Duration   // for all of it; must be positive
	Transcript io.Writer       // what was run and seen, for people; never nil
	Ran        func(validator.Ran)
	Network    Network
}

// Network is what the install may reach. The zero value is nothing.
type Network struct {
	Places []string // host:port each; only over TLS or other tunnels
	Most   int64    // bytes carried, in both directions together
	Seen   func(gateway.Seen)
}

// Kinds of install.
const (
	KindCommands = "commands" // validate.install said how
	KindNpm      = "npm"      // tarballs of npm pack
	KindPython   = "python"   // wheels, source distributions
	KindArchive  = "archive"  // archives of programs
	KindPrograms = "programs" // programs as they are: nothing to install
)

// Result of an install. Where Failure is nil the artifact is ready to be exercised.
type Result struct {
	Installed bool     // something was installed; false with no Failure: there was nothing to install
	Kind      string   // one of the kinds; empty where it could not be told
	Failure   *Failure // why it could not be installed
	Path      []string // directories below the prefix that hold programs; they come after Request.Path
	Programs  []string // names of the programs there that the install made; what a decoy replaces
}

// installer is one install under way.
type installer struct {
	req     Request
	box     sandbox.Sandbox
	session sandbox.Session
	refused atomic.Pointer[gateway.Seen] // the first request that led nowhere
	proxy   []string                     // variables that lead tools to the network; nil: there is none
	log     *plain.Log
	logErr  error
	until   time.Time
}

// Run installs the artifact: with Request.Commands, each with /bin/sh -c in /validate, else as its kind is installed.
// The error is about the box (*sandbox.LostError, a cancelled ctx) or the transcript; an install that fails is in
// Result.Failure. When it returns, nothing of the install runs any more.
func Run(ctx context.Context, box sandbox.Sandbox, req Request) (r Result, err error) {
	if len(req.Commands) == 0 && !installable(req.Manifest) {
		return Result{Kind: KindPrograms}, nil
	}
	i := &installer{req: req, box: box, log: plain.New(req.Transcript), until: time.Now().Add(req.Timeout)}
	i.session, err = box.Open(ctx, sandbox.SessionSpec{Role: sandbox.RoleInstall, Env: i.environment()})
	if err != nil {
		return Result{}, fmt.Errorf("opening a session for the install: %w", err)
	}
	offline, err := i.connect(ctx)
	if err == nil {
		r.Failure, err = i.install(ctx, &r)
	}
	offline()
	i.lacked(r.Failure)
	if err = errors.Join(err, i.session.Close(), i.logErr); err != nil || r.Failure != nil {
		return r, err
	}
	r.Installed = true
	// The box has shut the prefix now, and somebody else looks at it: what that one may run, the assertions may.
	if i.session, err = box.Open(ctx, sandbox.SessionSpec{Role: sandbox.RoleSubject}); err != nil {
		return r, fmt.Errorf("opening a session to look at what was installed: %w", err)
	}
	defer func() { err = errors.Join(err, i.session.Close(), i.logErr) }()
	r.Failure, err = i.finish(ctx, &r)
	return r, err
}

// install does the steps of the artifact's kind, up to the first that fails.
func (i *installer) install(ctx context.Context, r *Result) (*Failure, error) {
	if len(i.req.Commands) > 0 {
		r.Kind = KindCommands
		return i.commands(ctx)
	}
	a, failure, err := i.classify(ctx)
	if failure != nil || err != nil {
		return failure, err
	}
	r.Kind = a.kind
	switch a.kind {
	case KindNpm:
		return i.npm(ctx, a.files)
	case KindPython:
		return i.python(ctx, a)
	default:
		return i.unpack(ctx, a.files)
	}
}

func (i *installer) commands(ctx context.Context) (*Failure, error) {
	for _, text := range i.req.Commands {
		if failure, err := i.run(ctx, text, "/bin/sh", "-c", text); failure != nil || err != nil {
			return failure, err
		}
	}
	return nil, nil
}

// environment tells tools where to install to, and that there is no network: one that knows fails at once and says
// what it lacks, instead of trying again for minutes.
func (i *installer) environment() []string {
	bin := sandbox.Prefix + "/bin"
	path := append([]string(nil), i.req.Path...)
	if len(i.req.Commands) > 0 { // a command finds what the one before installed; our own steps want the image's Python
		path = append(path, bin)
	}
	path = append(path, i.box.Info().Path)
	env := []string{
		"PATH=" + strings.Join(path, ":"), "PREFIX=" + sandbox.Prefix, "CI=true",
		"npm_config_prefix=" + sandbox.Prefix, "npm_config_audit=false", "npm_config_fund=false",
		"npm_config_update_notifier=false", "YARN_ENABLE_TELEMETRY=0",
		"PIP_NO_INPUT=1", "PIP_DISABLE_PIP_VERSION_CHECK=1",
		"GOTOOLCHAIN=local", "GOBIN=" + bin, "CARGO_INSTALL_ROOT=" + sandbox.Prefix,
	}
	if len(i.req.Network.Places) > 0 {
		return env
	}
	return append(env, "npm_config_offline=true", "YARN_ENABLE_NETWORK=0", "PIP_NO_INDEX=1", "UV_OFFLINE=1", "GOPROXY=off",
		"CARGO_NET_OFFLINE=true", "COMPOSER_DISABLE_NETWORK=1")
}
