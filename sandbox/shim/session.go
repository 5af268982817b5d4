package shim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/yamux"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
)

type session struct {
	c         *Client
	id        uint64
	uid       int
	dir, home string
	closing   sync.Once
	closeErr  error
}

func (c *Client) Open(ctx context.Context, s sandbox.SessionSpec) (sandbox.Session, error) {
	var o wire.Opened
	err := c.ask1(ctx, grace, wire.Request{Op: "open", Open: &wire.Open{
		Role: string(s.Role), Env: wire.Bytes(s.Env), Decoys: wire.Bytes(s.Decoys), DecoyExit: s.DecoyExit,
	}}, &o)
	if err != nil {
		return nil, fmt.Errorf("opening a session in the box: %w", err)
	}
	if o.Error != "" {
		return nil, fmt.Errorf("opening a session in the box: %s", short(o.Error))
	}
	if o.Session == 0 || o.UID == 0 || len(o.Dir) > wire.MaxPath || len(o.Home) > wire.MaxPath {
		return nil, c.failed(fmt.Errorf("%w: a session without a number or a uid", wire.ErrFrame))
	}
	return &session{c: c, id: o.Session, uid: o.UID, dir: o.Dir, home: o.Home}, nil
}

func (s *session) Dir() string  { return s.dir }
func (s *session) Home() string { return s.home }

// Run does as sandbox.Session says. It does not wait for a Stdin whose Read hangs after the command has ended.
func (s *session) Run(ctx context.Context, cmd sandbox.Command) (sandbox.Exit, error) {
	if len(cmd.Args) == 0 {
		return sandbox.Exit{Code: -1}, errors.New("running a command: it has no words")
	}
	req := wire.Run{
		Session: s.id, Args: wire.Bytes(cmd.Args), Dir: []byte(cmd.Dir), Env: wire.Bytes(cmd.Env),
		Stdin: cmd.Stdin != nil, Timeout: int64(cmd.Timeout),
	}
	r := &run{c: s.c, budget: s.c.box.Spec.Limits.Output, stdout: cmd.Stdout, stderr: cmd.Stderr, stdin: cmd.Stdin, timeout: cmd.Timeout}
	if cmd.TTY != nil {
		req.TTY = &wire.Resize{Rows: cmd.TTY.Rows, Cols: cmd.TTY.Cols}
		r.resize = cmd.TTY.Resize
	}
	return r.do(ctx, req)
}

// Close does as sandbox.Session says; it needs no ctx because an init that does not answer is a lost box.
func (s *session) Close() error {
	s.closing.Do(func() {
		var a wire.Closed
		err := s.c.ask1(context.Background(), tidying, wire.Request{Op: "close", Close: &wire.Close{Session: s.id}}, &a)
		if err == nil && a.Broken != "" {
			err = s.c.failed(errors.New(short(a.Broken)))
		} else if err == nil && a.Error != "" {
			err = errors.New(short(a.Error))
		}
		if err != nil {
			s.closeErr = fmt.Errorf("closing a session in the box: %w", err)
		}
	})
	return s.closeErr
}

// run is one command in flight.
type run struct {
	c              *Client
	id             uint64
	budget         int64 // of output; what is beyond it comes from an init that is not ours
	stdin          io.Reader
	stdout, stderr io.Writer
	resize         <-chan [2]uint16
	timeout        time.Duration

	st net.Conn

	mu  sync.Mutex
	due time.Time // after a kill: the command must have ended by then
}

// slack is what an honest init may send beyond the limit of output: a piece of each stream.
const slack = 4 * wire.MaxData

func (r *run) do(ctx context.Context, req wire.Run) (sandbox.Exit, error) {
	none := sandbox.Exit{Code: -1}
	r.c.mu.Lock()
	r.c.runs++
	r.id = r.c.runs
	r.c.mu.Unlock()
	req.ID = r.id
	st, err := r.c.call(ctx, wire.Request{Op: "run", Run: &req})
	if err != nil {
		if errors.Is(err, wire.ErrTooLarge) {
			return sandbox.Exit{Code: -1, Cause: sandbox.CauseNotExecutable, Detail: "argument list too long"}, nil
		}
		return none, err
	}
	defer st.Close()
	r.st = st
	in := wire.NewReader(st)
	st.SetReadDeadline(time.Now().Add(grace))
	if k, _, err := in.Next(0); err != nil || k != wire.KindStarted {
		if err == nil {
			err = fmt.Errorf("%w: kind %d where a command starts", wire.ErrFrame, k)
		} else if errors.Is(err, yamux.ErrTimeout) {
			err = fmt.Errorf("its init started no command within %s", grace)
		}
		return none, r.c.failed(err)
	}
	st.SetReadDeadline(time.Time{})

	over := make(chan struct{})
	defer close(over)
	stop := context.AfterFunc(ctx, func() {
		cause := sandbox.CauseKilled
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			cause = sandbox.CauseDeadline
		}
		r.kill(cause)
	})
	defer stop()
	if r.timeout > 0 { // the init keeps it; this is for one that does not
		t := time.AfterFunc(r.timeout+grace/4, func() { r.kill(sandbox.CauseDeadline) })
		defer t.Stop()
	}
	if r.stdin != nil {
		go r.feed(r.stdin)
	}
	if r.resize != nil {
		go r.follow(r.resize, over)
	}
	exit, err := r.collect(in)
	if err != nil {
		return exit, err
	}
	if errors.Is(ctx.Err(), context.Canceled) && exit.Cause == sandbox.CauseKilled {
		return exit, ctx.Err()
	}
	return exit, nil
}

// kill asks the init to end the command. Its exit is due within grace of the first kill, whatever comes before it.
func (r *run) kill(cause sandbox.Cause) {
	r.mu.Lock()
	if r.due.IsZero() {
		r.due = time.Now().Add(grace)
		r.st.SetReadDeadline(r.due)
	}
	r.mu.Unlock()
	r.c.tell(wire.KindKill, wire.Kill{ID: r.id, Cause: string(cause)})
}

// late reports whether the command should have ended by now. A stream with data at hand knows no deadline.
func (r *run) late() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.due.IsZero() && time.Now().After(r.due)
}

// write passes data on to a writer of ours. The time that takes after a kill is not the init's.
func (r *run) write(w io.Writer, data []byte) error {
	begin := time.Now()
	_, err := w.Write(data)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.due.IsZero() {
		if killed := r.due.Add(-grace); killed.After(begin) {
			begin = killed
		}
		r.due = r.due.Add(time.Since(begin))
		r.st.SetReadDeadline(r.due)
	}
	return err
}

// collect passes the output on until the command's exit.
func (r *run) collect(in *wire.Reader) (sandbox.Exit, error) {
	none := sandbox.Exit{Code: -1}
	var total int64
	var writing error
	for {
		k, data, err := in.Next(wire.MaxAnswer)
		if err == nil && k != wire.KindExit && r.late() {
			err = yamux.ErrTimeout
		}
		if err != nil {
			if errors.Is(err, yamux.ErrTimeout) {
				err = fmt.Errorf("its init did not end a command within %s", grace)
			}
			return none, r.c.failed(err)
		}
		switch k {
		case wire.KindStdout, wire.KindStderr:
			if total += int64(len(data)); total > r.budget+slack {
				return none, r.c.failed(fmt.Errorf("%w: more output than the limit of %d bytes", wire.ErrFrame, r.budget))
			}
			w := r.stdout
			if k == wire.KindStderr {
				w = r.stderr
			}
			if w == nil || writing != nil {
				continue
			}
			if err := r.write(w, data); err != nil {
				writing = fmt.Errorf("taking a command's output: %w", err)
				r.kill(sandbox.CauseKilled)
			}
		case wire.KindExit:
			var e wire.Exit
			if err := wire.Decode(data, &e); err != nil {
				return none, r.c.failed(err)
			}
			if e.Broken != "" {
				return none, r.c.failed(errors.New(short(e.Broken)))
			}
			return sandbox.Exit{
				Code: e.Code, Signal: short(e.Signal), Cause: sandbox.Cause(short(e.Cause)), Detail: short(e.Detail),
				Elapsed: time.Duration(e.Elapsed),
			}, writing
		default:
			return none, r.c.failed(fmt.Errorf("%w: kind %d where output belongs", wire.ErrFrame, k))
		}
	}
}

// feed sends stdin until it ends or the command has.
func (r *run) feed(stdin io.Reader) {
	b := new(wire.Buffer)
	for {
		n, err := stdin.Read(b.Space())
		if n > 0 && b.Send(r.st, wire.KindStdin, n) != nil {
			return
		}
		if err != nil { // an input that breaks is one that ends: the command sees no more of it
			wire.Write(r.st, wire.KindEOF, nil) //nolint:errcheck // the command has ended
			return
		}
	}
}

func (r *run) follow(sizes <-chan [2]uint16, over <-chan struct{}) {
	for {
		select {
		case <-over:
			return
		case s, ok := <-sizes:
			if !ok {
				return
			}
			r.c.tell(wire.KindResize, wire.Resize{ID: r.id, Rows: s[0], Cols: s[1]})
		}
	}
}
