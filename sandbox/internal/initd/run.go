//go:build unix

package initd

import (
	"errors"
	"math"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
)

// helperOutput bounds what one of our own helpers may say.
const helperOutput = 1 << 30

// A command that floods us in small pieces is read a little later, in larger ones: each costs as much as the other.
const (
	flood  = 1 << 20
	gather = 200 * time.Microsecond
)

const (
	lookEvery  = 100 * time.Millisecond
	firstTasks = 16 // threads that the first process may have had: they are gone with it
)

// pipeSize is asked of the system for stdout. Much more, or more pipes of it, would use up what a user may have on the
// whole machine (64 MiB), and all of the user's pipes after that are of 8 KiB. Draining reads no more than drainMost.
const (
	pipeSize  = 256 << 10
	drainMost = 2 << 20
)

// run is one command from its start until nothing of its identity is left.
type run struct {
	id     Identity
	budget atomic.Int64 // bytes of output left

	once  sync.Once
	cause sandbox.Cause // why we ended it; set before ending is closed
	end   chan struct{}

	mu     sync.Mutex
	resize func(rows, cols uint16)
}

// kill ends the command. The first cause stands.
func (r *run) kill(c sandbox.Cause) {
	r.once.Do(func() {
		r.cause = c
		close(r.end)
	})
}

// expire ends the command once the time is over; 0 is no limit.
func (r *run) expire(timeout int64) *time.Timer {
	if timeout <= 0 {
		timeout = math.MaxInt64
	}
	return time.AfterFunc(time.Duration(timeout), func() { r.kill(sandbox.CauseDeadline) })
}

func (r *run) setSize(rows, cols uint16) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.resize != nil {
		r.resize(rows, cols)
	}
}

func (s *server) execute(st net.Conn, in *wire.Reader, q wire.Run) {
	r := &run{end: make(chan struct{})}
	s.mu.Lock()
	s.runs[q.ID] = r
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.runs, q.ID)
		s.mu.Unlock()
	}()
	if wire.Write(st, wire.KindStarted, nil) != nil {
		return
	}
	exit := s.supervise(st, in, r, q)
	exit.Detail, exit.Broken = cut(exit.Detail), cut(exit.Broken)
	wire.WriteJSON(st, wire.KindExit, exit, wire.MaxAnswer) //nolint:errcheck // the program is gone
}

func (s *server) supervise(st net.Conn, in *wire.Reader, r *run, q wire.Run) *wire.Exit {
	c := Command{Args: wire.Strings(q.Args), Dir: string(q.Dir), Helper: q.Helper, Stdin: q.Stdin, TTY: q.TTY}
	r.budget.Store(s.hello.Output)
	se := s.session(q.Session)
	switch {
	case se != nil:
		se.busy.Lock()
		defer se.busy.Unlock()
		r.id = se.id
		if c.Dir == "" {
			c.Dir = se.dirs.Work
		}
		s.environ(&c, se, wire.Strings(q.Env))
	case q.Session == 0 && c.Helper != "":
		return s.look(st, in, r, q)
	default:
		return &wire.Exit{Code: -1, Broken: "a command came for a session that is not open"}
	}
	if c.Helper != "" {
		r.budget.Store(helperOutput)
		if err := s.ground.Kill(r.id); err != nil { // nothing that could bend the helper may run beside it
			return &wire.Exit{Code: -1, Broken: err.Error()}
		}
	} else if len(c.Args) == 0 {
		return &wire.Exit{Code: -1, Cause: string(sandbox.CauseNotFound), Detail: "the command has no words"}
	}
	before := s.ground.Count()
	started := time.Now()
	p, exit := s.ground.Start(r.id, c)
	if exit != nil {
		if err := s.ground.Kill(r.id); err != nil {
			exit.Broken = err.Error()
		}
		return exit
	}
	r.mu.Lock()
	r.resize = p.Resize
	r.mu.Unlock()
	defer r.expire(q.Timeout).Stop()
	done := s.finish(st, in, r, p, started)
	exit = s.judge(r, done, before)
	return exit
}

// environ sets what a command of a session sees. Decoys stay first on PATH whatever PATH is asked for.
func (s *server) environ(c *Command, se *session, extra []string) {
	c.Env = merge(se.env, extra)
	c.Path = lookup(c.Env, "PATH")
	if se.dirs.Decoys != "" {
		c.Path = se.dirs.Decoys + ":" + c.Path
		c.Env = merge(c.Env, []string{"PATH=" + c.Path, DecoyExit + "=" + strconv.Itoa(se.exit)})
	}
}

type outcome struct {
	status  Status
	elapsed time.Duration
	pids    bool // the limit of pids was seen to be reached
	own     bool // it ended before there was a reason to end it
	broken  error
}

// finish waits for the end of the first process or for a reason to end it, ends everything of the identity, and sends
// what is left in the pipes.
func (s *server) finish(st net.Conn, in *wire.Reader, r *run, p *Process, started time.Time) outcome {
	var out sync.Mutex
	stop := make(chan struct{})
	var pumps sync.WaitGroup
	pumps.Go(func() { r.pump(st, &out, wire.KindStdout, p.Stdout, stop) })
	if p.Stderr != nil {
		pumps.Go(func() { r.pump(st, &out, wire.KindStderr, p.Stderr, stop) })
	}
	// The feeder also sees a program that goes away; it ends with the stream, which our caller closes.
	go r.feed(in, p)

	o := s.await(r, p)
	if o.own {
		o.elapsed = time.Since(started)
	}
	if o.broken = s.ground.Kill(r.id); o.broken == nil && !o.own {
		o.status = <-p.Done
		o.elapsed = time.Since(started)
	}
	r.mu.Lock()
	r.resize = nil
	r.mu.Unlock()
	close(stop)
	for _, f := range []*os.File{p.Stdout, p.Stderr} {
		if f != nil {
			f.SetReadDeadline(time.Unix(1, 0)) // a file without deadlines ends by itself: its writers are dead
		}
	}
	pumps.Wait()
	for _, f := range []*os.File{p.Stdin, p.Stdout, p.Stderr} {
		if f != nil {
			f.Close()
		}
	}
	return o
}

// await returns when the first process has ended, or when there is a reason to end it. On the way it looks whether the
// identity has as many tasks as it may have, where the system does not count that.
func (s *server) await(r *run, p *Process) (o outcome) {
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	for {
		select {
		case o.status = <-p.Done:
			if o.status != (Status{}) {
				n, limit := s.ground.Tasks(r.id)
				o.pids = o.pids || limit > 0 && n >= limit-firstTasks
			}
			o.own = true
			return o
		case <-r.end:
			return o
		case <-t.C:
			n, limit := s.ground.Tasks(r.id)
			if limit == 0 {
				t.Stop()
			}
			o.pids = o.pids || limit > 0 && n >= limit
		}
	}
}

// judge turns what was seen into the facts of an exit.
func (s *server) judge(r *run, o outcome, before Counters) *wire.Exit {
	e := &wire.Exit{Code: o.status.Code, Signal: o.status.Signal, Elapsed: int64(o.elapsed)}
	if o.broken != nil {
		e.Broken = o.broken.Error()
		return e
	}
	r.kill("") // from here on no cause is added
	after := s.ground.Count()
	bad := e.Signal != "" || e.Code != 0
	pids := after.Pids > before.Pids || o.pids
	switch {
	case after.OOM > before.OOM:
		e.Cause = string(sandbox.CauseMemory)
		e.Detail = "the kernel ended a process of the box for memory"
	case r.cause == sandbox.CauseOutput || r.cause != "" && !o.own && e.Signal == "SIGKILL":
		e.Cause = string(r.cause)
	case bad && pids:
		e.Cause = string(sandbox.CausePids)
	case e.Signal == "SIGKILL":
		e.Cause = string(sandbox.CauseUnknown)
	}
	return e
}

// pump sends what comes out of f until its end, or after stop until it holds nothing more.
func (r *run) pump(st net.Conn, out *sync.Mutex, k wire.Kind, f *os.File, stop <-chan struct{}) {
	b := new(wire.Buffer)
	sending, total := true, 0
	send := func(n int) {
		if left := r.budget.Add(-int64(n)); left < 0 {
			n = int(max(0, int64(n)+left))
			r.kill(sandbox.CauseOutput)
		}
		if n == 0 || !sending {
			return
		}
		out.Lock()
		defer out.Unlock()
		if b.Send(st, k, n) != nil {
			sending = false
			r.kill(sandbox.CauseKilled) // the program is gone
		}
	}
	for {
		n, err := f.Read(b.Space())
		if n > 0 {
			if total > flood && n < wire.MaxData/2 {
				time.Sleep(gather)
				n += max(0, readNow(f, b.Space()[n:]))
			}
			total += n
			send(n)
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		<-stop
		break
	}
	// Every writer is dead, unless one handed its end to another session: what is there now is all that counts.
	for left := drainMost; left > 0; {
		n := readNow(f, b.Space())
		if n <= 0 {
			return
		}
		send(n)
		left -= n
	}
}

// readNow reads what is there without waiting.
func readNow(f *os.File, p []byte) int {
	c, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	n := 0
	c.Control(func(fd uintptr) { //nolint:errcheck // a closed file has nothing
		for {
			n, err = syscall.Read(int(fd), p)
			if !errors.Is(err, syscall.EINTR) {
				return
			}
		}
	})
	return n
}

// feed passes stdin on. It goes on reading after the command has closed its own end, to see the program go away.
func (r *run) feed(in *wire.Reader, p *Process) {
	open := p.Stdin != nil
	for {
		k, b, err := in.Next(0)
		switch {
		case err != nil:
			r.kill(sandbox.CauseKilled)
			return
		case k == wire.KindStdin && open:
			_, err := p.Stdin.Write(b)
			open = err == nil
		case k == wire.KindEOF && open && p.Resize != nil:
			p.Stdin.Write([]byte{4}) //nolint:errcheck // end of file, as typed on a terminal
		case k == wire.KindEOF && open:
			p.Stdin.Close()
			open = false
		}
	}
}
