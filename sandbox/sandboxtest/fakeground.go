//go:build unix

package sandboxtest

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/trkr-dev/trkr-validate/sandbox/internal/initd"
	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
)

// fakeGround starts processes of this machine for a server that takes it for a box.
type fakeGround struct {
	root  string
	names []fakeName
	seen  map[string]string // of the isolation, instead of what a box shows

	mu     sync.Mutex
	groups map[int][]int // of an identity: process groups that were started
}

type fakeName struct{ box, host string }

const fakeMark = "TRKR_FAKE_BOX"

func (g *fakeGround) mark(id initd.Identity) string {
	return fakeMark + "=" + filepath.Base(g.root) + "." + strconv.Itoa(id.UID)
}

// real puts this machine's paths in place of the box's, wherever they stand in s as whole paths.
func (g *fakeGround) real(s string) string {
	return swap(s, g.names, func(n fakeName) (string, string) { return n.box, n.host })
}

// name is the way back.
func (g *fakeGround) name(s string) string {
	return swap(s, g.names, func(n fakeName) (string, string) { return n.host, n.box })
}

func swap(s string, names []fakeName, of func(fakeName) (from, to string)) string {
	var b strings.Builder
next:
	for i := 0; i < len(s); {
		if i == 0 || !inPath(s[i-1]) {
			for _, n := range names {
				from, to := of(n)
				rest, ok := strings.CutPrefix(s[i:], from)
				if ok && (rest == "" || rest[0] == '/' || !inPath(rest[0])) {
					b.WriteString(to)
					i += len(from)
					continue next
				}
			}
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

func inPath(c byte) bool {
	return c == '/' || c == '.' || c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func (g *fakeGround) Open(_ initd.Identity, decoys []string) (initd.Dirs, error) {
	top := filepath.Join(initd.Work, strings.ToLower(rand.Text()))
	d := initd.Dirs{Top: top, Home: top + "/home", Work: top + "/work", Tmp: top + "/tmp"}
	if len(decoys) > 0 {
		d.Decoys = top + "/decoys"
	}
	for _, dir := range []string{top, d.Home, d.Work, d.Tmp, d.Decoys} {
		if dir == "" {
			continue
		}
		if err := os.Mkdir(g.real(dir), 0o700); err != nil {
			return initd.Dirs{}, err
		}
	}
	for _, name := range decoys {
		script := "#!/bin/sh\nexit ${" + initd.DecoyExit + ":-0}\n"
		if err := os.WriteFile(filepath.Join(g.real(d.Decoys), name), []byte(script), 0o700); err != nil {
			return initd.Dirs{}, err
		}
	}
	return d, nil
}

// translated is c with this machine's paths.
func (g *fakeGround) translated(c initd.Command) initd.Command {
	all := func(in []string) []string {
		out := make([]string, len(in))
		for i := range in {
			out[i] = g.real(in[i])
		}
		return out
	}
	c.Args, c.Env, c.Dir, c.Path = all(c.Args), all(c.Env), g.real(c.Dir), g.real(c.Path)
	return c
}

func (g *fakeGround) Start(id initd.Identity, c initd.Command) (*initd.Process, *wire.Exit) {
	c = g.translated(c)
	if c.Helper != "" {
		return g.help(c)
	}
	path, exit := initd.Find(c, os.Getuid())
	if exit != nil {
		return nil, exit
	}
	ends, err := initd.NewEnds(c)
	if err != nil {
		return nil, initd.StartFailed(err)
	}
	pid, err := syscall.ForkExec(path, c.Args, &syscall.ProcAttr{
		Dir: c.Dir, Env: append(c.Env, g.mark(id)), Files: ends.Child(),
		Sys: &syscall.SysProcAttr{Setsid: true, Setctty: c.TTY != nil},
	})
	ends.CloseChild()
	if err != nil {
		ends.CloseOwn()
		return nil, initd.StartFailed(err)
	}
	g.mu.Lock()
	g.groups[id.UID] = append(g.groups[id.UID], pid)
	g.mu.Unlock()
	done := make(chan initd.Status, 1)
	go func() {
		var ws syscall.WaitStatus
		for {
			if _, err := syscall.Wait4(pid, &ws, 0, nil); err != syscall.EINTR {
				done <- initd.StatusOf(ws)
				return
			}
		}
	}()
	proc := ends.Process()
	proc.Done = done
	return proc, nil
}

// help does what a helper process does in a box.
func (g *fakeGround) help(c initd.Command) (*initd.Process, *wire.Exit) {
	in, stdin, err := os.Pipe()
	if err != nil {
		return nil, initd.StartFailed(err)
	}
	stdout, out, err := os.Pipe()
	if err != nil {
		return nil, initd.StartFailed(err)
	}
	done := make(chan initd.Status, 1)
	go func() {
		defer in.Close()
		defer out.Close()
		v := initd.View{Root: g.real("/validate"), Dir: c.Dir, Path: c.Path, Real: g.real, Name: g.name, Alone: true}
		if err := v.Help(c.Helper, os.Getuid(), in, out); err != nil {
			done <- initd.Status{Code: 1}
			return
		}
		done <- initd.Status{}
	}()
	return &initd.Process{Stdin: stdin, Stdout: stdout, Done: done}, nil
}

func (g *fakeGround) Look(helper string, params io.Reader, out io.Writer) error {
	if helper == wire.HelperIsolation {
		return g.isolation(out)
	}
	return initd.View{Root: g.real("/validate"), Real: g.real, Name: g.name}.Help(helper, os.Getuid(), params, out)
}

// isolation tells what a box without holes would, but for what the test planted.
func (g *fakeGround) isolation(out io.Writer) error {
	facts := map[string]string{
		"uid": "10002", "gid": "10002", "groups": "[]", "capabilities": "0000000000000000", "permitted": "0000000000000000",
		"no_new_privs": "1", "seccomp": "2", "interfaces": "lo", "routes": "none", "reach": "nothing: it is a fake", "dns": "none: it is a fake",
		"root": "read-only", "inputs": "read-only", "prefix": "not writable: it is a fake",
	}
	maps.Copy(facts, g.seen)
	for key, value := range facts {
		if err := wire.WriteJSON(out, wire.KindMessage, wire.Fact{Key: key, Value: value}, wire.MaxAnswer); err != nil {
			return err
		}
	}
	return nil
}

// Kill ends whatever carries the identity's mark; where that cannot be seen, its process groups.
func (g *fakeGround) Kill(id initd.Identity) error {
	deadline := time.Now().Add(10 * time.Second)
	for {
		left := g.marked(id)
		if len(left) == 0 {
			g.mu.Lock()
			defer g.mu.Unlock()
			for _, pgid := range g.groups[id.UID] {
				if runtime.GOOS != "linux" { // no marks are to be seen there
					syscall.Kill(-pgid, syscall.SIGKILL) // gone
				}
			}
			delete(g.groups, id.UID)
			return nil
		}
		for _, pid := range left {
			syscall.Kill(pid, syscall.SIGKILL) // gone
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d processes of a fake session do not end", len(left))
		}
		time.Sleep(time.Millisecond)
	}
}

// marked are the living processes that carry the identity's mark. Without /proc there are none to be seen.
func (g *fakeGround) marked(id initd.Identity) []int {
	dirs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil
	}
	var pids []int
	for _, env := range dirs {
		b, err := os.ReadFile(env)
		if err != nil || !bytes.Contains(b, []byte(g.mark(id)+"\x00")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(env))); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (g *fakeGround) Close(_ initd.Identity, d initd.Dirs) error {
	return initd.Remove(-1, g.real(d.Top))
}

func (g *fakeGround) Count() initd.Counters { return initd.Counters{} }

// Connected is always true: what a fake runs has no uid of its own.
func (g *fakeGround) Connected(initd.Identity, *net.TCPConn) bool { return true }

func (g *fakeGround) Tasks(initd.Identity) (n, limit int) { return 0, 0 }
