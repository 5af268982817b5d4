package enginetest

import (
	"testing"

	"github.com/trkr-dev/trkr-validate/internal/install"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// kv is a small product with a little of everything: files, refusals, JSON, variables, a server.
const kv = `#!/bin/sh
case "$1" in
--version) echo "kv 1.2.3" ;;
"") echo "Usage: kv COMMAND" >&2; exit 2 ;;
get) [ -f "$2.kv" ] || { echo "kv: no key $2" >&2; exit 1; }; cat "$2.kv" ;;
set) [ -e "$2.kv" ] && { echo "kv: $2 exists" >&2; exit 1; }; printf '%s\n' "$3" >"$2.kv" ;;
dump) printf '{"a": "1", "n": [1,2,3]}\n' ;;
sort) sort "$2" ;;
env) echo "name=$KV_NAME" ;;
serve) exec python3 -c '
import http.server,sys
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        ok=self.path=="/"
        b=b"{\"ok\": true}" if ok else b"no"
        self.send_response(200 if ok else 404); self.send_header("Content-Length",str(len(b))); self.end_headers(); self.wfile.write(b)
print("listening", flush=True)
http.server.HTTPServer(("127.0.0.1",int(sys.argv[1])),H).serve_forever()' "$2" ;;
*) echo "kv: unknown command $1" >&2; exit 2 ;;
esac
`

// What is given, where a command is run, what is asked of a server, and what is listed, on real engines.
func TestWholeLanguage(t *testing.T) {
	onEngines(t, func(t *testing.T, e sandbox.Engine) {
		want := []expected{
			{"`kv --version` prints a semantic version and exits 0", verdict.Met, ""},
			{"`kv` without arguments exits 2 with a usage message on stderr", verdict.Met, ""},
			{"after `kv set a 1`, `kv get a` prints exactly `1`", verdict.Met, ""},
			{"`kv get a` fails if `a.kv` does not exist", verdict.Met, ""},
			{"given a file `in.txt` containing \"b\\na\\n\", `kv sort in.txt` prints `a` before `b`", verdict.Met, ""},
			{"given a file `d/in.txt` containing \"b\\na\\n\" with mode 0600, `kv sort d/in.txt` prints sorted lines", verdict.Met, ""},
			{"given an unreadable file `in.txt`, `kv sort in.txt` fails with an error message", verdict.Met, ""},
			{"`kv env` with `KV_NAME=x y` set prints `name=x y`", verdict.Met, ""},
			{"`kv serve 8080` answers `GET http://127.0.0.1:8080/` with 200 and a body that is JSON where `.ok` within 8s", verdict.Met, ""},
			{"`kv serve 8081` answers `GET http://127.0.0.1:8081/nope` with 404, prints `listening`", verdict.Met, ""},
			{"`kv serve 8082` answers `GET http://127.0.0.1:8082/nope` with 200", verdict.Unmet, "got 404"},
			{"`kv dump` prints JSON where `.n | length == 3`", verdict.Met, ""},
			{"`kv dump` prints JSON where `.n | length == 4`", verdict.Unmet, "got false"},
			{"`kv get x` creates nothing", verdict.Met, ""},
			{"`kv set a 1` creates nothing", verdict.Unmet, "./a.kv"},
			{"given a file `a.kv` containing `old`, `kv set a 1` refuses to overwrite `a.kv`", verdict.Met, ""},
			{"given a directory `sub`, `kv set a 1` in the directory `sub` creates the file `a.kv` containing `1`", verdict.Met, ""},
			{"`kv frob` is rejected with exit code 2 and an error message that mentions `frob`", verdict.Met, ""},
			{"`kv --version` prints the same output as `kv --version`", verdict.Met, ""},
			{"`kv serve 8083` answers `GET http://127.0.0.1:8083/` with 200 and a body containing `true`, prints `never`", verdict.Unverified, "when it was stopped"},
			{"`kv frob` answers `GET http://127.0.0.1:8084/` with 200", verdict.Unmet, "ended before"},
			{"`kv --version` exits 0", verdict.Met, ""}, // after servers as before
		}
		s := start(t, e, artifact{"kv!": []byte(kv)})
		s.check(t, install.Result{}, want)
	})
}
