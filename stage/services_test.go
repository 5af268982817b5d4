package stage_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/internal/event"
	"github.com/trkr-dev/trkr-validate/validator"
	"github.com/trkr-dev/trkr-validate/validator/probe"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// Services run around each check, and events and transcript tell of them.
func TestServicesAroundEachCheck(t *testing.T) {
	k := newKit(t, probe.New(probe.Options{}))
	up := filepath.Join(t.TempDir(), "up")
	k.req.Services = []validator.Service{{Command: fmt.Sprintf("echo serving; touch %s; exec sleep 60", up), Ready: "test -e " + up}}
	res := k.run(verdict.Clear)
	served := slices.DeleteFunc(slices.Clone(*k.events), func(e event.Event) bool {
		return e.Command == nil || !strings.HasPrefix(e.Command.Text, "service: echo serving")
	})
	checks := map[string]bool{}
	for _, e := range served {
		checks[e.Command.Criterion] = true
	}
	if !checks["VAL-1"] || !checks["VAL-2"] {
		t.Errorf("%+v", served)
	}
	log, err := os.ReadFile(filepath.Join(res.RunDir, "transcript.log"))
	if err != nil || !strings.Contains(string(log), "  svc| serving") {
		t.Errorf("%v, %s", err, log)
	}
}

// A service that does not get ready blocks: the run cannot tell, and says why.
func TestServiceThatIsNotReadyBlocks(t *testing.T) {
	k := newKit(t, probe.New(probe.Options{}))
	k.req.Services = []validator.Service{{Command: "echo no such table >&2; exit 1", Ready: "tcp:1"}}
	for _, c := range k.run(verdict.Incomplete).Record.Criteria {
		if c.Status != verdict.Blocked || !strings.Contains(c.Evidence, "ended before it was ready") || !strings.Contains(c.Evidence, "no such table") {
			t.Errorf("%+v", c)
		}
	}
}
