package docker

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// program is the file that becomes the box's init.
type program struct {
	path   string
	arch   string // Go's name of its processor
	static bool   // needs no loader of the image
	was    identity
}

// identity tells whether a file is still the one that was looked at. No program can set the change time back.
type identity struct {
	dev, ino uint64
	size     int64
	changed  unix.Timespec
}

func identify(path string) (identity, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return identity{}, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return identity{dev: uint64(st.Dev), ino: st.Ino, size: st.Size, changed: st.Ctim}, nil
}

// unchanged makes sure that the file is the one that was looked at before anything of a ticket ran: a build could put
// its own program there, which would then be the init of the box that judges it.
func (p program) unchanged() error {
	now, err := identify(p.path)
	if err == nil && now != p.was {
		err = fmt.Errorf("%s was replaced or written to while this program ran", p.path)
	}
	if err != nil {
		return fault.Env("init_changed", fmt.Errorf("the box's init: %w", err), "run a copy of this program that the build does not write to", "or use the engine that needs no daemon: --engine gvisor")
	}
	return nil
}

// program looks at the init.
func (o Options) program() (program, error) {
	path := o.Init
	if path == "" {
		self, err := os.Executable()
		if err != nil {
			return program{}, fault.Envf("init_missing", []string{"start this program by its whole path"}, "finding this program's file: %w", err)
		}
		path = self
	}
	real, err := filepath.EvalSymlinks(path) // a daemon would look for a link's end in its own file system
	var p program
	if err == nil {
		p, err = inspect(real)
	}
	if err != nil {
		return program{}, fault.Envf("init_missing", []string{"use a build of this program that is made for this platform"}, "the box's init %s: %w", path, err)
	}
	return p, nil
}

func inspect(path string) (program, error) {
	file, err := elf.Open(path)
	if format := (*elf.FormatError)(nil); errors.As(err, &format) {
		return program{}, fmt.Errorf("not a Linux program (this one is built for %s)", runtime.GOOS)
	}
	if err != nil {
		return program{}, err
	}
	defer file.Close()
	p := program{path: path, static: true}
	if p.was, err = identify(path); err != nil {
		return program{}, err
	}
	switch file.Machine {
	case elf.EM_X86_64:
		p.arch = "amd64"
	case elf.EM_AARCH64:
		p.arch = "arm64"
	case elf.EM_ARM:
		p.arch = "arm"
	case elf.EM_386:
		p.arch = "386"
	default:
		p.arch = file.Machine.String()
	}
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP {
			p.static = false
		}
	}
	return p, nil
}

// loads makes sure that the program runs in an image: one that was linked to the libraries of this machine finds them
// only where the userland is this machine's.
func (p program) loads(image string) error {
	if p.static || image == hostImage {
		return nil
	}
	return fault.Envf("init_not_static", []string{"build with CGO_ENABLED=0", "or use the image \"host\""},
		"this program (%s) was linked to this machine's libraries and cannot run in the image %q", p.path, image)
}
