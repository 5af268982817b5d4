package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/sandboxtest"
)

func stateOf(t *testing.T, found []examined, name string) examined {
	t.Helper()
	for _, x := range found {
		if x.Name == name {
			return x
		}
	}
	t.Fatalf("nothing is said of %q: %+v", name, found)
	return examined{}
}

// What is limited is tried; what is not is said not to be guaranteed, and never tried.
func TestDeepDoctorTriesWhatIsLimited(t *testing.T) {
	fake := &sandboxtest.Fake{}
	found, usable := deepenAll(t.Context(), []sandbox.Engine{fake}, []examined{{Name: "fake", State: stateOK}})
	if !usable || fake.Open() != 0 {
		t.Errorf("usable %v, %d boxes are left, %+v", usable, fake.Open(), found)
	}
	for name, state := range map[string]string{
		"fake box": stateOK, "fake isolation": stateOK, "fake output": stateOK, "fake time": stateOK, "fake end": stateOK,
		"fake memory": stateWarning, "fake pids": stateWarning, "fake tmp": stateWarning, "fake cpus": stateWarning,
	} {
		if x := stateOf(t, found, name); x.State != state {
			t.Errorf("%+v, want %s", x, state)
		}
	}
	if x := stateOf(t, found, "fake pids"); !strings.Contains(x.Detail, "not guaranteed here: unavailable: a fake keeps none") || len(x.Hints) == 0 {
		t.Errorf("%+v", x)
	}
}

// An engine that hangs at its start, has a hole, or does not keep a limit cannot be used; another one still can.
func TestDeepDoctorFindsWhatDoesNotHold(t *testing.T) {
	stuck := fault.Env("engine_stuck", errors.New("the box did not start in time"), "look at dmesg")
	for name, c := range map[string]struct {
		fake *sandboxtest.Fake
		row  string
		says string
	}{
		"stuck":        {&sandboxtest.Fake{StartError: stuck}, "fake box", "did not start in time"},
		"a hole":       {&sandboxtest.Fake{Seen: map[string]string{"interfaces": "lo eth0"}}, "fake isolation", "(interfaces: lo eth0)"},
		"a limit lies": {&sandboxtest.Fake{Limits: map[string]string{"tmp": "8MiB enforced"}, Seen: map[string]string{"limit tmp": "8388608 bytes /tmp"}}, "fake tmp", "16777216"},
	} {
		t.Run(name, func(t *testing.T) {
			found, usable := deepenAll(t.Context(), []sandbox.Engine{c.fake}, []examined{{Name: "fake", State: stateOK}})
			x := stateOf(t, found, c.row)
			if usable || x.State != stateFailed || !strings.Contains(x.Detail, c.says) || len(x.Hints) == 0 {
				t.Errorf("usable %v, %+v", usable, x)
			}
			both := []sandbox.Engine{c.fake, &sandboxtest.Fake{}}
			found, usable = deepenAll(t.Context(), both, []examined{{Name: "fake", State: stateOK}, {Name: "fake", State: stateOK}})
			if x := stateOf(t, found, c.row); !usable || x.State != stateWarning {
				t.Errorf("beside one that holds: usable %v, %+v", usable, x)
			}
		})
	}
}

// A machine without control groups is told what that means.
func TestControlGroupsOfEachKind(t *testing.T) {
	dir := func(names ...string) string {
		top := t.TempDir()
		for _, n := range names {
			if err := os.Mkdir(filepath.Join(top, n), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		return top
	}
	for want, at := range map[string]string{"version 1": dir("memory", "pids"), "version 2": dir("cgroup.controllers"), "none here": dir()} {
		x, ok := examineControlGroups(at)
		if !ok || !strings.HasPrefix(x.Detail, want) || (x.State == stateOK) != (want != "none here") {
			t.Errorf("want %s, got %+v", want, x)
		}
	}
}
