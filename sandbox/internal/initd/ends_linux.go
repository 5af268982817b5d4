package initd

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Ends are both ends of a command's stdin, stdout and stderr.
type Ends struct {
	theirs [3]int
	own    [3]int // -1: none
	tty    bool
}

// NewEnds makes them. It is called with the effective uid of the identity, so that it may open /dev/stdout and its
// terminal.
func NewEnds(c Command) (e *Ends, err error) {
	e = &Ends{theirs: [3]int{-1, -1, -1}, own: [3]int{-1, -1, -1}}
	defer func() {
		if err != nil {
			e.CloseChild()
			e.CloseOwn()
		}
	}()
	if c.TTY != nil {
		return e, e.terminal(c.TTY.Rows, c.TTY.Cols)
	}
	if c.Stdin {
		err = e.pipe(0)
	} else {
		e.theirs[0], err = unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	for i := 1; i <= 2 && err == nil; i++ {
		err = e.pipe(i)
	}
	return e, err
}

func (e *Ends) pipe(i int) error {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	if i == 1 {
		unix.FcntlInt(uintptr(p[1]), unix.F_SETPIPE_SZ, pipeSize) //nolint:errcheck // a smaller pipe is only slower
	}
	e.theirs[i], e.own[i] = p[1], p[0]
	if i == 0 {
		e.theirs[i], e.own[i] = p[0], p[1]
	}
	return unix.SetNonblock(e.own[i], true)
}

func (e *Ends) terminal(rows, cols uint16) error {
	e.tty = true
	m, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("opening a terminal: %w", err)
	}
	e.own[0] = m
	if err := unix.IoctlSetPointerInt(m, unix.TIOCSPTLCK, 0); err != nil {
		return fmt.Errorf("unlocking a terminal: %w", err)
	}
	n, err := unix.IoctlGetInt(m, unix.TIOCGPTN)
	if err != nil {
		return fmt.Errorf("naming a terminal: %w", err)
	}
	s, err := unix.Open(fmt.Sprintf("/dev/pts/%d", n), unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening a terminal's other end: %w", err)
	}
	e.theirs[0] = s
	resize(m, rows, cols)
	return nil
}

func resize(fd int, rows, cols uint16) {
	if rows > 0 && cols > 0 {
		unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols}) //nolint:errcheck // a size is a wish
	}
}

// Child lists the ends for the command.
func (e *Ends) Child() []uintptr {
	if e.tty {
		s := uintptr(e.theirs[0])
		return []uintptr{s, s, s}
	}
	return []uintptr{uintptr(e.theirs[0]), uintptr(e.theirs[1]), uintptr(e.theirs[2])}
}

// CloseChild closes the command's ends, which it has by now.
func (e *Ends) CloseChild() { closeAll(e.theirs[:]) }

// CloseOwn closes this side's ends, where there is no Process.
func (e *Ends) CloseOwn() { closeAll(e.own[:]) }

func closeAll(fds []int) {
	for _, fd := range fds {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// Process makes this side's ends those of a started command.
func (e *Ends) Process() *Process {
	file := func(i int, name string) *os.File {
		if e.own[i] < 0 {
			return nil
		}
		return os.NewFile(uintptr(e.own[i]), name)
	}
	if e.tty {
		m := file(0, "terminal")
		return &Process{Stdin: m, Stdout: m, Resize: func(rows, cols uint16) {
			if c, err := m.SyscallConn(); err == nil {
				c.Control(func(fd uintptr) { resize(int(fd), rows, cols) }) //nolint:errcheck // closed
			}
		}}
	}
	return &Process{Stdin: file(0, "stdin"), Stdout: file(1, "stdout"), Stderr: file(2, "stderr")}
}
