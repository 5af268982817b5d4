package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/verdict"
)

// Tickets side by side: each gets a verdict about its own program, on its own branch.
func TestSeveralTicketsAtOnce(t *testing.T) {
	onEngines(t, func(t *testing.T, engine string) {
		r := newRepo(t, map[string]string{
			".gitignore":        "/dist/\n",
			".trkr/config.json": `{"validate": {"build": "mkdir -p dist && cp say.sh dist/say", "artifacts": ["dist/*"]}}`,
		})
		tmp := r.isolate()
		issues := []string{"1", "2", "3", "4"}
		for _, issue := range issues {
			says := issue
			if issue == "3" {
				says = "something else"
			}
			r.ticket(issue, fmt.Sprintf("VAL-1: `say` succeeds and prints exactly `I am %s`\n", issue), map[string]string{
				"say.sh": "#!/bin/sh\necho I am " + says + "\n",
			})
		}
		code, doc := r.validate(append([]string{"--engine", engine, "--jobs", "4"}, issues...)...)
		if code != verdict.Blocking.ExitCode() || len(doc.Results) != len(issues) {
			t.Fatalf("exit code %d, %d results, error %+v", code, len(doc.Results), doc.Error)
		}
		for i, res := range doc.Results {
			want := verdict.Clear
			if issues[i] == "3" {
				want = verdict.Blocking
			}
			if res.Issue != issues[i] || res.Outcome != want {
				t.Errorf("result %d is ticket %s, %s, error %+v; want ticket %s, %s", i, res.Issue, res.Outcome, res.Error, issues[i], want)
			}
			if note := r.git("show", "trkr/"+issues[i]+":.trkr/tickets/"+issues[i]+"/validation.md"); !strings.Contains(note, "I am "+issues[i]) {
				t.Errorf("the record on the branch of %s is about something else:\n%s", issues[i], note)
			}
		}
		r.nothingLeft(engine, tmp)
	})
}

// heldRepo has a ticket whose build waits until the returned file is there.
func heldRepo(t *testing.T) (r *repo, release string) {
	t.Helper()
	release = filepath.Join(t.TempDir(), "go on")
	config, err := json.Marshal(map[string]any{"validate": map[string]any{
		"build":     "until [ -e '" + release + "' ]; do sleep 0.05; done; mkdir -p dist && cp shout.sh dist/shout",
		"artifacts": []string{"dist/*"}, "engine": "gvisor",
	}})
	if err != nil {
		t.Fatal(err)
	}
	r = newRepo(t, map[string]string{".gitignore": "/dist/\n", ".trkr/config.json": string(config)})
	r.ticket("7", shoutContract, map[string]string{"shout.sh": shout})
	return r, release
}

// Two programs and one ticket: the second is told that it is busy, or waits where that is asked for.
func TestSameTicketTwiceAtOnce(t *testing.T) {
	needs(t, "gvisor")
	r, release := heldRepo(t)
	old := r.git("rev-parse", "trkr/7")
	first := r.begin("7")
	first.until("step.started", "build")

	code, doc := r.validate("7")
	if code != 6 || len(doc.Results) != 1 || doc.Results[0].Error == nil || doc.Results[0].Error.Code != "busy" || len(doc.Results[0].Error.Hints) == 0 {
		t.Errorf("beside another run: exit code %d, %+v", code, doc)
	}
	if code, _, stderr := r.call("7"); code != 6 || !strings.Contains(stderr, "hint: ") || !strings.Contains(stderr, "--wait") {
		t.Errorf("exit code %d, no hint at --wait:\n%s", code, stderr)
	}
	waiting := r.begin("--wait", "2m", "7")
	waiting.says("another run of")
	if err := os.WriteFile(release, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*running{first, waiting} {
		code, doc := p.wait()
		expect(t, code, doc, verdict.Clear)
	}
	if got := r.git("rev-list", "--count", old+"..trkr/7"); got != "1" {
		t.Errorf("%s commits of one verdict", got)
	}
}
