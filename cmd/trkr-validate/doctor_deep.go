package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

// deepLimits are those of a box that is only tried out: soon exceeded, with room for an init.
var deepLimits = sandbox.Limits{Memory: 192 << 20, CPUs: 1, Pids: 64, Output: 256 << 10, Tmp: 8 << 20}

const (
	deepTime = 500 * time.Millisecond // that a command may take, where that is tried
	deepWait = 20 * time.Second       // for what takes a moment
)

// attempt tries to exceed one limit. None takes more than it could on a machine that does not keep the limit.
type attempt struct {
	limit  string // as in Info.Limits; empty: of time
	script string
	cause  sandbox.Cause
	within time.Duration
}

var attempts = []attempt{
	{limit: "output", script: `i=0; while [ $i -lt 40000 ]; do echo 0123456789abcdef; i=$((i+1)); done`, cause: sandbox.CauseOutput, within: deepWait},
	{script: `while :; do :; done`, cause: sandbox.CauseDeadline, within: deepTime},
	{limit: "pids", script: `i=0; while [ $i -lt 150 ]; do sleep 30 & i=$((i+1)); done`, cause: sandbox.CausePids, within: deepWait},
	{limit: "memory", script: `x=0123456789abcdef; i=0; while [ $i -lt 25 ]; do x=$x$x; i=$((i+1)); done`, cause: sandbox.CauseMemory, within: deepWait}, // last: it may take the box with it
}

// deepen starts a real box on an engine, has it look at itself, and exceeds each limit that the engine says it keeps.
func deepen(ctx context.Context, e sandbox.Engine) []examined {
	d := &deep{name: e.Name(), limits: deepLimits}
	dir, err := deepInput()
	if err != nil {
		return append(d.found, d.failed("box", err))
	}
	defer os.RemoveAll(dir)
	began := time.Now()
	box, err := e.Start(ctx, sandbox.Spec{RunID: "doctor-" + strings.ToLower(rand.Text()[:12]), Input: dir, Image: "host", Limits: d.limits})
	if err != nil {
		return append(d.found, d.failed("box", err))
	}
	d.add("box", stateOK, fmt.Sprintf("started in %s", time.Since(began).Round(time.Millisecond)))
	d.isolation(ctx, box)
	d.tmp(ctx, box)
	for _, a := range attempts {
		d.exceed(ctx, box, a)
	}
	d.cpus(box.Info())
	if err := box.Close(); err != nil {
		d.found = append(d.found, d.failed("end", err))
	} else {
		d.add("end", stateOK, "the box is gone, and everything in it")
	}
	return d.found
}

// deepInput makes what the box is shown.
func deepInput() (string, error) {
	dir, err := os.MkdirTemp("", "trkr-doctor-")
	if err != nil {
		return "", err
	}
	err = errors.Join(os.Mkdir(filepath.Join(dir, "artifact"), 0o755), os.Chmod(dir, 0o755),
		os.WriteFile(filepath.Join(dir, "contract.md"), []byte("VAL-1: nothing is judged here\n"), 0o644))
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

// deep is what was found on one engine.
type deep struct {
	name   string
	limits sandbox.Limits
	found  []examined
}

func (d *deep) add(what, state, detail string, hints ...string) {
	d.found = append(d.found, examined{Name: d.name + " " + what, State: state, Detail: detail, Hints: orEmpty(hints)})
}

func (d *deep) failed(what string, err error) examined {
	f := fault.Of(err)
	return examined{Name: d.name + " " + what, State: stateFailed, Detail: f.Error(), Hints: orEmpty(f.Hints)}
}

func (d *deep) isolation(ctx context.Context, box sandbox.Sandbox) {
	seen, _, err := sandbox.SelfCheck(ctx, box, d.limits)
	if err != nil {
		d.found = append(d.found, d.failed("isolation", err))
		return
	}
	d.add("isolation", stateOK, fmt.Sprintf("not root (uid %s), no capabilities, no new privileges, filtered system calls; interfaces: %s; reached: %s; names: %s; root and inputs %s",
		seen["uid"], seen["interfaces"], seen["reach"], seen["dns"], seen["root"]))
}

// kept tells whether the engine says that it keeps a limit; one that it does not is not tried, because nothing would
// stop it.
func (d *deep) kept(box sandbox.Sandbox, limit string) (text string, kept bool) {
	text = box.Info().Limits[limit]
	if strings.Contains(text, "enforced") || strings.Contains(text, "supervised") {
		return text, true
	}
	d.add(limit, stateWarning, "not guaranteed here: "+text, "a product that takes more is not stopped: give the daemon the control groups it lacks, or use another engine")
	return text, false
}

// exceed runs an attempt and compares how it ended.
func (d *deep) exceed(ctx context.Context, box sandbox.Sandbox, a attempt) {
	name, text, kept := a.limit, "", true
	if name == "" {
		name, text = "time", fmt.Sprintf("%s enforced, each command", a.within)
	} else if text, kept = d.kept(box, a.limit); !kept {
		return
	}
	exit, _, err := d.shell(ctx, box, a.script, a.within)
	lost, isLost := errors.AsType[*sandbox.LostError](err)
	switch {
	case isLost && a.cause == sandbox.CauseMemory && lost.Cause == a.cause:
		d.add(name, stateOK, text+": exceeded, and the whole box was ended for it ("+lost.Detail+")")
	case err != nil:
		d.found = append(d.found, d.failed(name, fmt.Errorf("exceeding the limit: %w", err)))
	case exit.Cause != a.cause:
		d.add(name, stateFailed, fmt.Sprintf("%s, but exceeding it ended with: %s", text, exit), "do not trust a verdict of this engine on this machine where the product may exceed it")
	default:
		d.add(name, stateOK, fmt.Sprintf("%s: exceeded, and the command was ended for it (%s)", text, exit.Cause))
	}
}

// tmp fills the writable places.
func (d *deep) tmp(ctx context.Context, box sandbox.Sandbox) {
	text, kept := d.kept(box, "tmp")
	if !kept {
		return
	}
	script := fmt.Sprintf("for f in /tmp/full /dev/shm/full ./full; do dd if=/dev/zero of=$f bs=65536 count=%d 2>/dev/null; wc -c < $f; rm -f $f; done", d.limits.Tmp/65536*2)
	exit, out, err := d.shell(ctx, box, script, deepWait)
	if err == nil && !exit.Exited() {
		err = fmt.Errorf("it ended with %s", exit)
	}
	if err != nil {
		d.found = append(d.found, d.failed("tmp", fmt.Errorf("filling the writable places: %w", err)))
		return
	}
	for _, size := range strings.Fields(out) {
		var n int64
		if _, err := fmt.Sscan(size, &n); err != nil || n > d.limits.Tmp {
			d.add("tmp", stateFailed, fmt.Sprintf("%s, but files of %s bytes could be written", text, strings.Join(strings.Fields(out), ", ")),
				"do not trust a verdict of this engine on this machine where the product may fill the disk")
			return
		}
	}
	d.add("tmp", stateOK, text+": filled, and no more was written")
}

func (d *deep) cpus(info sandbox.Info) {
	text := info.Limits["cpus"]
	if strings.HasPrefix(text, "unavailable") {
		d.add("cpus", stateWarning, "not guaranteed here: "+text, "a product may take all of this machine's time while it runs")
		return
	}
	d.add("cpus", stateOK, text)
}

// shell runs a script as a program under test would be run.
func (d *deep) shell(ctx context.Context, box sandbox.Sandbox, script string, within time.Duration) (exit sandbox.Exit, out string, err error) {
	s, err := box.Open(ctx, sandbox.SessionSpec{Role: sandbox.RoleSubject})
	if err != nil {
		return exit, "", err
	}
	defer func() {
		if cerr := s.Close(); err == nil {
			err = cerr
		}
	}()
	var stdout bytes.Buffer
	exit, err = s.Run(ctx, sandbox.Command{Args: []string{"/bin/sh", "-c", script}, Stdout: &stdout, Timeout: within})
	return exit, stdout.String(), err
}
