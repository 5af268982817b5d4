package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// token marks everything that a test's command starts.
func token(t *testing.T) (env []string, alive func() []string) {
	mark := fmt.Sprintf("TRKR_TEST_TOKEN=%s-%d-%d", strings.ReplaceAll(t.Name(), "/", "-"), os.Getpid(), time.Now().UnixNano())
	alive = func() (found []string) {
		for _, p := range processes() {
			b, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/environ")
			if err == nil && bytes.Contains(b, []byte(mark)) && !p.zombie {
				found = append(found, fmt.Sprintf("%s(%d)", p.name, p.pid))
			}
		}
		return found
	}
	return append(slices.Clone(baseEnv), mark), alive
}

// waitFor is for what ends by itself soon and has nobody to tell us.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not happen", what)
		}
	}
}

// quiet ends with nothing of it holding the pipe, so that only the process table can tell.
const quiet = "</dev/null >/dev/null 2>&1"

var escapes = map[string]string{
	"background":     "sleep 300 &",
	"quiet":          "sleep 300 " + quiet + " &",
	"setsid":         "setsid sleep 300 " + quiet + " &",
	"setsid twice":   "setsid sh -c 'setsid sleep 300 &' " + quiet + " &",
	"double fork":    "( ( setsid sleep 300 " + quiet + " & ) & )",
	"signals off":    "setsid sh -c \"trap '' TERM HUP INT QUIT; while :; do sleep 1; done\" " + quiet + " &",
	"stopped":        "setsid sh -c 'kill -STOP $$' " + quiet + " &",
	"nohup":          "nohup sleep 300 " + quiet + " &",
	"holds the pipe": "setsid sleep 300 &",
	"stdio closed":   "setsid sleep 300 <&- >&- 2>&- &",
	"pid namespace":  "unshare --user --map-root-user --pid --fork --mount-proc setsid sleep 300 " + quiet + " &",
	"in namespace":   "unshare --user --map-root-user --pid --fork sh -c 'setsid sleep 300 & sleep 300' " + quiet + " &",
	"many":           "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do setsid sleep 300 " + quiet + " & done",
}

func TestNothingOutlivesItsCommand(t *testing.T) {
	for name, script := range escapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, alive := token(t)
			res, err := Run(t.Context(), Command{Script: script + "\nsleep 0.05; exit 0", Dir: t.TempDir(), Env: env, Output: io.Discard, Timeout: time.Minute})
			if err != nil || res.Code != 0 {
				t.Errorf("%+v, %v", res, err)
			}
			if len(res.Leftovers) == 0 {
				t.Error("nobody is named")
			}
			if left := alive(); left != nil {
				t.Errorf("alive: %v", left)
			}
		})
	}
}

func TestNothingOutlivesATimeout(t *testing.T) {
	env, alive := token(t)
	res, err := Run(t.Context(), Command{Script: escapes["double fork"] + "\nsleep 300", Dir: t.TempDir(), Env: env, Timeout: 300 * time.Millisecond})
	if err != nil || !res.TimedOut || res.Leftovers != nil {
		t.Errorf("%+v, %v", res, err)
	}
	if left := alive(); left != nil {
		t.Errorf("alive: %v", left)
	}
}

// Each process of the chain starts the next one in a session of its own and ends at once.
func TestChainOfForks(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\n[ -e " + dir + "/go ] || exit\nsetsid \"$0\" " + quiet + " &\n"
	if err := os.WriteFile(filepath.Join(dir, "chain"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	env, alive := token(t)
	_, err := Run(t.Context(), Command{Script: ": >go; ./chain; sleep 0.2", Dir: dir, Env: env, Timeout: time.Minute})
	if err != nil {
		t.Errorf("err = %v", err)
	}
	if left := alive(); left != nil {
		t.Errorf("alive: %v", left)
	}
	if err := os.Remove(filepath.Join(dir, "go")); err != nil {
		t.Error(err)
	}
}

// Commands at the same time are kept apart: one that ends does not take the other's processes with it.
func TestSideBySide(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "gate"), 0o600); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var out bytes.Buffer
	wg.Go(func() {
		// Its helper writes "alive" only after the other command has ended.
		_, err := Run(t.Context(), Command{Script: "(read x <gate; echo alive) & wait", Dir: dir, Env: baseEnv, Output: &out, Timeout: time.Minute})
		if err != nil {
			t.Error(err)
		}
	})
	if _, err := Run(t.Context(), Command{Script: "kill -9 $PPID; sleep 300", Dir: dir, Env: baseEnv, Timeout: time.Minute}); !errors.Is(err, ErrSupervision) {
		t.Errorf("err = %v", err)
	}
	if _, err := Run(t.Context(), Command{Script: "setsid sleep 300 & exit 0", Dir: dir, Env: baseEnv, Timeout: time.Minute}); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "gate"), []byte("go\n"), 0o600); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if out.String() != "alive\n" {
		t.Errorf("output %q", out.String())
	}
}

func TestCommandKillsItsSupervisor(t *testing.T) {
	for name, script := range map[string]string{
		"at once":        "setsid sleep 300 " + quiet + " & kill -9 $PPID; sleep 300",
		"from a session": "setsid sh -c 'setsid sleep 300 & kill -9 '$PPID'; sleep 300' " + quiet + " & sleep 300",
	} {
		t.Run(name, func(t *testing.T) {
			env, alive := token(t)
			// Another child of this program stands for what other packages started; it must live.
			bystander := exec.Command("sleep", "300")
			if err := bystander.Start(); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			_, err := Run(t.Context(), Command{Script: script, Dir: t.TempDir(), Env: env, Timeout: time.Minute})
			if !errors.Is(err, ErrSupervision) {
				t.Errorf("err = %v", err)
			}
			if left := alive(); left != nil {
				t.Errorf("alive: %v", left)
			}
			if took := time.Since(begin); took > 10*time.Second {
				t.Errorf("took %v", took)
			}
			if p, ok := look(bystander.Process.Pid); !ok || p.zombie {
				t.Error("killed a process that is none of the command's")
			}
			_ = bystander.Process.Kill()
			_ = bystander.Wait()
		})
	}
}

func TestCommandTellsItsSupervisorToStop(t *testing.T) {
	env, alive := token(t)
	res, err := Run(t.Context(), Command{Script: "setsid sleep 300 & kill -TERM $PPID; sleep 300", Dir: t.TempDir(), Env: env, Timeout: time.Minute})
	if !errors.Is(err, ErrSupervision) {
		t.Errorf("%+v, %v", res, err)
	}
	if left := alive(); left != nil {
		t.Errorf("alive: %v", left)
	}
}

func TestCommandStopsItsSupervisor(t *testing.T) {
	defer func(d time.Duration) { obeyLimit = d }(obeyLimit)
	obeyLimit = 200 * time.Millisecond
	env, alive := token(t)
	_, err := Run(t.Context(), Command{Script: "setsid sleep 300 & kill -STOP $PPID; exit 0", Dir: t.TempDir(), Env: env, Timeout: 300 * time.Millisecond})
	if !errors.Is(err, ErrSupervision) {
		t.Errorf("err = %v", err)
	}
	if left := alive(); left != nil {
		t.Errorf("alive: %v", left)
	}
}

func TestProgramIsKilled(t *testing.T) {
	env, alive := token(t)
	cmd := exec.Command("/proc/self/exe", "helper", escapes["double fork"]+"\necho begun; sleep 300", env[len(env)-1])
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("begun\n"))); err != nil {
		t.Fatal(err)
	}
	if alive() == nil {
		t.Fatal("nothing runs")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	waitFor(t, "the end of everything", func() bool { return alive() == nil })
}

// A command of an ordinary user must not reach into its supervisor, where it could forge the result.
func TestSupervisorIsShutOff(t *testing.T) {
	script := `for f in fd/0 fd/1 fd/2 mem environ; do (exec 3>>/proc/$PPID/$f) 2>/dev/null && echo reached $f; (exec 3</proc/$PPID/$f) 2>/dev/null && echo reached $f; done; exit 0`
	cmd := exec.Command("/proc/self/exe", "helper", script, "A=b")
	cmd.Dir = "/"
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "0 <nil>\n" {
		t.Fatalf("%v: %s", err, out)
	}
}

// init makes this program, asked for it, one whose first thread has ended: it looks like a zombie, and its other
// threads hold a FIFO open. The first thread is the one that runs this.
func init() {
	if len(os.Args) != 3 || os.Args[1] != "first-thread-ends" {
		return
	}
	held, err := os.OpenFile(os.Args[2], os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	go func() {
		time.Sleep(time.Hour)
		held.Close()
	}()
	_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
}

func TestProcessWhoseFirstThreadEndedIsKilled(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "held"), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	read, err := os.OpenFile(filepath.Join(dir, "held"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	// Its parent is gone as well, and waits until it looks like a zombie.
	script := "(setsid '" + self + "' first-thread-ends held " + quiet + " & echo $! >pid)\nuntil grep -q '^State:.Z' /proc/$(cat pid)/status; do sleep 0.01; done"
	res, err := Run(t.Context(), Command{Script: script, Dir: dir, Env: baseEnv, Output: os.Stderr, Timeout: time.Minute})
	if err != nil || len(res.Leftovers) != 1 {
		t.Errorf("%+v, %v", res, err)
	}
	if err := read.SetReadDeadline(time.Now().Add(2 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := read.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("a thread lives on: it still holds the FIFO (%v)", err)
	}
}

// Where /proc shows a user only what it may look into, a program that can be run and not read is not in the list.
func TestProcessThatCannotBeSeenIsKilled(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount a /proc that hides")
	}
	dir := t.TempDir()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(dir+"/dozes", program, 0o111), os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copied := dir + "/proc.test"
	if out, err := exec.Command("cp", self, copied).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	script := "setsid " + dir + "/dozes 300 " + quiet + " & pid=$!; sleep 0.1; [ -e /proc/$pid ] && echo it can be seen; echo pid $pid"
	cmd := exec.Command("unshare", "--mount", "sh", "-c", `mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid 65534 --regid 65534 --clear-groups "$0" helper "$1" A=b`, copied, script)
	out, err := cmd.CombinedOutput()
	var pid int
	if n, _ := fmt.Sscanf(string(out), "pid %d\n0 <nil>\n", &pid); err != nil || n != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("it lives on: %v", err)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// What a caller left open in this program does not reach the command.
func TestInheritedFilesAreShut(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	cmd := exec.Command("/proc/self/exe", "helper", "ls /proc/self/fd", "A=b")
	cmd.ExtraFiles = []*os.File{w, w, w}
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "0\n1\n2\n3\n0 <nil>\n" { // 3 is the listing itself
		t.Fatalf("%v: %s", err, out)
	}
}

// A process that is none of the command's can hold its pipe; nobody waits for it.
func TestPipeHeldByAnother(t *testing.T) {
	var held *os.File
	defer func() { held.Close() }()
	out := onText(func(text string) {
		var pid int
		if _, err := fmt.Sscan(text, &pid); err != nil {
			t.Errorf("output %q: %v", text, err)
		}
		var err error
		if held, err = os.OpenFile(fmt.Sprintf("/proc/%d/fd/1", pid), os.O_WRONLY, 0); err != nil {
			t.Error(err)
		}
	})
	begin := time.Now()
	res, err := Run(t.Context(), Command{Script: "echo $$; sleep 0.2; exit 3", Dir: t.TempDir(), Env: baseEnv, Output: out, Timeout: time.Minute})
	if err != nil || res.Code != 3 {
		t.Errorf("%+v, %v", res, err)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}

type onText func(string)

func (f onText) Write(p []byte) (int, error) { f(string(p)); return len(p), nil }

// A command that runs as the same user must neither write this program's memory nor reach its open files.
func TestProgramIsShutToItsCommand(t *testing.T) {
	dumpable := func() uintptr {
		is, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return uintptr(is)
	}
	var during uintptr = 9
	look := writerFunc(func(p []byte) (int, error) {
		during = dumpable()
		return len(p), nil
	})
	before := dumpable()
	if _, err := Run(t.Context(), Command{Script: "echo now; sleep 0.2", Dir: "/", Env: baseEnv, Output: look, Timeout: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if after := dumpable(); before != 1 || during != 0 || after != 1 {
		t.Errorf("dumpable %d before, %d during, %d after", before, during, after)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
