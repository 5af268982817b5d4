//go:build linux && (amd64 || arm64)

package gvisor

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	longestLook  = 50 * time.Millisecond
	shortestLook = time.Millisecond
	// fillRate is about as fast as a box was seen to allocate, in bytes per second. The next look comes before what
	// is left of the limit can be filled at it.
	fillRate = 8 << 30
)

// memory is what a box uses: the file in which gVisor keeps its anonymous memory and its tmpfs (the resident size of
// the process shows neither), and the heap of gVisor's own kernel, in which pipes and sockets lie.
type memory struct {
	file     string // /proc/<pid>/fd/<n> of that file
	statm    string // /proc/<pid>/statm
	baseline int64  // the kernel's heap when the box was ready
}

// findMemory finds the memory of a running sandbox process.
func findMemory(pid int) (*memory, error) {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	fds, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		return nil, fmt.Errorf("finding the box's memory: %w", err)
	}
	for _, fd := range fds {
		path := filepath.Join(proc, "fd", fd.Name())
		target, err := os.Readlink(path)
		if err != nil || !strings.HasPrefix(target, "/memfd:runsc-memory") {
			continue
		}
		m := &memory{file: path, statm: filepath.Join(proc, "statm")}
		if m.baseline, err = m.heap(); err != nil {
			return nil, fmt.Errorf("finding the box's memory: %w", err)
		}
		return m, nil
	}
	return nil, errors.New("finding the box's memory: no memory file among the descriptors of the sandbox process")
}

// used is how many bytes the box takes now.
func (m *memory) used() (int64, error) {
	var st syscall.Stat_t
	if err := syscall.Stat(m.file, &st); err != nil {
		return 0, err
	}
	heap, err := m.heap()
	if err != nil {
		return 0, err
	}
	return st.Blocks*512 + max(0, heap-m.baseline), nil
}

// heap is the private memory of the process: what is resident without files and shared memory.
func (m *memory) heap() (int64, error) {
	text, err := os.ReadFile(m.statm)
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(text)
	if len(fields) < 3 {
		return 0, fs.ErrNotExist // a process that has ended
	}
	resident, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0, err
	}
	shared, err := strconv.ParseInt(string(fields[2]), 10, 64)
	if err != nil {
		return 0, err
	}
	return (resident - shared) * int64(os.Getpagesize()), nil
}

// watch looks at the memory until stop is closed, more than limit is used, or it cannot be seen. It returns what was
// used last.
func (m *memory) watch(limit int64, stop <-chan struct{}) (used int64, err error) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			return used, nil
		case <-timer.C:
		}
		if used, err = m.used(); err != nil || used > limit {
			return used, err
		}
		timer.Reset(nextLook(limit - used))
	}
}

// nextLook is how long the box needs at least to use up what is left, within bounds.
func nextLook(left int64) time.Duration {
	return max(shortestLook, min(longestLook, time.Duration(float64(left)/fillRate*float64(time.Second))))
}
