package e2e

import (
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/trkr-dev/trkr-validate/verdict"
)

// dummyKey holds what URLs, JSON and shells escape.
const dummyKey = `sk-dummy/41 +w&"x"%7e\tail`

// needles are the spellings of a secret that nobody may find.
func needles(t *testing.T, secret string) []string {
	t.Helper()
	quoted, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	all := []string{secret, strings.Trim(string(quoted), `"`), url.QueryEscape(secret), strings.ToLower(url.QueryEscape(secret)), url.PathEscape(secret), "sk-dummy"}
	for _, before := range []string{"", "a", "aa"} {
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := e.EncodeToString([]byte(before + secret + "zz"))
			all = append(all, text[4:len(text)-4])
		}
	}
	return all
}

// leaky is an agent that prints its key in every spelling, a character at a time, as evidence, as a finding and as noise.
const leaky = `
import base64, os, sys, time, urllib.parse
key = os.environ["JUDGE_KEY"]
forms = [key, urllib.parse.quote(key), urllib.parse.quote_plus(key), urllib.parse.quote_plus(key).lower()]
for before in ["", "a", "aa"]:
    raw = (before + key + "zz").encode()
    forms += [base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode().rstrip("=")]
text = " ".join(forms)
def say(to, line):
    for i in range(0, len(line), 3):
        to.write(line[i:i+3])
        to.flush()
    to.write("\n")
    to.flush()
say(sys.stderr, "my key is " + text)
time.sleep(1)
say(sys.stdout, "thinking of " + text)
say(sys.stdout, "CRITERION: pass — VAL-1: with the key " + text + " it said hello")
say(sys.stdout, "FINDING: NOTE — tool — the key is " + text)
say(sys.stdout, "VERDICT: CLEAR")
`

// The agent's key reaches the agent and nothing else: no command line, no container's description, no file, no commit,
// no output, however the agent spells it.
func TestKeyOfTheAgentIsNowhere(t *testing.T) {
	onEngines(t, func(t *testing.T, engine string) {
		config, err := json.Marshal(map[string]any{"validate": map[string]any{
			"build": "mkdir -p dist && cp tool.sh dist/tool && chmod +x dist/tool", "artifacts": []string{"dist/*"}, "engine": engine,
			"agent": map[string]any{"command": []string{"python3", "-c", leaky}, "env": []string{"JUDGE_KEY", "MODE=fast"}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		r := newRepo(t, map[string]string{".gitignore": "/dist/\n", ".trkr/config.json": string(config), "tool.sh": "#!/bin/sh\necho hello\n"})
		r.ticket("7", "VAL-1: `tool` prints exactly `hello`\n", map[string]string{"x": "y"})
		r.env = append(os.Environ(), "JUDGE_KEY="+dummyKey)
		bad := needles(t, dummyKey)
		held := func(where, text string) {
			if i := slices.IndexFunc(bad, func(n string) bool { return strings.Contains(text, n) }); i >= 0 {
				t.Errorf("%s holds %q", where, bad[i])
			}
		}

		over := make(chan struct{})
		boxes := 0
		var looking sync.WaitGroup
		looking.Go(func() {
			for {
				boxes += lookAround(r, engine, held)
				select {
				case <-over:
					return
				default:
				}
			}
		})
		code, stdout, stderr := r.call("7", "--json")
		close(over)
		looking.Wait()
		if boxes == 0 {
			t.Error("no box was seen while it ran")
		}
		var doc document
		if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
			t.Fatalf("%v\n%s\n%s", err, stdout, stderr)
		}
		record := expect(t, code, doc, verdict.Clear)
		if e := statusOf(t, record, "VAL-1").Evidence; strings.Count(e, "[REDACTED]") < 10 {
			t.Errorf("evidence %q", e)
		}
		held("stdout", stdout)
		held("stderr", stderr)
		held("git", r.git("log", "-p", "--all"))
		err = filepath.WalkDir(filepath.Join(r.dir, ".trkr"), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			held(path, string(text))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		_, stdout, stderr = r.call("show", "7")
		held("show", stdout+stderr)
		_, stdout, stderr = r.call("config", "7")
		held("config", stdout+stderr)

		r.env = slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "JUDGE_KEY=") })
		if code, _, stderr := r.call("7"); code != 5 || !strings.Contains(stderr, "JUDGE_KEY, which is not set") {
			t.Errorf("without the key: exit %d, %s", code, stderr)
		}
	})
}

// lookAround looks at every command line of this machine, at what gvisor's processes are given, and at containers. It
// tells how many boxes were there.
func lookAround(r *repo, engine string, held func(where, text string)) (boxes int) {
	procs, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is right
	for _, name := range procs {
		line, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		held("the command line "+name, string(line))
		if engine == "gvisor" && strings.Contains(string(line), "--bundle=") {
			boxes++
			environ, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "environ")) // it may end now
			held("the environment "+name, string(environ))
		}
	}
	if engine == "docker" {
		for _, c := range r.containers() {
			boxes++
			id := strings.Fields(c)[1]
			for _, what := range []string{"inspect", "logs"} {
				said, _ := exec.Command("docker", what, id).CombinedOutput() // it may be gone
				held("docker "+what, string(said))
			}
		}
	}
	return boxes
}
