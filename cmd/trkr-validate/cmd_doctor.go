package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/trkr-dev/trkr-validate/config"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/ticket"
)

func (a *app) doctorCommand() *cobra.Command {
	engine, deep := "", false
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Tell whether tickets can be validated on this machine, and what to do where not",
		Long: `Tell whether tickets can be validated on this machine, and what to do where not. Exit code 0 where an engine and git
can be used, else 6.

With --deep a real box is started on every engine that can be used: it looks at its isolation from inside, each limit is
exceeded, and what is and is not guaranteed on this machine is said. It takes some seconds; where a kernel lets an engine
hang at its start, a minute.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context(), engine, deep) },
	}
	cmd.Flags().StringVar(&engine, "engine", "", "look at this `engine` alone")
	cmd.Flags().BoolVar(&deep, "deep", false, "start a box on each engine, look at it from inside and exceed its limits")
	return cmd
}

// examined is one thing that doctor looked at.
type examined struct {
	Name   string   `json:"name"`
	State  string   `json:"state"` // "ok", "warning", "failed"
	Detail string   `json:"detail"`
	Hints  []string `json:"hints"`
}

const (
	stateOK      = "ok"
	stateWarning = "warning"
	stateFailed  = "failed"
)

// enginePatience bounds how long an engine may take to say whether it can be used.
const enginePatience = 10 * time.Second

func (a *app) doctor(ctx context.Context, engine string, deep bool) error {
	asked := engines()
	if engine != "" {
		one, err := named(asked, engine)
		if err != nil {
			return err
		}
		asked = []sandbox.Engine{one}
	}
	boxes, usable := examineEngines(ctx, asked)
	if deep {
		boxes, usable = deepenAll(ctx, asked, boxes)
	}
	all := append(slices.Clip(boxes), a.examineGit(ctx))
	if u, ok := examineUserNamespaces("/proc/sys"); ok {
		all = append(all, u)
	}
	if g, ok := examineControlGroups("/sys/fs/cgroup"); ok && deep {
		all = append(all, g)
	}
	all = append(all, a.examineDisk()...)
	code := exitClear
	if git := all[len(boxes)]; !usable || git.State == stateFailed {
		code = exitError
	}
	if a.json {
		if err := a.writeJSON(struct {
			SchemaVersion int        `json:"schemaVersion"`
			ExitCode      exitCode   `json:"exitCode"`
			Checks        []examined `json:"checks"`
		}{1, code, all}); err != nil {
			return err
		}
		return exitWith{code}
	}
	width := 16
	for _, x := range all {
		width = max(width, len(x.Name))
	}
	for _, x := range all {
		if err := a.printf("%-8s %-*s %s\n", x.State, width, x.Name, visible(firstLine(x.Detail))); err != nil {
			return err
		}
		for _, h := range x.Hints {
			if err := a.printf("%-8s %-*s hint: %s\n", "", width, "", visible(h)); err != nil {
				return err
			}
		}
	}
	if !usable {
		say(a.err, "error: ", "no engine can be used on this machine")
	}
	return exitWith{code}
}

// examineEngines asks every engine at once. One that cannot be used is a warning while another can.
func examineEngines(ctx context.Context, all []sandbox.Engine) (found []examined, usable bool) {
	ctx, cancel := context.WithTimeout(ctx, enginePatience)
	defer cancel()
	found = make([]examined, len(all))
	var asking sync.WaitGroup
	for i, e := range all {
		asking.Go(func() {
			x := examined{Name: e.Name(), State: stateOK, Hints: []string{}}
			v, err := e.Check(ctx)
			if err != nil {
				f := fault.Of(err)
				x.State, x.Detail, x.Hints = stateFailed, f.Error(), orEmpty(f.Hints)
			} else {
				x.Detail = strings.TrimSuffix(fmt.Sprintf("%s, %s", v.Version, v.Detail), ", ")
			}
			found[i] = x
		})
	}
	asking.Wait()
	for _, x := range found {
		usable = usable || x.State == stateOK
	}
	for i := range found {
		if usable && found[i].State == stateFailed {
			found[i].State = stateWarning
		}
	}
	return found, usable
}

// deepenAll looks deeper into every engine that can be used, one after the other. One that does not keep what it must
// cannot be used: a warning while another can.
func deepenAll(ctx context.Context, all []sandbox.Engine, boxes []examined) (found []examined, usable bool) {
	var bad []int
	for i, e := range all {
		found = append(found, boxes[i])
		if boxes[i].State != stateOK {
			bad = append(bad, len(found)-1)
			continue
		}
		whole := true
		for _, x := range deepen(ctx, e) {
			found = append(found, x)
			if x.State == stateFailed {
				whole = false
				bad = append(bad, len(found)-1)
			}
		}
		usable = usable || whole
	}
	for _, i := range bad {
		found[i].State = stateFailed
		if usable {
			found[i].State = stateWarning
		}
	}
	return found, usable
}

// examineControlGroups tells which control groups this machine has. dir is /sys/fs/cgroup.
func examineControlGroups(dir string) (x examined, ok bool) {
	if runtime.GOOS != "linux" {
		return examined{}, false
	}
	x = examined{Name: "control groups", State: stateOK, Hints: []string{}}
	there := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	switch {
	case there("cgroup.controllers"):
		x.Detail = "version 2"
	case there("memory") && there("pids"):
		x.Detail = "version 1"
	default:
		x.State, x.Detail = stateWarning, "none here: docker cannot limit memory, processors and processes; gvisor does not need them"
		x.Hints = append(x.Hints, "use --engine gvisor, or mount them (mount -t cgroup2 none /sys/fs/cgroup)")
	}
	return x, true
}

// examineGit opens the repository that is here, which needs a git that works.
func (a *app) examineGit(ctx context.Context) examined {
	x := examined{Name: "git", State: stateOK, Hints: []string{}}
	repo, err := ticket.Open(ctx, a.directory)
	if err == nil {
		x.Detail = "repository " + repo.Root()
		return x
	}
	f := fault.Of(err)
	x.Detail, x.Hints, x.State = f.Error(), orEmpty(f.Hints), stateFailed
	if f.Code == "no_repository" {
		x.State = stateWarning
	}
	return x
}

// leastFree is what a build and its sealed artifacts hardly ever get by with.
const leastFree = 1 << 30

// examineDisk looks at the file systems that a run writes to.
func (a *app) examineDisk() []examined {
	dirs := []string{os.TempDir()}
	if root, err := config.Root(a.directory); err == nil && root != "" {
		dirs = append(dirs, root)
	}
	var found []examined
	for _, dir := range dirs {
		x := examined{Name: "disk", State: stateOK, Hints: []string{}}
		var s unix.Statfs_t
		if err := unix.Statfs(dir, &s); err != nil {
			x.State, x.Detail = stateWarning, fmt.Sprintf("asking how full %s is: %v", dir, err)
		} else {
			free := int64(s.Bavail) * int64(s.Bsize)
			x.Detail = fmt.Sprintf("%.1f GiB free in %s", float64(free)/(1<<30), dir)
			if free < leastFree {
				x.State, x.Hints = stateWarning, []string{"free some space: a build and its artifacts need room"}
			}
		}
		found = append(found, x)
	}
	return found
}

// examineUserNamespaces tells what this machine forbids ordinary users, which the embedded engine needs. Root needs
// none of it. ok is false where the system has no such notion. sys is /proc/sys.
func examineUserNamespaces(sys string) (x examined, ok bool) {
	if runtime.GOOS != "linux" {
		return examined{}, false
	}
	x = examined{Name: "user namespaces", State: stateOK, Detail: "allowed", Hints: []string{}}
	if os.Geteuid() == 0 {
		x.Detail = "not needed as root"
	}
	for _, s := range []struct{ name, bad, remedy string }{
		{"kernel/apparmor_restrict_unprivileged_userns", "1", "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for this program"},
		{"kernel/unprivileged_userns_clone", "0", "sudo sysctl kernel.unprivileged_userns_clone=1"},
		{"user/max_user_namespaces", "0", "sudo sysctl user.max_user_namespaces=15000"},
	} {
		value, err := os.ReadFile(filepath.Join(sys, s.name))
		if err != nil || strings.TrimSpace(string(value)) != s.bad || os.Geteuid() == 0 {
			continue
		}
		x.State, x.Detail = stateWarning, fmt.Sprintf("forbidden for ordinary users by %s=%s", strings.ReplaceAll(s.name, "/", "."), s.bad)
		x.Hints = append(x.Hints, s.remedy)
	}
	return x, true
}
