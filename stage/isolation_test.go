package stage_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/sandboxtest"
	"github.com/trkr-dev/trkr-validate/validator"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// Whatever a box does not keep, nobody is asked in it: the run is an error that names what was seen and what to do.
func TestHoleInTheBoxIsAnError(t *testing.T) {
	for fact, value := range map[string]string{
		"uid": "0", "reach": "a route leads out", "root": "writable", "limit pids": "unlimited", "limit tmp": "1099511627776 bytes /tmp",
	} {
		t.Run(fact, func(t *testing.T) {
			asked := false
			k := newKit(t, scripted(func(ctx context.Context, box sandbox.Sandbox, task validator.Task) (verdict.Report, error) {
				asked = true
				return allMet(ctx, box, task)
			}))
			seen := map[string]string{"limit pids": "64", "limit memory": "1073741824 bytes", "limit tmp": "67108864 bytes /tmp"}
			seen[fact] = value
			k.req.Engine = &sandboxtest.Fake{Seen: seen, Limits: map[string]string{"pids": "64 enforced", "memory": "1GiB enforced", "tmp": "64MiB enforced"}}
			res := k.run(verdict.Error)
			if f := res.Failure; asked || f.Code != "isolation" || f.Step != "start" || len(f.Hints) == 0 || !strings.Contains(f.Message, "("+fact+": "+value+")") {
				t.Errorf("%+v", f)
			}
			if res.ExitCode() != 6 || res.Recorded != nil {
				t.Errorf("exit %d, %+v", res.ExitCode(), res.Recorded)
			}
		})
	}
}

// What was seen of the box stands in the record and in validation.md, by its value.
func TestWhatWasSeenOfTheBoxIsRecorded(t *testing.T) {
	k := newKit(t, scripted(allMet))
	k.req.Engine = &sandboxtest.Fake{Seen: map[string]string{"limit pids": "64 (pids.max)"}, Limits: map[string]string{"pids": "64 enforced"}}
	env := k.run(verdict.Clear).Record.Environment
	if env.Isolation["reach"] != "nothing: it is a fake" || env.Isolation["contents"] != "4 paths as sealed, 81 bytes hashed" || env.Limits["pids"] != "64 enforced; seen inside: 64 (pids.max)" {
		t.Errorf("%q %q", env.Isolation, env.Limits)
	}
	k.git("checkout", "-q", "trkr/7")
	text, err := os.ReadFile(filepath.Join(k.dir, ".trkr/tickets/7/validation.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"`reach`: `nothing: it is a fake`", "`contents`: `4 paths as sealed", "`pids`: `64 enforced; seen inside: 64 (pids.max)`"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is missing in %s", want, text)
		}
	}
}
