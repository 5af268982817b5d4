package proc

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is one line of /proc/PID/stat as far as it matters here.
type process struct {
	pid, parent, group, session int
	start                       uint64 // ticks since boot
	name                        string
	zombie                      bool // nothing of it runs any more
}

// tree kills the descendants of some processes.
type tree struct {
	of    func(process) treePart // which processes it is about
	also  func() []process       // more of them, which are not in the list of all; nil: none
	reap  func() bool            // takes what has ended; true: nothing can be left
	ended <-chan os.Signal       // fires when a child may have ended; nil: looked at regularly
	names names                  // everything that was killed
}

// treePart says what a process is to a tree.
type treePart int

const (
	elsewhere treePart = iota // by itself no part of it; part of it where its parent is
	root                      // its descendants belong to the tree, itself does not
	member                    // belongs to the tree, as do its descendants
)

func isSelf(p process) treePart {
	if p.pid == os.Getpid() {
		return root
	}
	return elsewhere
}

// kill kills the tree until nothing of it is left, and returns the names of what could not be killed in time.
func (t *tree) kill() (survivors []string) {
	limit := time.Now().Add(killLimit)
	// Short waits: a process that forks faster than we look is hit by its group or by luck, and each look is a chance.
	for wait := time.Millisecond; !t.reap(); wait = min(2*wait, 20*time.Millisecond) {
		left := t.find()
		if t.also != nil {
			left = append(left, t.also()...)
		}
		if len(left) == 0 && t.ended == nil {
			return nil
		}
		if time.Now().After(limit) {
			var n names
			n.add(left...)
			if len(left) == 0 {
				return []string{unseen} // something is there to be waited for
			}
			return n.shown()
		}
		t.names.add(left...)
		groups := map[int]bool{syscall.Getpgrp(): true}
		for _, p := range left {
			// A group is killed as one: a process cannot fork out of the way of it.
			if !groups[p.group] && p.group > 1 {
				groups[p.group] = true
				_ = syscall.Kill(-p.group, syscall.SIGKILL)
			}
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
		select {
		case <-t.ended:
		case <-time.After(wait):
		}
	}
	return nil
}

// find lists the living processes of the tree.
func (t *tree) find() []process {
	all := processes()
	parts := make(map[int]treePart, len(all))
	byPID := make(map[int]process, len(all))
	for _, p := range all {
		byPID[p.pid] = p
	}
	var part func(p process, depth int) treePart
	part = func(p process, depth int) treePart {
		if known, ok := parts[p.pid]; ok {
			return known
		}
		found := t.of(p)
		// The list is not of one moment, so it may hold a circle.
		if parent, ok := byPID[p.parent]; ok && found == elsewhere && depth < len(all) {
			if part(parent, depth+1) != elsewhere {
				found = member
			}
		}
		parts[p.pid] = found
		return found
	}
	var left []process
	for _, p := range all {
		if part(p, 0) == member && !p.zombie {
			left = append(left, p)
		}
	}
	return left
}

// unseen names a process of which only its parent knows.
const unseen = "a process that cannot be seen"

// hidden lists the children of this process that /proc does not show to its user, where it is mounted that way
// (hidepid): a program that may be run and not read is one. When it ends, its own children come to this process.
func hidden() (found []process) {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		b, err := os.ReadFile(list)
		if err != nil {
			continue
		}
		for _, field := range strings.Fields(string(b)) {
			pid, err := strconv.Atoi(field)
			if _, shown := look(pid); err == nil && !shown {
				found = append(found, process{pid: pid, name: unseen})
			}
		}
	}
	return found
}

// processes lists what runs. One that ends meanwhile is left out.
func processes() []process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	entries, _ := dir.Readdirnames(-1)
	all := make([]process, 0, len(entries))
	for _, e := range entries {
		if pid, err := strconv.Atoi(e); err == nil {
			if p, ok := look(pid); ok {
				all = append(all, p)
			}
		}
	}
	return all
}

func look(pid int) (process, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	open, shut := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || shut < open {
		return process{}, false
	}
	f := strings.Fields(string(b[shut+1:]))
	if len(f) < 20 {
		return process{}, false
	}
	p := process{pid: pid, name: string(b[open+1 : shut])}
	// A process whose first thread has ended looks like a zombie, and its other threads run on.
	threads, _ := strconv.Atoi(f[17])
	p.zombie = (f[0] == "Z" || f[0] == "X") && threads <= 1
	p.parent, _ = strconv.Atoi(f[1])
	p.group, _ = strconv.Atoi(f[2])
	p.session, _ = strconv.Atoi(f[3])
	p.start, err = strconv.ParseUint(f[19], 10, 64)
	return p, err == nil
}

// names collects what processes are called, each process once.
type names struct {
	seen map[[2]uint64]bool
	list []string
}

func (n *names) add(ps ...process) {
	for _, p := range ps {
		id := [2]uint64{uint64(p.pid), p.start}
		if n.seen[id] {
			continue
		}
		if n.seen == nil {
			n.seen = map[[2]uint64]bool{}
		}
		n.seen[id] = true
		if len(n.list) < namesShown {
			n.list = append(n.list, strings.ToValidUTF8(p.name, "?"))
		}
	}
}

// shown is the names in order; where there are too many, the last one is a count of the rest.
func (n *names) shown() []string {
	if len(n.list) == 0 {
		return nil
	}
	list := slices.Sorted(slices.Values(n.list))
	if more := len(n.seen) - len(n.list); more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return list
}
