package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/trkr-dev/trkr-validate/verdict"
)

// A build that runs as the caller can replace the program that judges it. What it puts there never runs: not as the
// init of the box, not as the supervisor, and not as the program that records. The product fails its contract, so
// nothing but the real program finds that out.
func TestBuildReplacesTheProgram(t *testing.T) {
	onEngines(t, func(t *testing.T, engine string) {
		dir := t.TempDir()
		ran, tool := filepath.Join(dir, "ran"), filepath.Join(dir, "trkr-validate")
		if err := exec.Command("cp", program, tool).Run(); err != nil {
			t.Fatal(err)
		}
		build := "mkdir -p dist && cp shout.sh dist/shout && chmod +x dist/shout && printf '#!/bin/sh\\necho ran >>" + ran + "\\n' >'" + tool + ".new' && chmod 755 '" + tool + ".new' && mv '" + tool + ".new' '" + tool + "'"
		config, err := json.Marshal(map[string]any{"validate": map[string]any{"build": build, "artifacts": []string{"dist/*"}}})
		if err != nil {
			t.Fatal(err)
		}
		r := newRepo(t, map[string]string{".gitignore": "/dist/\n", ".trkr/config.json": string(config)})
		r.ticket("7", shoutContract, map[string]string{"shout.sh": "#!/bin/sh\necho wrong\n"})
		cmd := exec.Command(tool, "--json", "--engine", engine, "7")
		cmd.Dir, cmd.Env = r.dir, r.env
		out, err := cmd.Output()
		var doc document
		if jerr := json.Unmarshal(out, &doc); jerr != nil {
			t.Fatalf("%v, %v: %s", err, jerr, out)
		}
		switch engine {
		case "docker": // its daemon is given a path, and what lies there now is another program
			expect(t, cmd.ProcessState.ExitCode(), doc, verdict.Error)
			if f := doc.Results[0].Error; f == nil || f.Code != "init_changed" || len(f.Hints) == 0 {
				t.Errorf("error %+v", f)
			}
		default:
			expect(t, cmd.ProcessState.ExitCode(), doc, verdict.Blocking)
		}
		if _, err := os.Stat(ran); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the program that the build put there ran: %v", err)
		}
	})
}

// Artifacts of every odd kind arrive as they were made, as every run proves from inside before anything starts; the
// program among them sees each.
func TestOddArtifactsArrive(t *testing.T) {
	const program = `#!/bin/sh
cd "${0%/*}" && set -- *
echo $#
[ "$(cat "$(printf 'new\nline')")" = newline ] && [ "$(cat "$(printf 'not-utf8-\377')")" = odd ] && [ "$(cat private)" = private ] && [ "$(cat ./link)" = private ] && echo names
[ -L dangling ] && [ -L loop ] && [ "$(cat again)" = private ] && [ -d hollow ] && [ ! -s none ] && [ -f none ] && echo kinds
[ -x setuid ] && [ ! -u setuid ] && [ "$(wc -c <sparse)" = 3221225472 ] && echo modes
find many -type f | wc -l
`
	const build = `mkdir -p dist/hollow dist/many && cd dist && cp ../odd.sh odd && chmod 755 odd && printf newline >"$(printf 'new\nline')" && printf odd >"$(printf 'not-utf8-\377')" &&
printf private >private && chmod 600 private && ln private again && ln -s private link && ln -s nowhere dangling && ln -s loop loop && : >none && cp odd setuid && chmod 6755 setuid &&
truncate -s 3G sparse && i=0 && while [ $i -lt 2000 ]; do echo $i >many/$i; i=$((i+1)); done`
	onEngines(t, func(t *testing.T, engine string) {
		config, err := json.Marshal(map[string]any{"validate": map[string]any{"build": build, "artifacts": []string{"dist"}}})
		if err != nil {
			t.Fatal(err)
		}
		r := newRepo(t, map[string]string{".gitignore": "/dist/\n", ".trkr/config.json": string(config)})
		contract := "VAL-1: `odd` prints a line matching `/^13$/`\nVAL-2: `odd` prints `names`\nVAL-3: `odd` prints `kinds`\nVAL-4: `odd` prints `modes`\nVAL-5: `odd` prints a line matching `/^2000$/`\n"
		r.ticket("7", contract, map[string]string{"odd.sh": program})
		code, doc := r.validate("--engine", engine, "7")
		rec := expect(t, code, doc, verdict.Clear)
		if len(rec.Subject.Manifest) != 2014 {
			t.Errorf("%d entries in the manifest", len(rec.Subject.Manifest))
		}
	})
}
