//go:build linux && (amd64 || arm64)

package gvisor

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// roleVar names what the test binary does in place of the tests, where it is started by one; stateVar and inputVar say
// where.
const roleVar, stateVar, inputVar = "GVISOR_TEST_ROLE", "GVISOR_TEST_STATE", "GVISOR_TEST_INPUT"

// The test binary is its own init and its own gVisor, as the program is.
func TestMain(m *testing.M) {
	Dispatch()
	switch os.Getenv(roleVar) {
	case "":
		os.Exit(m.Run())
	case "hold":
		holdBox()
	case "replaced":
		replacedProgram()
	case "quota":
		quotaOfZero()
	case "full":
		fullDisk()
	case "check":
		_, err := New(Options{StateDir: os.Getenv(stateVar)}).Check(context.Background())
		report(err)
	}
}

// role is the test binary in a role. What it finds is what it prints.
func role(t *testing.T, name string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), append(env, roleVar+"="+name)...)
	cmd.Stderr = t.Output()
	return cmd
}

// report prints an error's code.
func report(err error) {
	if err == nil {
		fmt.Println("fine")
		return
	}
	fmt.Fprintln(os.Stderr, err)
	fmt.Println(fault.Of(err).Code)
}

// holdBox has a command run in a box until it is killed.
func holdBox() {
	box, err := New(Options{StateDir: os.Getenv(stateVar)}).Start(context.Background(), specOf(os.Getenv(inputVar)))
	if err != nil {
		report(err)
		return
	}
	go func() { _, _, _ = trySh(box, "sleep 1000 & sleep 1000") }()
	if _, _, err := trySh(box, "until pgrep sleep; do :; done"); err != nil {
		report(err)
		return
	}
	fmt.Println("holding")
	select {}
}

// replacedProgram starts a box when the program's own file is gone.
func replacedProgram() {
	exe, err := os.Executable()
	if err == nil {
		err = os.Remove(exe)
	}
	if err != nil {
		report(err)
		return
	}
	box, err := New(Options{StateDir: os.Getenv(stateVar)}).Start(context.Background(), specOf(os.Getenv(inputVar)))
	if err != nil {
		report(err)
		return
	}
	out, _, err := trySh(box, "/validate/artifact/hello")
	fmt.Print(out)
	report(err)
	report(box.Close())
}

// quotaOfZero is root of a user namespace of its own, takes away from it the right to have more of them, and goes on
// as somebody without any rights.
func quotaOfZero() {
	runtime.LockOSThread()
	err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0)
	if err == nil {
		const noRoot = 1<<0 | 1<<1 // SECBIT_NOROOT, locked: uid 0 gains nothing by exec
		err = unix.Prctl(unix.PR_SET_SECUREBITS, noRoot, 0, 0, 0)
	}
	if err == nil {
		err = os.Setenv(roleVar, "check")
	}
	if err == nil {
		err = unix.Exec("/proc/self/exe", os.Args, os.Environ())
	}
	report(err)
}

// fullDisk starts a box whose files have no room.
func fullDisk() {
	dir := filepath.Join(os.Getenv(stateVar), "disk")
	err := os.Mkdir(dir, 0o700)
	if err == nil {
		err = unix.Mount("tmpfs", dir, "tmpfs", 0, "size=16k")
	}
	if err == nil {
		_, err = New(Options{StateDir: dir}).Start(context.Background(), specOf(os.Getenv(inputVar)))
	}
	report(err)
}
