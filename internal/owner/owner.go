// Package owner names a running program so that what it leaves behind (boxes, locks, temporary folders) can be told
// from what a live one still uses, also after a pid was given to another process or the machine was started anew.
package owner

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Owner is one run of a program. Two owners are the same exactly when they are equal.
type Owner struct {
	PID   int
	Start uint64 // when the process started, in the kernel's ticks since boot; 0 where the platform does not tell
	Boot  string // id of this boot of the machine; empty where the platform does not tell
	UID   int
	Space uint64 // inode of the pid namespace that PID is of; 0 where there are none
}

var self = sync.OnceValue(func() Owner {
	pid := os.Getpid()
	start, _ := startTime(pid)
	return Owner{PID: pid, Start: start, Boot: bootID(), UID: os.Getuid(), Space: pidSpace()}
})

// Self is the calling program.
func Self() Owner { return self() }

// String writes an owner as pid.start.uid.space.boot, which is fit for a label, a file's content and a file's name.
func (o Owner) String() string {
	return fmt.Sprintf("%d.%d.%d.%d.%s", o.PID, o.Start, o.UID, o.Space, o.Boot)
}

// Parse reads what String wrote, and nothing else.
func Parse(s string) (Owner, error) {
	fields := strings.SplitN(s, ".", 5)
	if len(fields) != 5 {
		return Owner{}, fmt.Errorf("reading owner %q: not pid.start.uid.space.boot", s)
	}
	pid, err := strconv.Atoi(fields[0])
	if err != nil || pid <= 0 {
		return Owner{}, fmt.Errorf("reading owner %q: no pid", s)
	}
	start, err := strconv.ParseUint(fields[1], 10, 64)
	if err != nil {
		return Owner{}, fmt.Errorf("reading owner %q: no start time", s)
	}
	uid, err := strconv.Atoi(fields[2])
	if err != nil {
		return Owner{}, fmt.Errorf("reading owner %q: no uid", s)
	}
	space, err := strconv.ParseUint(fields[3], 10, 64)
	if err != nil {
		return Owner{}, fmt.Errorf("reading owner %q: no pid namespace", s)
	}
	o := Owner{PID: pid, Start: start, Boot: fields[4], UID: uid, Space: space}
	if o.String() != s || strings.ContainsFunc(o.Boot, unfit) {
		return Owner{}, fmt.Errorf("reading owner %q: not as it is written", s)
	}
	return o, nil
}

// unfit reports a character that no boot id holds.
func unfit(r rune) bool {
	return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// Alive reports whether the program still runs: this boot, and a process with that pid and start time that has not
// ended. It can only speak for programs of this machine: one of another counts as dead. One of another pid namespace
// cannot be seen and counts as alive until the machine is started anew: two containers may share a folder. Where the
// platform does not tell start times, a reused pid counts as alive.
func (o Owner) Alive() bool {
	if o.Boot != bootID() {
		return false
	}
	if o.Space != pidSpace() {
		return true
	}
	start, ok := startTime(o.PID)
	return ok && start == o.Start
}
