package e2e

import (
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/trkr-dev/trkr-validate/verdict"
)

// registry is a package registry on loopback that holds one package, shout, and counts who asked for it.
func registry(t *testing.T) (server *httptest.Server, asked *atomic.Int64) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"package.json": `{"name": "shout", "version": "1.0.0", "main": "index.js"}`,
		"index.js":     "module.exports = text => text.toUpperCase();\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pack := exec.Command("npm", "pack", "--silent")
	pack.Dir = dir
	if out, err := pack.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	tarball, err := os.ReadFile(filepath.Join(dir, "shout-1.0.0.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha512.Sum512(tarball)
	asked = new(atomic.Int64)
	server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch r.URL.Path {
		case "/shout":
			w.Header().Set("Content-Type", "application/json")
			version := map[string]any{"name": "shout", "version": "1.0.0", "dist": map[string]string{
				"tarball": server.URL + "/shout.tgz", "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
			}}
			json.NewEncoder(w).Encode(map[string]any{"name": "shout", "dist-tags": map[string]string{"latest": "1.0.0"}, "versions": map[string]any{"1.0.0": version}})
		case "/shout.tgz":
			w.Write(tarball)
		default:
			http.NotFound(w, r)
		}
	}))
	server.StartTLS()
	t.Cleanup(server.Close)
	return server, asked
}

const shoutCLI = `#!/usr/bin/env node
console.log(require('shout')(process.argv[2]));
`

// What the install needs comes from the one place that is named, over a way that is shut when the assertions run.
func TestInstallReachesWhatIsNamed(t *testing.T) {
	onEngines(t, func(t *testing.T, engine string) {
		server, asked := registry(t)
		place := server.Listener.Addr().String()
		for name, c := range map[string]struct {
			named string
			want  verdict.Outcome
		}{
			"the place":     {place, verdict.Clear},
			"another place": {"packages.example.com:443", verdict.Incomplete},
		} {
			t.Run(name, func(t *testing.T) {
				asked.Store(0)
				config, err := json.Marshal(map[string]any{"validate": map[string]any{
					"build": "npm pack --silent", "artifacts": []string{"*.tgz"}, "install_network": []string{c.named},
					"install": []string{"npm install -g --strict-ssl=false --fetch-retries=0 --registry " + server.URL + " ./artifact/*.tgz"},
				}})
				if err != nil {
					t.Fatal(err)
				}
				r := newRepo(t, map[string]string{".gitignore": "*.tgz\n", ".trkr/config.json": string(config)})
				r.ticket("7", "VAL-1: `greet ada` succeeds and prints exactly `ADA`\n", map[string]string{
					"package.json": `{"name": "greet", "version": "1.0.0", "bin": {"greet": "cli.js"}, "dependencies": {"shout": "^1.0.0"}}`, "cli.js": shoutCLI,
				})
				code, doc := r.validate("--engine", engine, "7")
				rec := expect(t, code, doc, c.want)
				if got := rec.Environment.InstallFrom; len(got) != 1 || got[0] != c.named {
					t.Errorf("the record says that the install could reach %q", got)
				}
				events, err := os.ReadFile(filepath.Join(r.dir, ".trkr/runs", rec.RunID, "events.jsonl"))
				if err != nil {
					t.Fatal(err)
				}
				status := 403
				if c.want == verdict.Clear {
					status = 200
				}
				if want := fmt.Sprintf(`"gateway":{"route":"connect","method":"CONNECT","host":%q,"status":%d,`, place, status); !strings.Contains(string(events), want) {
					t.Errorf("no event %s in\n%s", want, events)
				}
				if reached := asked.Load() > 0; reached != (c.want == verdict.Clear) {
					t.Errorf("the registry was asked: %v", reached)
				}
				if c.want != verdict.Clear && len(rec.Findings) != 0 {
					t.Errorf("a finding blames the product: %+v", rec.Findings)
				}
			})
		}
	})
}
