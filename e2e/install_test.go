package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/verdict"
)

const npmConfig = `{"validate": {"build": "npm pack --silent", "artifacts": ["*.tgz"]}}`

const greetCLI = `#!/usr/bin/env node
const names = process.argv.slice(2);
if (names.length === 0) { console.error('usage: greet NAME...'); process.exit(2); }
for (const name of names) console.log('Hello, ' + name + '!');
`

const greetContract = "VAL-1: `greet Ada` succeeds and prints exactly `Hello, Ada!`\n" +
	"VAL-2: `greet` exits 2 with a usage message\n" +
	"VAL-3: `greet Ada Bob` prints 2 lines to stdout\n"

func npmRepo(t *testing.T, pkg, cli string) *repo {
	t.Helper()
	r := newRepo(t, map[string]string{".gitignore": "*.tgz\nnode_modules/\n", ".trkr/config.json": npmConfig})
	r.ticket("7", greetContract, map[string]string{"package.json": pkg, "cli.js": cli})
	return r
}

func TestNpmPackageIsInstalledAndExercised(t *testing.T) {
	onEngines(t, func(t *testing.T, engine string) {
		r := npmRepo(t, `{"name": "greet", "version": "1.0.0", "bin": {"greet": "cli.js"}}`, greetCLI)
		code, doc := r.validate("--engine", engine, "7")
		rec := expect(t, code, doc, verdict.Clear)
		if c := statusOf(t, rec, "VAL-1"); !strings.Contains(c.Evidence, "/opt/validate/") {
			t.Errorf("the evidence does not name the installed file: %s", c.Evidence)
		}
	})
}

// The network is what is missing, which the product did not do wrong: it could not be told.
func TestMissingDependencyFailsAtOnceAndSaysSo(t *testing.T) {
	onEngines(t, func(t *testing.T, engine string) {
		r := npmRepo(t, `{"name": "greet", "version": "1.0.0", "bin": {"greet": "cli.js"}, "dependencies": {"left-pad": "^1.3.0"}}`, greetCLI)
		began := time.Now()
		code, doc := r.validate("--engine", engine, "7")
		if took := time.Since(began); took > time.Minute {
			t.Errorf("it took %s to find out", took)
		}
		rec := expect(t, code, doc, verdict.Incomplete)
		c := statusOf(t, rec, "VAL-1")
		if c.Status != verdict.Blocked || !strings.Contains(c.Evidence, "left-pad") {
			t.Errorf("VAL-1 is %s: %s", c.Status, c.Evidence)
		}
		if len(rec.Findings) != 0 {
			t.Errorf("a finding blames the product: %+v", rec.Findings)
		}
		if _, _, stderr := r.call("--engine", engine, "7"); !strings.Contains(stderr, "hint: ") || !strings.Contains(stderr, "bundle the dependency") {
			t.Errorf("no hint about the missing dependency:\n%s", stderr)
		}
	})
}

func TestPackageThatDoesNotInstallBlocks(t *testing.T) {
	onEngines(t, func(t *testing.T, engine string) {
		r := npmRepo(t, `{"name": "greet", "version": "1.0.0", "bin": {"greet": "cli.js"}, "scripts": {"install": "echo cannot go on; exit 3"}}`, greetCLI)
		code, doc := r.validate("--engine", engine, "7")
		rec := expect(t, code, doc, verdict.Blocking)
		if len(rec.Findings) != 1 || !strings.Contains(rec.Findings[0].Text, "artifact does not install") {
			t.Errorf("findings %+v", rec.Findings)
		}
		if c := statusOf(t, rec, "VAL-1"); c.Status != verdict.Blocked || !strings.Contains(c.Evidence, "cannot go on") {
			t.Errorf("VAL-1 is %s: %s", c.Status, c.Evidence)
		}
	})
}

const sayPy = `import sys
def main():
    if len(sys.argv) < 2:
        print("usage: say WORD", file=sys.stderr)
        return 2
    print(sys.argv[1].upper())
`

func TestPythonPackagesAreInstalled(t *testing.T) {
	contract := "VAL-1: `say hello` succeeds and prints exactly `HELLO`\nVAL-2: `say` exits 2 with a usage message\n"
	// A wheel is a zip with fixed names: made by hand it needs no build backend, which is not installed everywhere.
	wheel := `#!/usr/bin/python3
import zipfile
info = "say-1.0.dist-info/"
files = {
    "say.py": open("say.py").read(),
    info + "METADATA": "Metadata-Version: 2.1\nName: say\nVersion: 1.0\n",
    info + "WHEEL": "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    info + "entry_points.txt": "[console_scripts]\nsay = say:main\n",
}
files[info + "RECORD"] = "".join(f"{n},,\n" for n in files) + info + "RECORD,,\n"
with zipfile.ZipFile("say-1.0-py3-none-any.whl", "w") as z:
    for name, text in files.items():
        z.writestr(name, text)
`
	onEngines(t, func(t *testing.T, engine string) {
		r := newRepo(t, map[string]string{
			".gitignore":        "*.whl\n",
			".trkr/config.json": `{"validate": {"build": "/usr/bin/python3 wheel.py", "artifacts": ["*.whl"]}}`,
		})
		r.ticket("7", contract, map[string]string{"wheel.py": wheel, "say.py": sayPy})
		code, doc := r.validate("--engine", engine, "7")
		expect(t, code, doc, verdict.Clear)
	})
}

func TestArchiveOfProgramsIsUnpacked(t *testing.T) {
	onEngines(t, func(t *testing.T, engine string) {
		r := newRepo(t, map[string]string{
			".gitignore":        "*.tar.gz\n",
			".trkr/config.json": `{"validate": {"build": "tar -czf tools-1.0.tar.gz tools-1.0", "artifacts": ["*.tar.gz"]}}`,
		})
		r.ticket("7", "VAL-1: `shout hello` prints exactly `HELLO`\n", map[string]string{"tools-1.0/bin/shout": "#!/bin/sh\necho \"$1\" | tr a-z A-Z\n"})
		code, doc := r.validate("--engine", engine, "7")
		expect(t, code, doc, verdict.Clear)
	})
}
