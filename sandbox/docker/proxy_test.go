package docker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/sandbox"
)

// proxy stands between the engine and the real daemon, and can be made to misbehave.
type proxy struct {
	listener net.Listener
	daemon   string

	mu   sync.Mutex
	lose string        // the answers to requests whose path ends so are lost
	hang string        // requests whose path ends so are not answered, and not handed on
	once bool          // the next answer that is lost is the last
	ice  chan struct{} // closed to end a freeze: until then nothing passes
	open []net.Conn
	work sync.WaitGroup
}

// misbehaving gives an engine that speaks to the daemon through a proxy.
func misbehaving(t *testing.T) (*engine, *proxy) {
	t.Helper()
	real := testEngine(t)
	d, err := real.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	socket, ok := strings.CutPrefix(d.DaemonHost(), "unix://")
	if !ok {
		t.Skipf("the daemon listens at %s, not at a socket", d.DaemonHost())
	}
	alone(t)
	p := &proxy{daemon: socket}
	path := listen(t, func(l net.Listener) {
		p.mu.Lock()
		p.listener = l
		p.mu.Unlock()
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.work.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(p.cut)
	t.Setenv("DOCKER_HOST", "unix://"+path)
	return newEngine(real.options), p
}

// cut ends the proxy and all that goes through it.
func (p *proxy) cut() {
	p.freeze(false)
	p.mu.Lock()
	if p.listener != nil {
		p.listener.Close()
	}
	for _, c := range p.open {
		c.Close()
	}
	p.open = nil
	p.mu.Unlock()
	p.work.Wait()
}

// serve copies one connection. The client sends one request at a time, and its head in one piece.
func (p *proxy) serve(c net.Conn) {
	defer c.Close()
	up, err := net.Dial("unix", p.daemon)
	if err != nil {
		return
	}
	defer up.Close()
	p.mu.Lock()
	p.open = append(p.open, c, up)
	p.mu.Unlock()
	var losing sync.Map
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer c.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := up.Read(buf)
			p.thaw()
			if _, lost := losing.Load("now"); lost || err != nil {
				return
			}
			if _, err := c.Write(buf[:n]); err != nil {
				return
			}
		}
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := c.Read(buf)
		p.thaw()
		if err != nil {
			if u, ok := up.(*net.UnixConn); ok && errors.Is(err, io.EOF) {
				_ = u.CloseWrite()
				<-done
			}
			break
		}
		line, _, _ := bytes.Cut(buf[:n], []byte("\r\n"))
		words := strings.Fields(string(line))
		if len(words) == 3 && strings.HasPrefix(words[2], "HTTP/") {
			path, _, _ := strings.Cut(words[1], "?")
			p.mu.Lock()
			lose, hang := p.lose, p.hang
			if p.once && lose != "" && strings.HasSuffix(path, lose) {
				p.lose = ""
			}
			p.mu.Unlock()
			if lose != "" && strings.HasSuffix(path, lose) {
				losing.Store("now", true)
			}
			if hang != "" && strings.HasSuffix(path, hang) {
				continue
			}
		}
		if _, err := up.Write(buf[:n]); err != nil {
			break
		}
	}
	up.Close()
	<-done
}

// thaw waits until nothing is frozen.
func (p *proxy) thaw() {
	p.mu.Lock()
	ice := p.ice
	p.mu.Unlock()
	if ice != nil {
		<-ice
	}
}

// freeze lets nothing pass until it is called again.
func (p *proxy) freeze(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if on {
		p.ice = make(chan struct{})
	} else if p.ice != nil {
		close(p.ice)
		p.ice = nil
	}
}

// drop ends what goes through the proxy and takes new connections: a daemon that has started again.
func (p *proxy) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.open {
		c.Close()
	}
	p.open = nil
}

func (p *proxy) set(lose, hang string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose, p.hang = lose, hang
}

func TestTheAnswerToACreateIsLost(t *testing.T) {
	e, p := misbehaving(t)
	spec := testSpec(t, "host")
	if _, err := e.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.set("/containers/create", "")
	_, err := e.Start(t.Context(), spec)
	if err == nil {
		t.Fatal("a box was started")
	}
	wantFault(t, err, "docker_unreachable")
	if left := boxes(t, testEngine(t), spec.RunID); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestStartIsCancelled(t *testing.T) {
	e, p := misbehaving(t)
	spec := testSpec(t, "host")
	for _, at := range []string{"/containers/create", "/attach", "/start"} {
		p.set("", at)
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		_, err := e.Start(ctx, spec)
		cancel()
		if err == nil || ctx.Err() == nil {
			t.Errorf("with no answer to %s: %v, context %v", at, err, ctx.Err())
		}
		if left := boxes(t, testEngine(t), spec.RunID); len(left) > 0 {
			t.Errorf("with no answer to %s, left behind: %v", at, left)
		}
	}
}

func TestTheDaemonGoesAwayUnderABox(t *testing.T) {
	e, p := misbehaving(t)
	spec := testSpec(t, "host")
	box, err := e.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	direct := newEngine(e.options)
	t.Setenv("DOCKER_HOST", "unix://"+p.daemon)
	d, err := direct.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, name := range boxes(t, direct, spec.RunID) {
			if err := d.remove(context.Background(), name, false); err != nil {
				t.Error(err)
			}
		}
	})
	p.cut()
	_, err = box.Inputs(t.Context(), 0)
	if lost, ok := errors.AsType[*sandbox.LostError](err); !ok || !lost.Engine {
		t.Errorf("Inputs() gives %v, want an engine lost", err)
	}
	wantFault(t, box.Close(), "docker_leftover")
}

func TestTheContainerIsRemovedUnderABox(t *testing.T) {
	e := testEngine(t)
	spec := testSpec(t, "host")
	box := start(t, e, spec)
	d, err := e.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.remove(t.Context(), boxes(t, e, spec.RunID)[0], false); err != nil {
		t.Fatal(err)
	}
	_, err = box.Inputs(t.Context(), 0)
	if lost, ok := errors.AsType[*sandbox.LostError](err); !ok || lost.Engine {
		t.Errorf("Inputs() gives %v, want a box lost", err)
	}
}
