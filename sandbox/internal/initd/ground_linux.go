package initd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
)

// killWithin bounds the end of everything of an identity. What is left then hangs in the kernel.
const killWithin = 10 * time.Second

// box is the ground that PID 1 of a box stands on.
type box struct {
	hand   *hand
	eye    *hand
	reaper *reaper
	oom    string // where the system counts processes that were killed for memory; empty where it does not
	pids   string // and how often the limit of pids was hit

	mu    sync.Mutex
	marks map[int]ipcMarks // of open sessions, by uid
}

func newBox() (*box, error) {
	h, err := newHand(bare)
	if err != nil {
		return nil, err
	}
	eye, err := newHand(looker)
	if err != nil {
		return nil, err
	}
	b := &box{hand: h, eye: eye, reaper: newReaper(), marks: map[int]ipcMarks{}}
	b.oom, b.pids = theGroups.counter(oomFiles, oomKills), theGroups.counter(pidsFiles, pidsHits)
	b.openUp()
	return b, nil
}

// sharedDirs are where everybody may leave files, apart from Work.
var sharedDirs = []string{"/tmp", "/dev/shm", "/dev/mqueue"}

// openUp gives the writable places their modes: a runtime lends a file system that it mounts the mode of the image's
// directory of that name, whatever it was told. A place that is another's is as its engine made it.
func (b *box) openUp() {
	for _, dir := range []string{"/tmp", "/dev/shm", Work} {
		unix.Chmod(dir, 0o1777) //nolint:errcheck // as said above
	}
	b.hand.as(Identity{UID: wire.InstallUID}, func() {
		unix.Chmod(sandbox.Prefix, 0o755) //nolint:errcheck // as said above
	})
}

func (b *box) Open(id Identity, decoys []string) (Dirs, error) {
	top := filepath.Join(Work, secret())
	d := Dirs{Top: top, Home: top + "/home", Work: top + "/work", Tmp: top + "/tmp"}
	if len(decoys) > 0 {
		d.Decoys = top + "/decoys"
	}
	marks, err := markIPC()
	if err != nil {
		return Dirs{}, fmt.Errorf("looking at what sessions may leave: %w", err)
	}
	b.mu.Lock()
	b.marks[id.UID] = marks
	b.mu.Unlock()
	b.hand.as(id, func() {
		for _, dir := range []string{top, d.Home, d.Work, d.Tmp, d.Decoys} {
			if dir != "" && err == nil {
				err = unix.Mkdir(dir, 0o700)
			}
		}
		for _, name := range decoys {
			if err == nil {
				err = unix.Symlink(sandbox.Init, filepath.Join(d.Decoys, name))
			}
		}
	})
	if err != nil {
		return Dirs{}, fmt.Errorf("making the directories of a session: %w", err)
	}
	return d, nil
}

func (b *box) Start(id Identity, c Command) (p *Process, exit *wire.Exit) {
	b.hand.do(func() { p, exit = b.start(id, c) })
	return p, exit
}

// start is Start on the hand's thread.
func (b *box) start(id Identity, c Command) (*Process, *wire.Exit) {
	path, args := sandbox.Init, []string{sandbox.Init, wire.Arg, c.Helper}
	var ends *Ends
	var exit *wire.Exit
	as(id, func() {
		if c.Helper == "" {
			args = c.Args
			if path, exit = Find(c, id.UID); exit != nil {
				return
			}
		}
		var err error
		if ends, err = NewEnds(c); err != nil {
			exit = StartFailed(err)
		}
	})
	if exit != nil {
		return nil, exit
	}
	done, err := b.reaper.start(path, args, &syscall.ProcAttr{
		Dir: c.Dir, Env: c.Env, Files: ends.Child(),
		Sys: &syscall.SysProcAttr{
			Credential: &syscall.Credential{Uid: uint32(id.UID), Gid: uint32(id.UID)},
			Setsid:     true, Setctty: c.TTY != nil,
		},
	})
	ends.CloseChild()
	if err != nil {
		ends.CloseOwn()
		return nil, StartFailed(err)
	}
	p := ends.Process()
	p.Done = done
	return p, nil
}

// Look reads nothing of the subject's: what is below sandbox.Root nobody in the box can change, and of other files only
// the engine asks, before the first command.
func (b *box) Look(helper string, params io.Reader, out io.Writer) (err error) {
	b.eye.do(func() { err = View{Root: sandbox.Root}.Help(helper, wire.LookUID, params, out) })
	return err
}

// Kill relies on kill(-1) by a thread with the identity's effective uid and init's own real and saved uid: it reaches
// all of that uid, and the uid does not reach the thread. Real uid 0 reaches root's processes as well: in a box there
// are none but the init, which kill(-1) leaves out; elsewhere this must never run.
func (b *box) Kill(id Identity) error {
	begin := time.Now()
	seen := begin // when a process of the identity was last there
	for round := 0; ; round++ {
		b.hand.as(id, func() { unix.RawSyscall(unix.SYS_KILL, ^uintptr(0), uintptr(unix.SIGKILL), 0) })
		t, err := tasksOf(id.UID)
		if err != nil {
			return err
		}
		if t.processes > 0 {
			seen = time.Now()
		}
		if t.gone(time.Since(seen)) {
			return nil
		}
		if time.Since(begin) > killWithin && t.processes > 0 {
			return fmt.Errorf("%d processes of uid %d do not end", t.processes, id.UID)
		}
		if round < 100 { // at first faster than anything can fork on
			time.Sleep(100 * time.Microsecond)
		} else {
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// Close removes what it can by itself where the session left nothing, and else starts a helper under its uid.
func (b *box) Close(id Identity, d Dirs) error {
	b.mu.Lock()
	marks := b.marks[id.UID]
	delete(b.marks, id.UID)
	b.mu.Unlock()
	if b.closeEmpty(id, d, marks) {
		return nil
	}
	env := []string{removeVar + "=" + d.Top, marksVar + "=" + marks.String()}
	p, exit := b.Start(id, Command{Helper: wire.HelperRemove, Dir: "/", Env: env})
	if exit != nil {
		return fmt.Errorf("removing what a session left: %s", exit.Detail)
	}
	defer p.Stdout.Close()
	words := make(chan string, 1)
	go func() {
		said, _ := io.ReadAll(io.LimitReader(p.Stderr, 300)) // what came counts
		p.Stderr.Close()
		words <- strings.TrimSpace(string(said))
	}()
	t := time.AfterFunc(time.Minute, func() { b.Kill(id) }) //nolint:errcheck // what follows tells
	defer t.Stop()
	if st := <-p.Done; st != (Status{}) {
		return fmt.Errorf("removing what a session left: the helper ended with %d %s %s", st.Code, st.Signal, <-words)
	}
	return nil
}

// closeEmpty saves the helper where there is nothing for it to do. It reads only directories that the box owns.
func (b *box) closeEmpty(id Identity, d Dirs, marks ipcMarks) bool {
	if d.Decoys != "" || id.UID == wire.InstallUID || !ipcEmpty(id.UID, marks) {
		return false
	}
	for _, shared := range sharedDirs {
		if names, err := first(shared, 1); err != nil && !errors.Is(err, fs.ErrNotExist) || len(names) > 0 {
			return false
		}
	}
	const few = 64
	names, err := first(Work, few)
	if err != nil || len(names) == few {
		return false
	}
	for _, name := range names {
		var st unix.Stat_t
		path := filepath.Join(Work, name)
		if unix.Lstat(path, &st) == nil && int(st.Uid) == id.UID && path != d.Top {
			return false
		}
	}
	b.hand.as(id, func() {
		for _, dir := range []string{d.Home, d.Work, d.Tmp, d.Top} {
			if err == nil {
				err = unix.Rmdir(dir)
			}
		}
	})
	return err == nil
}

// first reads up to n names of a directory.
func first(dir string, n int) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(n)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, err
}

func (b *box) Count() Counters {
	var c Counters
	c.OOM, _ = readCounter(b.oom, oomKills)
	c.Pids, _ = readCounter(b.pids, pidsHits)
	return c
}

// Tasks is for a system without the counter: the limit is then that of each uid, which the engine gave this process.
func (b *box) Tasks(id Identity) (n, limit int) {
	var r unix.Rlimit
	if b.pids != "" || unix.Getrlimit(unix.RLIMIT_NPROC, &r) != nil || r.Cur > 1<<20 {
		return 0, 0
	}
	t, err := tasksOf(id.UID)
	if err != nil {
		return 0, 0
	}
	return t.threads, int(r.Cur)
}
