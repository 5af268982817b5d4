//go:build linux

package shim_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/shim"
)

var nsPids sync.Map // of the init of each run

// nsEngine starts the real init in namespaces of its own, with nothing but system calls: the init's own tests need no
// engine. It has no limit of memory and takes the userland of this machine.
type nsEngine struct{ t testing.TB }

const nsArg = "nsbox"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == nsArg {
		fmt.Fprintln(os.Stderr, "nsbox:", nsSetup(os.Args[2], os.Args[3], os.Args[4], os.Args[5]))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

func (nsEngine) Name() string { return "namespaces" }
func (nsEngine) Check(context.Context) (sandbox.Version, error) {
	return sandbox.Version{Version: "1"}, nil
}
func (nsEngine) Sweep(context.Context, bool) ([]string, error) { return nil, nil }

func (e nsEngine) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	root := e.t.TempDir()
	cmd := exec.Command("/proc/self/exe", nsArg, root, spec.Input, strconv.Itoa(spec.Limits.Pids), strconv.FormatInt(spec.Limits.Tmp, 10))
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
	}
	cmd.Env = []string{"PATH=/usr/bin"}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	for _, f := range []*os.File{in.(*os.File), r} { // as engines do
		c, err := f.SyscallConn()
		if err != nil {
			return nil, err
		}
		c.Control(func(fd uintptr) { unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 1<<20) })
	}
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	w.Close()
	gone := make(chan error, 1)
	go func() { gone <- cmd.Wait() }()
	nsPids.Store(spec.RunID, cmd.Process.Pid)
	end := func() error {
		select {
		case <-gone:
			return nil
		case <-time.After(5 * time.Second):
			cmd.Process.Kill()
			<-gone
			return errors.New("the init did not end with its stdin")
		}
	}
	box, err := shim.Connect(ctx, &pair{r, in}, shim.Box{
		Info: sandbox.Info{Engine: "namespaces", Path: "/usr/local/bin:/usr/bin:/bin", Limits: map[string]string{
			"memory": "unavailable", "cpus": "unavailable", "pids": fmt.Sprintf("%d enforced", spec.Limits.Pids), "tmp": "enforced", "output": "enforced",
		}}, Spec: spec, Close: end,
	})
	if err != nil {
		return nil, errors.Join(err, end())
	}
	return box, nil
}

type pair struct {
	r *os.File
	w io.WriteCloser
}

func (p *pair) Read(b []byte) (int, error)  { return p.r.Read(b) }
func (p *pair) Write(b []byte) (int, error) { return p.w.Write(b) }
func (p *pair) Close() error                { return errors.Join(p.w.Close(), p.r.Close()) }

// nsSetup makes the root and becomes the init. It returns only an error.
func nsSetup(root, input, pids, tmp string) error {
	n, err := strconv.ParseUint(pids, 10, 64)
	if err != nil {
		return err
	}
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	do := func(what string, err error) {
		if err != nil {
			panic(fmt.Sprintf("%s: %v", what, err))
		}
	}
	mount := func(src, dst, typ string, flags uintptr, data string) {
		do("mount "+dst, unix.Mount(src, dst, typ, flags, data))
	}
	in := func(p string) string { return filepath.Join(root, p) }
	bind := func(src, dst string) {
		st, err := os.Stat(src)
		do("stat "+src, err)
		if st.IsDir() {
			do("mkdir "+dst, os.MkdirAll(in(dst), 0o755))
		} else {
			do("mkdir "+dst, os.MkdirAll(filepath.Dir(in(dst)), 0o755))
			do("touch "+dst, os.WriteFile(in(dst), nil, 0o644))
		}
		mount(src, in(dst), "", unix.MS_BIND, "")
		if !strings.HasPrefix(dst, "/dev/") {
			mount("", in(dst), "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID, "")
		}
	}
	unix.Umask(0o022)
	do("loopback", loopback())
	mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	mount("tmpfs", root, "tmpfs", unix.MS_NOSUID, "mode=755,size=1m")
	bind("/usr", "/usr")
	for _, l := range []string{"bin", "sbin", "lib", "lib64"} {
		if t, err := os.Readlink("/" + l); err == nil {
			do("link", os.Symlink(t, in(l)))
		}
	}
	bind(self, sandbox.Init)
	bind(input, sandbox.Root)
	for _, d := range []string{"/tmp", "/work", "/dev/shm"} {
		do("mkdir", os.MkdirAll(in(d), 0o755))
		if d != "/dev/shm" {
			mount("tmpfs", in(d), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777,size="+tmp)
		}
	}
	do("mkdir", os.MkdirAll(in(sandbox.Prefix), 0o755))
	mount("tmpfs", in(sandbox.Prefix), "tmpfs", unix.MS_NOSUID, "mode=755,uid=10001,gid=10001,size="+tmp)
	mount("tmpfs", in("/dev/shm"), "tmpfs", unix.MS_NOSUID, "mode=1777,size="+tmp)
	for _, d := range []string{"null", "zero", "random", "urandom", "tty"} {
		bind("/dev/"+d, "/dev/"+d)
	}
	do("mkdir", os.MkdirAll(in("/dev/pts"), 0o755))
	mount("devpts", in("/dev/pts"), "devpts", 0, "newinstance,ptmxmode=666,mode=620")
	do("mkdir", os.MkdirAll(in("/dev/mqueue"), 0o755))
	mount("mqueue", in("/dev/mqueue"), "mqueue", unix.MS_NOSUID|unix.MS_NODEV, "")
	do("link", os.Symlink("pts/ptmx", in("/dev/ptmx")))
	do("link", os.Symlink("/proc/self/fd", in("/dev/fd")))
	do("link", os.Symlink("/proc/self/fd/1", in("/dev/stdout")))
	do("mkdir", os.MkdirAll(in("/proc"), 0o755))
	mount("proc", in("/proc"), "proc", 0, "")
	mount("", root, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID, "")
	do("chdir", unix.Chdir(root))
	do("pivot", unix.PivotRoot(".", "."))
	do("umount", unix.Unmount(".", unix.MNT_DETACH))
	do("chdir", unix.Chdir("/"))
	do("limit", unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: n, Max: n}))
	do("nnp", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	for c := uintptr(0); c <= 40; c++ {
		switch c {
		case unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_KILL, unix.CAP_SETPCAP:
		default:
			do("bounding set", unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0))
		}
	}
	return unix.Exec(sandbox.Init, []string{sandbox.Init, shim.Arg}, []string{"PATH=/usr/bin"})
}

// loopback brings lo up.
func loopback() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, r)
}
