//go:build unix && !linux

package initd

import (
	"errors"
	"os"
)

// Ends are both ends of a command's stdin, stdout and stderr.
type Ends struct{ theirs, own [3]*os.File }

// NewEnds makes them. Terminals are Linux's alone: so are boxes.
func NewEnds(c Command) (*Ends, error) {
	if c.TTY != nil {
		return nil, errors.New("a terminal is made on Linux only")
	}
	e := &Ends{}
	var err error
	for i := range e.own {
		switch {
		case i == 0 && !c.Stdin:
			e.theirs[0], err = os.Open(os.DevNull)
		case i == 0:
			e.theirs[0], e.own[0], err = os.Pipe()
		default:
			e.own[i], e.theirs[i], err = os.Pipe()
		}
		if err != nil {
			e.CloseChild()
			e.CloseOwn()
			return nil, err
		}
	}
	return e, nil
}

// Child lists the ends for the command.
func (e *Ends) Child() []uintptr {
	return []uintptr{e.theirs[0].Fd(), e.theirs[1].Fd(), e.theirs[2].Fd()}
}

// CloseChild closes the command's ends, which it has by now.
func (e *Ends) CloseChild() { closeFiles(e.theirs) }

// CloseOwn closes this side's ends, where there is no Process.
func (e *Ends) CloseOwn() { closeFiles(e.own) }

func closeFiles(files [3]*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// Process makes this side's ends those of a started command.
func (e *Ends) Process() *Process {
	return &Process{Stdin: e.own[0], Stdout: e.own[1], Stderr: e.own[2]}
}
