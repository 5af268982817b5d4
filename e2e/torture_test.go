package e2e

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/verdict"
)

// How hard the program is tried; scripts/torture asks for more. The seed gives the same draws once more, not the same
// moments: those are the machine's.
var (
	kills = flag.Int("kills", 6, "how often a run is killed at a random moment, on each engine")
	soak  = flag.Int("soak", 10, "how many runs one program makes in a row, on each engine")
	seed  = flag.Uint64("seed", 0, "of the moments of the kills; 0: another one each time")
)

// Kills at random moments of a run: after each, one more start finds its verdict and leaves nothing.
func TestKilledAtRandomMomentsLeavesNothing(t *testing.T) {
	draws := *seed
	if draws == 0 {
		draws = rand.Uint64()
	}
	onEngines(t, func(t *testing.T, engine string) {
		t.Logf("once more with the same draws: -seed %d", draws)
		random := rand.New(rand.NewPCG(draws, 0))
		r := shoutRepo(t, false)
		tmp := r.isolate()
		start := time.Now()
		code, doc := r.validate("--engine", engine, "7")
		expect(t, code, doc, verdict.Clear)
		whole := time.Since(start)
		leftover, wrong := 0, 0
		for n := range *kills {
			after := time.Duration(random.Int64N(int64(whole)))
			run := r.begin("--engine", engine, "7")
			time.Sleep(after) // the random moment; a run that has ended by then was quick
			run.stop()
			code, doc := r.validate("--engine", engine, "--wait", "30s", "7")
			if code != 0 || len(doc.Results) != 1 || doc.Results[0].Outcome != verdict.Clear {
				wrong++
				t.Errorf("kill %d, after %s: the next start ends with %d: %+v", n, after, code, doc)
			}
			if left := r.stays(engine, tmp); len(left) > 0 {
				leftover++
				t.Errorf("kill %d, after %s: left behind: %s", n, after, strings.Join(left, "\n"))
			}
			if got := r.git("status", "--porcelain"); got != "" {
				leftover++
				t.Errorf("kill %d, after %s: status is %q", n, after, got)
			}
		}
		t.Logf("row\tkills\t%d\t0\t%d\t%d\t-\t-", *kills, leftover, wrong)
	})
}

// product is one that the soak judges: its program, what must come of it, and words that its evidence has to hold.
type product struct {
	script, evidence string
	outcome          verdict.Outcome
}

var products = []product{
	{shout, "", verdict.Clear},
	{"#!/bin/sh\nyes\n", "output limit", verdict.Blocking},
	{"#!/bin/sh\necho hello\n", "HELLO", verdict.Blocking},
	{"#!/bin/sh\nkill -SEGV $$\n", "SIGSEGV", verdict.Blocking},
}

// Many runs of one program, of products that end in different ways: each gets its own cause, the program grows neither
// in memory nor in descriptors, and nothing is left.
func TestSoak(t *testing.T) {
	onEngines(t, func(t *testing.T, engine string) {
		config := `{"validate": {"build": "mkdir -p dist && cp shout.sh dist/shout && chmod +x dist/shout", "artifacts": ["dist/*"], "limits": {"output": "1MiB"}}}`
		r := newRepo(t, map[string]string{".gitignore": "/dist/\n", ".trkr/config.json": config})
		tmp := r.isolate()
		args := []string{"--engine", engine, "--jobs", "1"}
		for n := range *soak {
			issue := strconv.Itoa(n + 1)
			r.ticket(issue, shoutContract, map[string]string{"shout.sh": products[n%len(products)].script})
			args = append(args, issue)
		}
		p := r.begin(args...)
		sizes := p.sizes("build")
		_, doc := p.wait()
		wrong := 0
		if len(doc.Results) != *soak || len(sizes) != *soak {
			t.Fatalf("%d results and %d looks, %+v", len(doc.Results), len(sizes), doc.Error)
		}
		for n, res := range doc.Results {
			want := products[n%len(products)]
			text, err := json.Marshal(res.Record)
			if err != nil {
				t.Fatal(err)
			}
			if res.Outcome != want.outcome || !bytes.Contains(text, []byte(want.evidence)) {
				wrong++
				t.Errorf("run %d is %q and not %q, or does not say %q: %s", n, res.Outcome, want.outcome, want.evidence, text)
			}
		}
		left := r.stays(engine, tmp)
		if len(left) > 0 {
			t.Errorf("left behind: %s", strings.Join(left, "\n"))
		}
		first, last := sizes[min(2, len(sizes)-1)], sizes[len(sizes)-1] // the first runs fill what is kept
		if last.files > first.files+2 || last.memory > first.memory+first.memory/2 {
			t.Errorf("the program grows: %v, then %v", first, last)
		}
		t.Logf("row\tsoak\t%d\t0\t%d\t%d\t%d -> %d MiB\t%d -> %d", *soak, len(left), wrong, first.memory>>20, last.memory>>20, first.files, last.files)
	})
}

// stop kills the program, which may have ended by itself.
func (p *running) stop() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// size is what a process takes.
type size struct {
	memory int64 // resident, bytes
	files  int   // descriptors
}

// sizes reads the log to its end, and looks at the program each time that a step begins.
func (p *running) sizes(step string) (all []size) {
	p.t.Helper()
	proc := fmt.Sprintf("/proc/%d", p.cmd.Process.Pid)
	for p.lines.Scan() {
		var line logged
		if json.Unmarshal(p.lines.Bytes(), &line) != nil || line.Event != "step.started" || line.Step != step {
			continue
		}
		files, err := os.ReadDir(filepath.Join(proc, "fd"))
		if err != nil {
			p.t.Fatal(err)
		}
		statm, err := os.ReadFile(filepath.Join(proc, "statm"))
		if err != nil {
			p.t.Fatal(err)
		}
		var total, resident int64
		if _, err := fmt.Sscan(string(statm), &total, &resident); err != nil {
			p.t.Fatal(err)
		}
		all = append(all, size{resident * int64(os.Getpagesize()), len(files)})
	}
	return all
}
