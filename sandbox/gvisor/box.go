//go:build linux && (amd64 || arm64)

package gvisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/trkr-dev/trkr-validate/sandbox"
)

// box is what the engine holds of a box.
type box struct {
	dir      string
	process  *process
	userland *userland
	removed  func() // called after the box's files are gone

	watching sync.WaitGroup
	stop     chan struct{}
	why      atomic.Pointer[sandbox.LostError] // set before the supervisor ends the box

	closing  sync.Once
	closeErr error
}

// limitMemory supervises the box's memory from now on: a box that uses more, or that can no longer be watched, is
// ended.
func (b *box) limitMemory(limit int64) error {
	pid, err := b.process.hold()
	if err != nil {
		return err
	}
	m, err := findMemory(pid)
	if err != nil {
		return err
	}
	b.stop = make(chan struct{})
	b.watching.Go(func() {
		used, err := m.watch(limit, b.stop)
		switch {
		case err != nil && b.process.hasEnded(endGrace): // it went by itself, and its memory with it
		case err != nil:
			b.why.Store(&sandbox.LostError{Cause: sandbox.CauseUnknown, Detail: "its memory could not be watched: " + err.Error()})
			b.process.kill()
		case used > limit:
			b.why.Store(&sandbox.LostError{Cause: sandbox.CauseMemory, Detail: fmt.Sprintf("the box used %d MiB", used>>20)})
			b.process.kill()
		}
	})
	return nil
}

// lost implements shim.Box.Lost.
func (b *box) lost(ctx context.Context) *sandbox.LostError {
	select {
	case <-b.process.ended:
	case <-ctx.Done():
		return &sandbox.LostError{Cause: sandbox.CauseUnknown, Detail: "gvisor runs on, but its init does not answer"}
	}
	if why := b.why.Load(); why != nil {
		return why
	}
	detail := "gvisor ended: " + ending(b.process.err)
	if said := b.process.said(); said != "" {
		detail += ": " + lastLine(said)
	}
	return &sandbox.LostError{Cause: sandbox.CauseUnknown, Detail: detail}
}

// ending puts into words how a process ended.
func ending(err error) string {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		if err != nil {
			return err.Error()
		}
		return "exit 0"
	}
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal().String()
	}
	return fmt.Sprintf("exit %d", exit.ExitCode())
}

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }

// close ends the box and removes all of it. It is idempotent.
func (b *box) close() error {
	b.closing.Do(func() { b.closeErr = b.remove() })
	return b.closeErr
}

func (b *box) remove() error {
	var err error
	if b.process != nil {
		err = b.process.end()
	}
	if b.stop != nil {
		close(b.stop)
		b.watching.Wait()
	}
	if gone := os.RemoveAll(b.dir); gone != nil {
		err = errors.Join(err, fmt.Errorf("removing the box's files: %w", gone))
	}
	b.removed()
	return errors.Join(err, b.userland.close())
}

// limitTexts says how each limit is kept.
func limitTexts(l sandbox.Limits, cpus string) map[string]string {
	pids := strconv.Itoa(l.Pids) + " enforced, each uid"
	if l.Pids < leastPids {
		pids = fmt.Sprintf("%d enforced, each uid (%d asked for, the init needs more)", leastPids, l.Pids)
	}
	return map[string]string{
		"memory": bytesText(l.Memory) + " supervised",
		"cpus":   cpus,
		"pids":   pids,
		"output": bytesText(l.Output) + " enforced, each command",
		"tmp":    bytesText(l.Tmp) + " enforced, each file system",
	}
}

func bytesText(n int64) string {
	for _, u := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n%u.size == 0 {
			return fmt.Sprintf("%d%s", n/u.size, u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// copyFile copies a program to a new file that everybody may run.
func copyFile(to, from string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if err := out.Chmod(0o755); err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return err
}
