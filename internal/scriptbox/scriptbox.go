// Package scriptbox is a box for unit tests of what runs commands in one: a function plays every command. Nothing is
// isolated and no process starts. What a real engine does is held by sandbox/sandboxtest.
package scriptbox

import (
	"context"
	"fmt"
	"io"
	"net"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/trkr-dev/trkr-validate/sandbox"
)

// Box is a sandbox.Sandbox. Its fields are set before it is used.
type Box struct {
	Path     string                  // Info().Path
	Product  bool                    // Info().Product
	Programs map[string]string       // what LookPath finds, by name
	Files    map[string]sandbox.File // what Observe finds at an absolute path
	Play     func(c *Call) sandbox.Exit
	Answer   func(t sandbox.Talk) sandbox.Reply // what a server says; nil: nobody listens
	OpenErr  error                              // of Open
	CloseErr error                              // of a session's Close

	mu       sync.Mutex
	Sessions []*Session // in the order in which they were opened
}

// Session is one session of a Box.
type Session struct {
	Box    *Box
	Spec   sandbox.SessionSpec
	Files  map[string]sandbox.File // below the working directory; Play changes it
	Calls  []*Call
	Err    error // of the next Run
	Closed bool
	dir    string
}

// Call is one command in the hands of Play.
type Call struct {
	*Session
	sandbox.Command
	Input string          // all of its stdin
	Line  string          // its words, joined by spaces; of /bin/sh -c the text
	Done  <-chan struct{} // closed when the command is to be killed
}

// Print writes to the command's output.
func (c *Call) Print(s string) { write(c.Stdout, s) }

// Complain writes to the command's standard error.
func (c *Call) Complain(s string) { write(c.Stderr, s) }

func write(w io.Writer, s string) {
	if w != nil {
		_, _ = io.WriteString(w, s) // what a test looks at cannot fail
	}
}

// Write makes a file below the working directory.
func (c *Call) Write(name, content string) {
	c.Session.Files[name] = sandbox.File{Type: "file", Mode: 0o644, Size: int64(len(content)), Content: []byte(content)}
}

// Exit is the end of a command with an exit code.
func Exit(code int) sandbox.Exit { return sandbox.Exit{Code: code, Elapsed: 5 * time.Millisecond} }

// Died is the end of a command by something else than itself.
func Died(cause sandbox.Cause, signal string) sandbox.Exit {
	return sandbox.Exit{Code: -1, Signal: signal, Cause: cause, Elapsed: 5 * time.Millisecond}
}

// Info does as sandbox.Sandbox says.
func (b *Box) Info() sandbox.Info {
	return sandbox.Info{Engine: "script", Path: b.Path, Product: b.Product}
}

// Inputs finds nothing.
func (b *Box) Inputs(context.Context, int64) ([]sandbox.File, error) { return nil, nil }

// Isolation has nothing to tell.
func (b *Box) Isolation(context.Context) (map[string]string, error) { return nil, nil }

// Close does nothing.
func (b *Box) Close() error { return nil }

// Open makes a session.
func (b *Box) Open(_ context.Context, spec sandbox.SessionSpec) (sandbox.Session, error) {
	if b.OpenErr != nil {
		return nil, b.OpenErr
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &Session{Box: b, Spec: spec, Files: map[string]sandbox.File{}, dir: fmt.Sprintf("/work/%d", len(b.Sessions))}
	b.Sessions = append(b.Sessions, s)
	return s, nil
}

// Dir is the working directory.
func (s *Session) Dir() string { return s.dir }

// Home is the home directory.
func (s *Session) Home() string { return s.dir + "-home" }

// Run has the command played. A decoy needs no player.
func (s *Session) Run(ctx context.Context, cmd sandbox.Command) (sandbox.Exit, error) {
	if err := s.Err; err != nil {
		s.Err = nil
		return sandbox.Exit{}, err
	}
	if err := ctx.Err(); err != nil {
		return sandbox.Exit{}, err
	}
	c := &Call{Session: s, Command: cmd, Line: strings.Join(cmd.Args, " "), Done: ctx.Done()}
	if len(cmd.Args) == 3 && cmd.Args[1] == "-c" {
		c.Line = cmd.Args[2]
	}
	if cmd.Stdin != nil {
		data, err := io.ReadAll(cmd.Stdin)
		if err != nil {
			return sandbox.Exit{}, err
		}
		c.Input = string(data)
	}
	s.Calls = append(s.Calls, c)
	for _, name := range s.Spec.Decoys {
		if cmd.Args[0] == name {
			return Exit(s.Spec.DecoyExit), nil
		}
	}
	exit := s.Box.Play(c)
	if exit.Cause == sandbox.CauseKilled {
		return exit, ctx.Err()
	}
	return exit, nil
}

// Observe looks at the session's files, and at the box's where the path is absolute.
func (s *Session) Observe(_ context.Context, content int64, paths ...string) ([]sandbox.File, error) {
	var files []sandbox.File
	for _, p := range paths {
		f := s.Files[p]
		if path.IsAbs(p) {
			f = s.Box.Files[p]
		}
		f.Path = p
		f.Content = f.Content[:min(int64(len(f.Content)), content)]
		files = append(files, f)
	}
	return files, nil
}

// LookPath finds what the box's Programs say.
func (s *Session) LookPath(_ context.Context, names ...string) ([]string, error) {
	found := make([]string, len(names))
	for i, name := range names {
		found[i] = s.Box.Programs[name]
	}
	return found, nil
}

// Talk has the box's Answer answer.
func (s *Session) Talk(ctx context.Context, t sandbox.Talk) (sandbox.Reply, error) {
	if s.Box.Answer == nil {
		return sandbox.Reply{}, ctx.Err()
	}
	return s.Box.Answer(t), ctx.Err()
}

// Listen gives a port of this machine.
func (s *Session) Listen(context.Context) (net.Listener, error) {
	return net.Listen("tcp", "127.0.0.1:0")
}

// Close marks the session closed.
func (s *Session) Close() error {
	s.Closed = true
	return s.Box.CloseErr
}
