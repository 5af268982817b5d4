package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/verdict"
)

// cheat is one way to a clear verdict that the product did not earn. The table of all of them is `make cheat`.
type cheat struct {
	name  string // short, unique
	tries string // what is tried
	// prepare does what the implementer does, on a repository of its own, and returns how the program is called then.
	prepare func(t *testing.T) (r *repo, args []string)
	want    string                                         // what said says of the run
	docker  string                                         // the same on docker, where it differs
	won     func(t *testing.T, r *repo, doc document) bool // whether the cheat got what it wants; nil: the exit code is 0
	gains   string                                         // what that is, where it is another thing
	without *defence                                       // what keeps it from that
}

// defence is code that stops a cheat, written as the edits that take it away. Where a defence is that something is
// never done, the edit does it.
type defence struct {
	edits []edit
	deep  bool   // more than one stands there: all of them go
	fails string // where nobody wins all the same: the package and the test that fail instead
}

// edit replaces a text of a source file that stands there once.
type edit struct{ file, old, new string }

var whole = flag.Bool("whole", false, "try every row of the tables on every engine")

// tried tells whether row i of a table is tried on an engine. Without -whole, each row is tried on one of the two: all of
// them on both take ten minutes.
func tried(i int, engine string) bool { return *whole || i%2 == 0 == (engine == "gvisor") }

func cheats() []cheat {
	return slices.Concat(contractCheats, configCheats, worktreeCheats, buildCheats, artifactCheats, programCheats, endCheats, reportCheats, recordCheats, boxCheats)
}

// try plays the cheat through and returns what became of it.
func (c cheat) try(t *testing.T, engine string) (r *repo, doc document) {
	t.Helper()
	t.Setenv("TRKR_VALIDATE_ENGINE", engine)
	r, args := c.prepare(t)
	if len(args) == 0 {
		args = []string{"7"}
	}
	_, doc = r.validate(args...)
	return r, doc
}

func (c cheat) wins(t *testing.T, r *repo, doc document) bool {
	t.Helper()
	if c.won != nil {
		return c.won(t, r, doc)
	}
	return doc.ExitCode == 0
}

// said is the outcome of a run in a few words.
func said(doc document) string {
	if doc.Error != nil {
		return "error " + doc.Error.Code
	}
	var words []string
	for _, res := range doc.Results {
		words = append(words, string(res.Outcome))
		for _, refusal := range res.Refusals {
			words = append(words, string(refusal.Reason))
		}
		if res.Error != nil {
			words = append(words, res.Error.Code)
		}
		if res.Stale {
			words = append(words, "stale")
		}
	}
	return strings.Join(words, " ")
}

// told says why a run ended as it did, for a test that expected something else.
func told(doc document) string {
	doc.Results = slices.Clone(doc.Results)
	for i := range doc.Results {
		if rec := doc.Results[i].Record; rec != nil { // the parts that matter
			short := *rec
			short.Environment, short.Subject, short.Timings = verdict.Environment{}, verdict.Subject{}, nil
			doc.Results[i].Record = &short
		}
	}
	text, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Nothing that an implementer can do makes a broken product clear. The same cheats without the defence that each
// names: defences_test.go.
func TestCheats(t *testing.T) {
	onEngines(t, func(t *testing.T, engine string) {
		names := map[string]bool{}
		for i, c := range cheats() {
			if names[c.name] {
				t.Fatalf("two cheats are called %q", c.name)
			}
			names[c.name] = true
			if !tried(i, engine) && c.docker == "" {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				r, doc := c.try(t, engine)
				won, got, want := c.wins(t, r, doc), said(doc), c.want
				t.Logf("row\t%s\t%s\t%s", c.name, engine, got)
				if engine == "docker" && c.docker != "" {
					want = c.docker
				}
				if got != want {
					t.Errorf("%s: it is %q, want %q\n%s", c.tries, got, want, told(doc))
				}
				if won {
					t.Errorf("%s: that worked", c.tries)
				}
				r.honestTrail(doc)
			})
		}
		if len(names) < 40 {
			t.Errorf("only %d cheats are in the table", len(names))
		}
	})
}

// Each text that defences_test.go would take away stands where it is said to: who moves a defence moves it there too.
func TestDefencesAreWhereTheCheatsSay(t *testing.T) {
	for _, c := range cheats() {
		if c.without == nil || len(c.without.edits) == 0 {
			t.Errorf("%s: it names no defence", c.name)
			continue
		}
		if _, err := c.without.applied(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// honestTrail makes sure that what was committed is what was said.
func (r *repo) honestTrail(doc document) {
	r.t.Helper()
	for _, res := range doc.Results {
		if res.Recorded == nil || res.Recorded.Commit == "" || res.Record == nil || res.Record.Subject.Branch == "" {
			continue
		}
		if rec := r.committed(res.Record.Subject.Branch); rec.Outcome != res.Outcome || rec.RunID != res.RunID {
			r.t.Errorf("the branch says %s of run %s, the program %s of run %s", rec.Outcome, rec.RunID, res.Outcome, res.RunID)
		}
	}
}

// committed is the record that ticket 7's branch holds.
func (r *repo) committed(branch string) verdict.Record {
	r.t.Helper()
	rec, err := verdict.ParseMarkdown([]byte(r.git("show", branch+":.trkr/tickets/7/validation.md") + "\n"))
	if err != nil {
		r.t.Fatal(err)
	}
	return rec
}

const (
	agreed = "VAL-1: `tool` succeeds and prints exactly `hello`\n"
	softer = "VAL-1: `tool` prints `goodbye`\n"
	honest = "#!/bin/sh\necho hello\n"
	broken = "#!/bin/sh\necho goodbye\n"
	// hers is how an implementer builds: whatever stands in the branch.
	hers = "mkdir -p dist && cp tool.sh dist/tool && chmod +x dist/tool\n"
	// ready makes a good product of nothing.
	ready = "mkdir -p dist && printf '#!/bin/sh\\necho hello\\n' >dist/tool && chmod +x dist/tool"
)

// files are contents by path.
type files = map[string]string

// configured is a config.json with some keys of "validate" beside the usual ones.
func configured(t *testing.T, keys map[string]any) string {
	t.Helper()
	all := map[string]any{"build": "sh build.sh", "artifacts": []string{"dist/*"}}
	for name, value := range keys {
		all[name] = value
	}
	text, err := json.Marshal(map[string]any{"validate": all})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// started makes a repository whose main branch builds dist/tool out of tool.sh. keys are more of "validate".
func started(t *testing.T, keys map[string]any) *repo {
	t.Helper()
	return newRepo(t, files{".gitignore": "/dist/\n", ".trkr/config.json": configured(t, keys), "build.sh": hers, "tool.sh": broken})
}

// ticketed is started with ticket 7: its contract, and then code, which is a change of the broken product if it says
// nothing else.
func ticketed(t *testing.T, contract string, code files, keys map[string]any) *repo {
	t.Helper()
	r := started(t, keys)
	all := files{"tool.sh": broken + "# of ticket 7\n"}
	for name, content := range code {
		all[name] = content
	}
	r.ticket("7", contract, all)
	return r
}

// more commits on the ticket's branch and goes back to main.
func (r *repo) more(message string, content files) {
	r.t.Helper()
	r.git("checkout", "-q", "trkr/7")
	r.commit(message, content)
	r.git("checkout", "-q", "main")
}

// agreement replaces the contract.
func agreement(text string) files { return files{".trkr/tickets/7/contract.md": text} }

// plant writes a program outside of the repository, where an implementer or a build can write too.
func (r *repo) plant(name, content string) (path string) {
	r.t.Helper()
	path = filepath.Join(r.t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		r.t.Fatal(err)
	}
	return path
}

// applied are the files that the edits change, as they are after them, by their path from the module's root.
func (d *defence) applied() (map[string]string, error) {
	changed := map[string]string{}
	for _, e := range d.edits {
		content, ok := changed[e.file]
		if !ok {
			raw, err := os.ReadFile(filepath.Join("..", e.file))
			if err != nil {
				return nil, err
			}
			content = string(raw)
		}
		if n := strings.Count(content, e.old); n != 1 {
			return nil, fmt.Errorf("%s holds this %d times, and has to hold it once: %s", e.file, n, e.old)
		}
		changed[e.file] = strings.Replace(content, e.old, e.new, 1)
	}
	return changed, nil
}
