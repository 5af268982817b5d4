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

// Times after which a box is taken for lost. An honest init on a machine at its limits stays well below them.
var (
	silence = 15 * time.Second // without a heartbeat, which comes every 2 s
	grace   = 20 * time.Second // for an answer that needs no command of the subject, or after a kill
	asking  = 10 * time.Second // for Box.Lost
	tidying = 90 * time.Second // for the end of a session, whose files may be many
)

// Box is what an engine knows of a box that it started.
type Box struct {
	Info sandbox.Info
	Spec sandbox.Spec
	// Lost says why the box went. It is asked once, after the stream broke or the heartbeat stopped, has 10 s, and
	// may return nil where the engine knows nothing. Nil is allowed.
	Lost func(ctx context.Context) *sandbox.LostError
	// Close ends the box and removes all of it. It is called once, by Sandbox.Close, after rw was closed.
	Close func() error
}

// Connect speaks to the init of a box over its stdio. rw.Close must end a Read and a Write that hang. Connect returns
// when the init has answered, or with an error when ctx ends or the box is gone; then rw is closed, and the engine
// ends the box itself: Box.Close has not been called.
func Connect(ctx context.Context, rw io.ReadWriteCloser, b Box) (*Client, error) {
	mux, err := wire.Program(rw)
	if err != nil {
		rw.Close()
		return nil, fmt.Errorf("speaking to the init: %w", err)
	}
	c := &Client{box: b, mux: mux, gone: make(chan struct{}), sessions: map[*session]struct{}{}}
	if err := c.hello(ctx); err != nil {
		mux.Close()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("waiting for the init to answer: %w", context.Cause(ctx))
		}
		if _, ok := errors.AsType[*mismatchError](err); ok {
			return nil, err
		}
		return nil, c.ask(err)
	}
	c.work.Go(c.listen)
	return c, nil
}

// Client is a box as its init shows it.
type Client struct {
	box   Box
	mux   *yamux.Session
	first net.Conn // heartbeats in, kills and resizes out
	out   sync.Mutex
	work  sync.WaitGroup

	losing   sync.Once
	gone     chan struct{} // closed when lost holds the reason
	lost     *sandbox.LostError
	closing  sync.Once
	closeErr error

	mu       sync.Mutex
	runs     uint64
	sessions map[*session]struct{}
}

// mismatchError is an init of another version.
type mismatchError struct{ text string }

func (e *mismatchError) Error() string { return e.text }

func (c *Client) hello(ctx context.Context) error {
	st, err := c.mux.Open()
	if err != nil {
		return err
	}
	c.first = st
	stop := context.AfterFunc(ctx, func() { st.SetDeadline(time.Now()) })
	defer stop()
	err = wire.WriteJSON(st, wire.KindMessage, wire.Request{Op: "hello", Hello: &wire.Hello{
		Protocol: wire.Version, Path: c.box.Info.Path, Output: c.box.Spec.Limits.Output,
	}}, wire.MaxRequest)
	if err != nil {
		return err
	}
	var w wire.Welcome
	if err := wire.NewReader(st).ReadJSON(wire.KindMessage, &w, wire.MaxAnswer); err != nil {
		return err
	}
	if w.Protocol != wire.Version {
		return &mismatchError{fmt.Sprintf("the init speaks version %d of the protocol, this program %d", w.Protocol, wire.Version)}
	}
	if w.Error != "" {
		return &mismatchError{"starting the init: " + short(w.Error)}
	}
	if !stop() {
		return ctx.Err() // its deadline is on the stream now
	}
	return nil
}

// listen takes heartbeats until they stop.
func (c *Client) listen() {
	r := wire.NewReader(c.first)
	for {
		c.first.SetReadDeadline(time.Now().Add(silence))
		k, _, err := r.Next(0)
		switch {
		case errors.Is(err, yamux.ErrTimeout):
			c.lose(fmt.Errorf("its init gave no sign of life for %s", silence))
			return
		case err != nil:
			c.lose(err)
			return
		case k != wire.KindBeat:
			c.lose(fmt.Errorf("%w: kind %d where a heartbeat belongs", wire.ErrFrame, k))
			return
		}
	}
}

// lose makes every pending and later call fail with what the engine says, else with err.
func (c *Client) lose(err error) {
	c.losing.Do(func() {
		c.lost = c.ask(err)
		c.mu.Lock()
		c.lost.Started = c.runs > 0
		c.mu.Unlock()
		close(c.gone)
		c.mux.Close()
	})
	<-c.gone
}

// end is lose for a box that we close ourselves: the engine need not be asked.
func (c *Client) end() {
	c.losing.Do(func() {
		c.lost = &sandbox.LostError{Cause: sandbox.CauseKilled, Detail: "the box was closed"}
		close(c.gone)
	})
	<-c.gone
}

func (c *Client) ask(err error) *sandbox.LostError {
	detail := "the connection to its init broke"
	if !errors.Is(err, io.EOF) && !errors.Is(err, yamux.ErrConnectionReset) && !errors.Is(err, yamux.ErrSessionShutdown) {
		detail = short(err.Error())
	}
	own := &sandbox.LostError{Cause: sandbox.CauseUnknown, Detail: detail}
	if c.box.Lost == nil {
		return own
	}
	ctx, cancel := context.WithTimeout(context.Background(), asking)
	defer cancel()
	answer := make(chan *sandbox.LostError, 1)
	go func() { answer <- c.box.Lost(ctx) }()
	select {
	case l := <-answer:
		if l != nil {
			return l
		}
	case <-ctx.Done():
		own.Detail += "; the engine did not say why"
	}
	return own
}

// failed is the error of a call whose stream broke.
func (c *Client) failed(err error) error {
	c.lose(err)
	return c.lost
}

func (c *Client) Info() sandbox.Info { return c.box.Info }

func (c *Client) Close() error {
	c.closing.Do(func() {
		c.end()
		c.mux.Close()
		if c.box.Close != nil {
			c.closeErr = c.box.Close()
		}
		c.work.Wait()
	})
	return c.closeErr
}

// call opens a stream and sends a request. ctx bounds nothing after that.
func (c *Client) call(ctx context.Context, req wire.Request) (net.Conn, error) {
	select {
	case <-c.gone:
		return nil, c.lost
	default:
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	st, err := c.mux.Open()
	if err != nil {
		return nil, c.failed(err)
	}
	if err := wire.WriteJSON(st, wire.KindMessage, req, wire.MaxRequest); err != nil {
		st.Close()
		if errors.Is(err, wire.ErrTooLarge) {
			return nil, err
		}
		return nil, c.failed(err)
	}
	return st, nil
}

// ask1 is a call with one message as its answer, which comes within a time that no command of the subject decides.
func (c *Client) ask1(ctx context.Context, within time.Duration, req wire.Request, answer any) error {
	st, err := c.call(ctx, req)
	if err != nil {
		return err
	}
	defer st.Close()
	st.SetReadDeadline(time.Now().Add(within))
	stop := context.AfterFunc(ctx, func() { st.SetReadDeadline(time.Now()) })
	defer stop()
	err = wire.NewReader(st).ReadJSON(wire.KindMessage, answer, wire.MaxAnswer)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, yamux.ErrTimeout) {
			err = fmt.Errorf("its init did not answer within %s", within)
		}
		return c.failed(err)
	}
	return nil
}

// tell sends a kill or a resize. A box that takes none is noticed elsewhere.
func (c *Client) tell(k wire.Kind, v any) {
	c.out.Lock()
	defer c.out.Unlock()
	c.first.SetWriteDeadline(time.Now().Add(grace))
	wire.WriteJSON(c.first, k, v, wire.MaxRequest) //nolint:errcheck // a broken stream ends the run by itself
}

// short bounds what an init says before people see it.
func short(s string) string {
	if len(s) > 1000 {
		return s[:1000] + "..."
	}
	return s
}
