//go:build unix

package initd

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
)

const (
	// Work is where sessions live.
	Work = sandbox.Work
	// DecoyExit is the variable that tells a decoy its exit code.
	DecoyExit = "TRKR_DECOY_EXIT"

	beat = 2 * time.Second
)

type server struct {
	ground Ground
	hello  wire.Hello

	mu       sync.Mutex
	sessions map[uint64]*session
	runs     map[uint64]*run
	ports    map[int]*port
	next     uint64
	uid      int
	install  bool
}

type session struct {
	id   Identity
	role sandbox.Role
	dirs Dirs
	env  []string
	exit int // of decoys
	busy sync.Mutex
}

// Serve answers the program on conn until it ends, then kills what is left of every session and returns. The error is
// nil where the program closed the connection in order.
func Serve(conn io.ReadWriteCloser, g Ground) error {
	mux, err := wire.Box(conn)
	if err != nil {
		return err
	}
	defer mux.Close()
	s := &server{ground: g, sessions: map[uint64]*session{}, runs: map[uint64]*run{}, ports: map[int]*port{}, uid: wire.FirstUID - 1}
	first, err := mux.Accept()
	if err != nil {
		return ended(err)
	}
	stop := make(chan struct{})
	var work sync.WaitGroup
	defer func() {
		close(stop)
		mux.Close()
		s.killAll()
		work.Wait()
	}()
	in, err := s.greet(first)
	if err != nil {
		return ended(err)
	}
	work.Go(func() { beats(first, stop) })
	work.Go(func() {
		s.orders(in)
		mux.Close()
	})
	for {
		st, err := mux.Accept()
		if err != nil {
			return ended(err)
		}
		work.Go(func() {
			defer st.Close()
			s.answer(st)
		})
	}
}

func ended(err error) error {
	if errors.Is(err, io.EOF) || strings.Contains(err.Error(), "shutdown") {
		return nil
	}
	return err
}

func (s *server) greet(st net.Conn) (*wire.Reader, error) {
	r := wire.NewReader(st)
	var q wire.Request
	if err := r.ReadJSON(wire.KindMessage, &q, wire.MaxRequest); err != nil {
		return nil, err
	}
	w := wire.Welcome{Protocol: wire.Version}
	switch {
	case q.Op != "hello" || q.Hello == nil:
		w.Error = "the first request is no hello"
	case q.Hello.Protocol != wire.Version:
		w.Error = fmt.Sprintf("version %d of the protocol is not spoken here", q.Hello.Protocol)
	case q.Hello.Output <= 0:
		w.Error = "no limit of output"
	default:
		s.hello = *q.Hello
	}
	if s.hello.Path == "" {
		s.hello.Path = sandbox.DefaultPath
	}
	if err := wire.WriteJSON(st, wire.KindMessage, w, wire.MaxAnswer); err != nil {
		return nil, err
	}
	if w.Error != "" {
		return nil, fmt.Errorf("refusing the program: %s", w.Error)
	}
	return r, nil
}

func beats(st net.Conn, stop <-chan struct{}) {
	t := time.NewTicker(beat)
	defer t.Stop()
	for {
		if wire.Write(st, wire.KindBeat, nil) != nil {
			return
		}
		select {
		case <-stop:
			return
		case <-t.C:
		}
	}
}

// orders takes kills and resizes until the program is gone.
func (s *server) orders(in *wire.Reader) {
	for {
		k, b, err := in.Next(wire.MaxRequest)
		if err != nil {
			return
		}
		switch k {
		case wire.KindKill:
			var o wire.Kill
			if wire.Decode(b, &o) != nil {
				return
			}
			if r := s.run(o.ID); r != nil {
				r.kill(sandbox.Cause(o.Cause))
			}
		case wire.KindResize:
			var o wire.Resize
			if wire.Decode(b, &o) != nil {
				return
			}
			if r := s.run(o.ID); r != nil {
				r.setSize(o.Rows, o.Cols)
			}
		default:
			return
		}
	}
}

func (s *server) run(id uint64) *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs[id]
}

func (s *server) answer(st net.Conn) {
	in := wire.NewReader(st)
	var q wire.Request
	if in.ReadJSON(wire.KindMessage, &q, wire.MaxRequest) != nil {
		return
	}
	switch {
	case q.Op == "open" && q.Open != nil:
		wire.WriteJSON(st, wire.KindMessage, s.open(*q.Open), wire.MaxAnswer) //nolint:errcheck // the program is gone
	case q.Op == "close" && q.Close != nil:
		wire.WriteJSON(st, wire.KindMessage, s.close(q.Close.Session), wire.MaxAnswer) //nolint:errcheck // likewise
	case q.Op == "run" && q.Run != nil:
		s.execute(st, in, *q.Run)
	case q.Op == "listen" && q.Listen != nil:
		s.listen(st, *q.Listen)
	case q.Op == "accept" && q.Accept != nil:
		s.accept(st, *q.Accept)
	}
}

func (s *server) open(o wire.Open) wire.Opened {
	role := sandbox.Role(o.Role)
	id, err := s.identity(role)
	if err != nil {
		return wire.Opened{Error: text(err)}
	}
	fail := func(err error) wire.Opened {
		s.release(role)
		return wire.Opened{Error: text(err)}
	}
	decoys := wire.Strings(o.Decoys)
	for _, d := range decoys {
		if d == "" || d == "." || d == ".." || strings.ContainsAny(d, "/\x00") {
			return fail(fmt.Errorf("%q is no name of a program", d))
		}
	}
	dirs, err := s.ground.Open(id, decoys)
	if err != nil {
		return fail(err)
	}
	se := &session{id: id, role: role, dirs: dirs, exit: o.DecoyExit}
	se.env = merge([]string{
		"HOME=" + dirs.Home, "PATH=" + s.hello.Path, "TMPDIR=" + dirs.Tmp, "LANG=C.UTF-8", "USER=" + string(role), "TERM=dumb",
	}, wire.Strings(o.Env))
	s.mu.Lock()
	s.next++
	n := s.next
	s.sessions[n] = se
	s.mu.Unlock()
	return wire.Opened{Session: n, UID: id.UID, Dir: dirs.Work, Home: dirs.Home}
}

func (s *server) identity(role sandbox.Role) (Identity, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch role {
	case sandbox.RoleInstall:
		if s.install {
			return Identity{}, fmt.Errorf("an install session is open")
		}
		s.install = true
		return Identity{UID: wire.InstallUID}, nil
	case sandbox.RoleSubject, sandbox.RoleAgent, sandbox.RoleService:
		if s.uid >= wire.LastUID {
			return Identity{}, fmt.Errorf("all %d uids of the box have been used", wire.LastUID-wire.FirstUID+1)
		}
		s.uid++
		return Identity{UID: s.uid}, nil
	}
	return Identity{}, fmt.Errorf("no role is called %q", role)
}

func (s *server) release(role sandbox.Role) {
	if role == sandbox.RoleInstall {
		s.mu.Lock()
		s.install = false
		s.mu.Unlock()
	}
}

func (s *server) session(n uint64) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[n]
}

func (s *server) close(n uint64) wire.Closed {
	s.mu.Lock()
	se := s.sessions[n]
	delete(s.sessions, n)
	s.mu.Unlock()
	if se == nil {
		return wire.Closed{Error: "no such session"}
	}
	se.busy.Lock()
	defer se.busy.Unlock()
	defer s.release(se.role)
	if err := s.ground.Kill(se.id); err != nil {
		return wire.Closed{Broken: text(err)}
	}
	if err := s.ground.Close(se.id, se.dirs); err != nil {
		return wire.Closed{Error: text(err)}
	}
	return wire.Closed{}
}

// killAll ends every session's processes because the program is gone.
func (s *server) killAll() {
	s.mu.Lock()
	open := make([]*session, 0, len(s.sessions))
	for _, se := range s.sessions {
		open = append(open, se)
	}
	for _, r := range s.runs {
		r.kill(sandbox.CauseKilled)
	}
	for _, p := range s.ports {
		p.close()
	}
	s.mu.Unlock()
	for _, se := range open {
		s.ground.Kill(se.id) //nolint:errcheck // nobody is left to be told; the end of PID 1 ends the rest
	}
}

// text is an error as the program takes it.
func text(err error) string { return cut(err.Error()) }

func cut(s string) string {
	if len(s) > 500 {
		s = s[:500] + "..."
	}
	return strings.ToValidUTF8(s, "?")
}

// merge lays lists of NAME=value over each other; the last of a name counts.
func merge(lists ...[]string) []string {
	at := map[string]int{}
	var out []string
	for _, list := range lists {
		for _, kv := range list {
			name, _, ok := strings.Cut(kv, "=")
			if !ok || name == "" || strings.ContainsRune(kv, 0) {
				continue
			}
			if i, ok := at[name]; ok {
				out[i] = kv
				continue
			}
			at[name] = len(out)
			out = append(out, kv)
		}
	}
	return out
}

func lookup(env []string, name string) string {
	for _, kv := range env {
		if k, v, _ := strings.Cut(kv, "="); k == name {
			return v
		}
	}
	return ""
}
