package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trkr-dev/trkr-validate/internal/testengine"
	"github.com/trkr-dev/trkr-validate/sandbox/gvisor"
)

// console is a terminal with a program at its other end.
type console struct {
	t    *testing.T
	own  *os.File
	seen strings.Builder
}

// pseudoterminal opens a terminal: the end that a person sits at, and the one that a program gets.
func pseudoterminal(t *testing.T) (own, other *os.File) {
	t.Helper()
	own, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { own.Close() })
	if err := unix.IoctlSetPointerInt(int(own.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(own.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	other, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	return own, other
}

func (c *console) size(rows, cols uint16) {
	c.t.Helper()
	if err := unix.IoctlSetWinsize(int(c.own.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols}); err != nil {
		c.t.Fatal(err)
	}
}

func (c *console) write(text string) {
	c.t.Helper()
	if _, err := c.own.WriteString(text); err != nil {
		c.t.Fatal(err)
	}
}

// until reads until the terminal shows want, behind what it showed when until was last called.
func (c *console) until(want string) {
	c.t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	buf := make([]byte, 4096)
	for {
		if _, after, ok := strings.Cut(c.seen.String(), want); ok {
			c.seen.Reset()
			c.seen.WriteString(after)
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("never showed %q, but %q", want, c.seen.String())
		}
		ready := []unix.PollFd{{Fd: int32(c.own.Fd()), Events: unix.POLLIN}}
		if n, err := unix.Poll(ready, 1000); n == 0 || err == unix.EINTR {
			continue
		}
		n, err := c.own.Read(buf)
		if err != nil {
			c.t.Fatalf("ended before it showed %q: %v; it showed %q", want, err, c.seen.String())
		}
		c.seen.Write(buf[:n])
	}
}

// The shell is a terminal in the box: it has the window's size and follows it, and keys such as ^C go to the box.
func TestShellIsATerminalInTheBox(t *testing.T) {
	_, err := gvisor.New(gvisor.Options{}).Check(t.Context())
	testengine.Require(t, "gvisor", err)
	dir := t.TempDir()
	ticketRepo(t, dir, "printf '#!/bin/sh\\necho I am the artifact\\n' > tool && chmod +x tool", "tool", "VAL-1: `tool` succeeds\n")
	own, other := pseudoterminal(t)
	c := &console{t: t, own: own}
	c.size(33, 101)

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Args = []string{"trkr-validate", "shell", "7", "--engine", "gvisor"}
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, other, other, other
	cmd.Env = append(os.Environ(), "TERM=xterm")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })

	c.until("exit ends the box")
	c.write("stty size\n")
	c.until("33 101")
	c.write("tool; ls /validate\n")
	c.until("I am the artifact")
	c.until("artifact  contract.md")
	c.size(40, 120)
	c.write("until [ \"$(stty size)\" = '40 120' ]; do :; done; echo followed-$((1+1))\n")
	c.until("followed-2")
	c.write("sh -c 'trap \"echo interrupted-\\$((1+1)); exit\" INT; echo armed-$((1+1)); while :; do sleep 1; done'\n")
	c.until("armed-2")
	c.write("\x03")
	c.until("interrupted-2")
	c.write("exit 3\n")
	if err := cmd.Wait(); err != nil {
		t.Errorf("the program ended with %v: the shell's exit code says nothing about the ticket", err)
	}
}
