//go:build unix

// Command subject is what the conformance suite puts into a box: one static program with a verb for each thing that a
// product, or an attacker, may do there.
package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		fail(errors.New("which verb?"))
	}
	f, ok := verbs[os.Args[1]]
	if !ok {
		f, ok = linuxVerbs[os.Args[1]]
	}
	if !ok {
		fail(fmt.Errorf("no verb %q", os.Args[1]))
	}
	f(os.Args[2:])
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(99)
}

func check(err error) {
	if err != nil {
		fail(err)
	}
}

func num(s string) int {
	n, err := strconv.Atoi(s)
	check(err)
	return n
}

func itself() string {
	self, err := os.Executable()
	check(err)
	return self
}

var verbs = map[string]func([]string){
	"exit":  func(a []string) { os.Exit(num(a[0])) },
	"words": func(a []string) { fmt.Printf("%q\n", a) },
	"say":   func(a []string) { fmt.Println(a[0]); fmt.Fprintln(os.Stderr, a[1]) },
	"cat":   func([]string) { _, err := io.Copy(os.Stdout, os.Stdin); check(err) },
	"env":   func([]string) { fmt.Println(strings.Join(os.Environ(), "\n")) },
	"ids":   func([]string) { fmt.Println(os.Getuid(), os.Geteuid(), os.Getgid()) },
	"pwd":   func([]string) { d, err := os.Getwd(); check(err); fmt.Println(d) },
	"self":  func([]string) { s, err := os.Executable(); check(err); fmt.Println(s) },
	"sleep": func(a []string) { time.Sleep(time.Duration(num(a[0])) * time.Millisecond) },
	"write": func(a []string) { check(os.WriteFile(a[0], []byte(a[1]), 0o644)) },
	"mkdir": func(a []string) { check(os.Mkdir(a[0], os.FileMode(num(a[1])))) },
	"chmod": func(a []string) { // octal mode, paths
		mode, err := strconv.ParseUint(a[0], 8, 32)
		check(err)
		for _, p := range a[1:] {
			check(syscall.Chmod(p, uint32(mode)))
		}
	},
	"read": func(a []string) {
		b, err := os.ReadFile(a[0])
		check(err)
		os.Stdout.Write(b)
	},
	"serve": func(a []string) { // address, answer: each that connects and asks gets it
		l, err := net.Listen("tcp", a[0])
		check(err)
		for {
			c, err := l.Accept()
			check(err)
			n, err := c.Read(make([]byte, 64))
			check(err)
			fmt.Fprintf(c, "%s %d", a[1], n)
			c.Close()
		}
	},
	"once": func(a []string) { // address, answer: as serve, to one, and nobody listens after it has come
		l, err := net.Listen("tcp", a[0])
		check(err)
		c, err := l.Accept()
		check(err)
		l.Close()
		n, err := c.Read(make([]byte, 64))
		check(err)
		fmt.Fprintf(c, "%s %d", a[1], n)
		c.Close()
	},
	"send6": func(a []string) { // port, bytes: as send, to 127.0.0.1 through a socket of IPv6, as Java does
		fd, err := syscall.Socket(syscall.AF_INET6, syscall.SOCK_STREAM, 0)
		check(err)
		to := &syscall.SockaddrInet6{Port: num(a[0]), Addr: [16]byte{10: 255, 11: 255, 12: 127, 15: 1}}
		check(syscall.Connect(fd, to))
		f := os.NewFile(uintptr(fd), "socket")
		c, err := net.FileConn(f)
		check(err)
		f.Close()
		send(c, num(a[1]))
	},
	"send": func(a []string) { // address, bytes: sends so many and prints how many came back
		c, err := net.Dial("tcp", a[0])
		check(err)
		send(c, num(a[1]))
	},
	"parent": func(a []string) { // runs itself with the words, and ends well whatever became of that
		exec.Command(itself(), a...).Run()
	},
	"others": func([]string) { // reads and ends all that is not its own
		all, err := filepath.Glob("/proc/[0-9]*")
		check(err)
		for _, dir := range all {
			pid := num(filepath.Base(dir))
			if pid == os.Getpid() || pid == os.Getppid() {
				continue
			}
			for _, name := range []string{"environ", "maps", "mem", "fd"} {
				if b, err := os.ReadFile(filepath.Join(dir, name)); err == nil && len(b) > 0 {
					fmt.Printf("read %s of %d: %q\n", name, pid, b)
				}
			}
			if syscall.Kill(pid, syscall.SIGKILL) == nil {
				fmt.Println("ended", pid)
			}
		}
	},
	"stdout": func(a []string) { // opens what /dev/stdout names
		f, err := os.OpenFile("/proc/self/fd/1", os.O_WRONLY, 0)
		check(err)
		fmt.Fprintln(f, a[0])
	},
	"signal": func(a []string) {
		n := syscall.Signal(num(a[0]))
		signal.Reset(n)
		check(syscall.Kill(os.Getpid(), n))
		time.Sleep(time.Minute)
	},
	"ls": func(a []string) {
		var all []string
		for _, dir := range a {
			filepath.Walk(dir, func(p string, i os.FileInfo, _ error) error {
				if i != nil && p != dir { // a directory that is shut is there
					all = append(all, p)
				}
				return nil
			})
		}
		sort.Strings(all)
		fmt.Println(strings.Join(all, "\n"))
	},
	"big": func(a []string) { // bytes, then goes on for ever if a second word is there
		b := make([]byte, 64<<10)
		for i := range b {
			b[i] = 'a' + byte(i%26)
		}
		for left := num(a[0]); left > 0 || len(a) > 1; left -= len(b) {
			n := len(b)
			if len(a) == 1 {
				n = min(n, left)
			}
			_, err := os.Stdout.Write(b[:n])
			check(err)
		}
	},
	// child holds stdout and stderr, in a session of its own, and says so in a file before the parent goes on.
	"hold": func(a []string) {
		c := exec.Command(self(), "tick", a[0])
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		check(c.Start())
		for {
			if _, err := os.Stat(a[0]); err == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		fmt.Println("held")
		if len(a) > 1 {
			time.Sleep(time.Minute)
		}
	},
	"tick": func(a []string) {
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		for i := 0; ; i++ {
			check(os.WriteFile(a[0]+".new", []byte(strconv.Itoa(i)), 0o644))
			check(os.Rename(a[0]+".new", a[0]))
			time.Sleep(5 * time.Millisecond)
		}
	},
	"alloc": func(a []string) { // MiB, each page written
		var all [][]byte
		for range num(a[0]) {
			b := make([]byte, 1<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			all = append(all, b)
		}
		fmt.Println(len(all), "MiB")
	},
	"forks": func(a []string) { // processes without threads, until there may be no more of them
		for i := range num(a[0]) {
			if err := pauseInChild(); err != nil {
				fmt.Println(i, err)
				os.Exit(7)
			}
		}
		fmt.Println("no limit")
	},
	"fill": func(a []string) { // directory, MiB
		f, err := os.Create(filepath.Join(a[0], "fill"))
		check(err)
		b := make([]byte, 1<<20)
		for i := range num(a[1]) {
			if _, err := f.Write(b); err != nil {
				fmt.Println(i, err)
				os.Remove(f.Name())
				os.Exit(8)
			}
		}
		fmt.Println("no limit")
	},
	"tty": func(a []string) {
		fmt.Println("size", size())
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGWINCH)
		fmt.Println("ready")
		<-c
		fmt.Println("size", size())
		var line string
		fmt.Scanln(&line)
		fmt.Println("line", line)
	},
	"net": func(a []string) {
		all, err := net.Interfaces()
		check(err)
		for _, i := range all {
			fmt.Println("interface", i.Name)
		}
		for _, addr := range a {
			c, err := net.DialTimeout("tcp", addr, time.Second)
			if err == nil {
				c.Close()
				fmt.Println("reached", addr)
			}
		}
		if _, err := net.LookupHost("example.com"); err == nil {
			fmt.Println("resolved")
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		check(err)
		go func() {
			if c, err := l.Accept(); err == nil {
				c.Close()
			}
		}()
		c, err := net.Dial("tcp", l.Addr().String())
		check(err)
		c.Close()
		fmt.Println("loopback works")
	},
	"touch": func(a []string) { // tells which of the paths may be made
		for _, p := range a {
			if f, err := os.OpenFile(p, os.O_CREATE|os.O_WRONLY, 0o644); err == nil {
				f.Close()
				os.Remove(p)
				fmt.Println("wrote", p)
			}
		}
	},
	"comets": func(a []string) {
		for range num(a[0]) {
			check(comet())
		}
		fmt.Println("off they go")
	},
	"alive": func(a []string) { // counts the other processes of its uid
		dirs, err := filepath.Glob("/proc/[0-9]*")
		check(err)
		n := 0
		for _, d := range dirs {
			b, err := os.ReadFile(d + "/status")
			if err == nil && strings.Contains(string(b), fmt.Sprintf("\nUid:\t%d\t", os.Getuid())) {
				n++
			}
		}
		fmt.Println(n - 1)
	},
	"copy": func(a []string) { // itself, to a path, with an octal mode
		b, err := os.ReadFile(itself())
		check(err)
		check(os.WriteFile(a[0], b, 0o755))
		mode, err := strconv.ParseUint(a[1], 8, 32)
		check(err)
		check(syscall.Chmod(a[0], uint32(mode)))
	},
}

func self() string {
	s, err := os.Executable()
	check(err)
	return s
}

func send(c net.Conn, bytes int) {
	go func() {
		c.Write(make([]byte, bytes))
		c.(*net.TCPConn).CloseWrite()
	}()
	n, err := io.Copy(io.Discard, c)
	fmt.Println(n, err)
}
