//go:build linux && cgo && (amd64 || arm64)

package gvisor

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"gvisor.dev/gvisor/runsc/specutils"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// gVisor's processes change to an empty root and then run themselves again, to shed their rights. A program that was
// built with cgo is linked dynamically, and there is no loader in an empty root. So before that everything that the
// loader would open by name is opened, and the names are made ones of open files, which hold in any root: a script in
// memory names the loader and the program, and the environment names the libraries.
//
// Programs built with CGO_ENABLED=0 need none of this (reexec_static.go), and start faster.

const (
	// firstFD is where the files' descriptors begin: above those that gVisor hands on.
	firstFD = 200
	// preload makes the loader take the libraries from their descriptors; their sonames satisfy the program's needs.
	preload = "LD_PRELOAD"
)

// prepareReexec makes gVisor run this process's program again in a way that works in any root.
func prepareReexec() error {
	if again() || !strings.HasPrefix(os.Args[0], runtimeName+"-") {
		return nil // the processes above the sandbox and the gofer keep the machine's root
	}
	loader, err := interpreter(specutils.ExePath)
	if loader == "" || err != nil {
		return err // linked statically after all
	}
	libraries, err := mapped(loader)
	if err != nil {
		return err
	}
	var fds []string
	for _, path := range append([]string{loader, specutils.ExePath}, libraries...) {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("opening %s: %w", path, err)
		}
		name, err := keep(fd)
		if err != nil {
			return err
		}
		fds = append(fds, name)
	}
	memory, err := unix.MemfdCreate("trkr-validate", unix.MFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("making a script in memory: %w", err)
	}
	if _, err := unix.Write(memory, []byte("#!"+fds[0]+" "+fds[1]+"\n")); err != nil {
		return fmt.Errorf("making a script in memory: %w", err)
	}
	script, err := keep(memory)
	if err != nil {
		return err
	}
	specutils.ExePath = script
	return errors.Join(
		os.Setenv(preload, strings.Join(fds[2:], ":")),
		// The C library must not register memory with the kernel that gVisor's stubs take away, nor do what gVisor's
		// filters punish with death: open files to count the cores, which a set number of arenas saves it, and wait
		// for another thread's arena, which enough of them do.
		os.Setenv("GLIBC_TUNABLES", "glibc.pthread.rseq=0:glibc.malloc.arena_max=1024"))
}

// again reports whether this process was started by the script, and puts its arguments right: the loader was given the
// program, the script, and what gVisor meant.
func again() bool {
	if len(os.Args) < 3 || !strings.HasPrefix(os.Args[0], fdPath) || !strings.HasPrefix(os.Args[1], fdPath) {
		return false
	}
	specutils.ExePath = os.Args[1]
	os.Args = append([]string{runtimeName}, os.Args[2:]...)
	if slices.Contains(os.Args, "--apply-caps=false") { // the last time: the sandbox itself must not hold them
		for fd := firstFD; fd < firstFD+64; fd++ {
			_ = unix.Close(fd)
		}
		_ = os.Unsetenv(preload)
	}
	return true
}

// keep moves a descriptor out of gVisor's way, lets programs inherit it, and gives the name of its file.
func keep(fd int) (string, error) {
	kept, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD, firstFD)
	if err != nil {
		return "", fmt.Errorf("keeping a file open: %w", err)
	}
	return fdPath + strconv.Itoa(kept), unix.Close(fd)
}

// loads makes sure that this program can be the init of an image: one that is linked to this machine's libraries finds
// them only in the image "host".
func loads(image string) error {
	loader, err := interpreter(selfExe)
	if err != nil || loader == "" {
		return err
	}
	return fault.Envf("init_not_static", []string{"build with CGO_ENABLED=0", "or use the image \"host\""},
		"this program was linked to this machine's libraries and cannot run in the image %q", image)
}

// interpreter is the loader that a program names; empty where it names none.
func interpreter(path string) (string, error) {
	f, err := elf.Open(path)
	if err != nil {
		return "", fmt.Errorf("reading the program: %w", err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			name, err := io.ReadAll(p.Open())
			return string(bytes.TrimRight(name, "\x00")), err
		}
	}
	return "", nil
}

// mapped lists the libraries of this process, without its program and the loader.
func mapped(loader string) ([]string, error) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, fmt.Errorf("finding the program's libraries: %w", err)
	}
	var known []os.FileInfo
	for _, path := range []string{selfExe, loader} {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("finding the program's libraries: %w", err)
		}
		known = append(known, info)
	}
	var list []string
	for line := range strings.Lines(string(maps)) {
		fields := strings.Fields(line)
		if len(fields) < 6 || !strings.HasPrefix(fields[1], "r-x") || !strings.HasPrefix(fields[5], "/") {
			continue
		}
		info, err := os.Stat(fields[5])
		if err != nil || slices.ContainsFunc(known, func(k os.FileInfo) bool { return os.SameFile(k, info) }) {
			continue
		}
		known = append(known, info)
		list = append(list, fields[5])
	}
	return list, nil
}
