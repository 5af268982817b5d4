package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// children are what the test program does in a process of its own.
var children = map[string]func() int{
	"check": func() int {
		_, err := newEngine(Options{}).Check(context.Background())
		if f := fault.Of(err); f != nil {
			fmt.Println(f.Code)
		}
		return 0
	},
	"box": childBox,
}

// wantFault makes sure that err is a fault with that code, and that it says what to do.
func wantFault(t testing.TB, err error, code string) {
	t.Helper()
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Code != code || len(f.Hints) == 0 {
		t.Errorf("error %v, want the fault %q with hints", err, code)
	}
}

// alone makes sure that the test's engine finds only what the test names.
func alone(t *testing.T) {
	t.Helper()
	for _, name := range []string{"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY", "XDG_RUNTIME_DIR"} {
		t.Setenv(name, "")
	}
	t.Setenv("DOCKER_CONFIG", t.TempDir())
}

// listen opens a socket at which serve answers.
func listen(t *testing.T, serve func(net.Listener)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "d.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); serve(l) }()
	t.Cleanup(func() { l.Close(); <-done })
	return path
}

// speaks answers as a daemon of an API version does, and refuses requests of any other.
func speaks(version string) func(net.Listener) {
	return func(l net.Listener) {
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Api-Version", version)
			w.Header().Set("Ostype", "linux")
			if r.URL.Path == "/_ping" {
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"message": "client version 1.51 is too old. Minimum supported API version is %s, please upgrade your client to a newer version"}`, version)
		}))
	}
}

func TestNoDaemon(t *testing.T) {
	alone(t)
	e := newEngine(Options{})
	e.sockets = []string{filepath.Join(t.TempDir(), "none.sock")}
	_, err := e.Check(t.Context())
	wantFault(t, err, "docker_unreachable")

	t.Setenv("DOCKER_HOST", "unix://"+e.sockets[0])
	_, err = e.Check(t.Context())
	wantFault(t, err, "docker_unreachable")
	if !strings.Contains(err.Error(), "DOCKER_HOST") {
		t.Errorf("%v does not say who named the address", err)
	}
}

func TestDaemonsThatCannotBeUsed(t *testing.T) {
	for name, c := range map[string]struct {
		host string
		code string
	}{
		"too old":       {"unix://" + listen(t, speaks("1.40")), "docker_too_old"},
		"too new":       {"unix://" + listen(t, speaks("9.99")), "docker_too_new"},
		"another's":     {"ssh://build@example.invalid", "docker_remote"},
		"not a daemon":  {"unix://" + listen(t, func(l net.Listener) { _ = http.Serve(l, http.NotFoundHandler()) }), "docker_unreachable"},
		"not a address": {"nonsense", "docker_address"},
	} {
		t.Run(name, func(t *testing.T) {
			alone(t)
			t.Setenv("DOCKER_HOST", c.host)
			_, err := newEngine(Options{}).Check(t.Context())
			wantFault(t, err, c.code)
		})
	}
}

func TestDaemonThatNeverAnswers(t *testing.T) {
	alone(t)
	path := listen(t, func(l net.Listener) {
		var open []net.Conn
		for {
			c, err := l.Accept()
			if err != nil {
				break
			}
			open = append(open, c)
		}
		for _, c := range open {
			c.Close()
		}
	})
	t.Setenv("DOCKER_HOST", "unix://"+path)
	began := time.Now()
	_, err := newEngine(Options{}).Check(t.Context())
	wantFault(t, err, "docker_silent")
	if took := time.Since(began); took < pingLimit || took > pingLimit+5*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestSocketThatMayNotBeUsed(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	alone(t)
	path := listen(t, func(l net.Listener) { _ = http.Serve(l, http.NotFoundHandler()) })
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(path), filepath.Dir(filepath.Dir(path)), dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	program, err := os.OpenFile(filepath.Join(dir, "test"), os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(program, self); err != nil {
		t.Fatal(err)
	}
	if err := program.Close(); err != nil {
		t.Fatal(err)
	}
	child := exec.Command(program.Name())
	child.Env = append(os.Environ(), childVar+"=check", "DOCKER_HOST=unix://"+path)
	child.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := child.CombinedOutput()
	if err != nil || string(out) != "docker_permission\n" {
		t.Errorf("it printed %q, %v", out, err)
	}
}

func TestTheFirstDaemonThatAnswersIsTaken(t *testing.T) {
	alone(t)
	e := newEngine(Options{})
	e.sockets = []string{"/nowhere.sock", listen(t, func(l net.Listener) { _ = http.Serve(l, http.NotFoundHandler()) }), listen(t, speaks("1.41"))}
	d, err := e.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := "unix://" + e.sockets[2]; d.at != want || d.ClientVersion() != "1.41" {
		t.Errorf("connected to %s with API %s, want %s with 1.41", d.at, d.ClientVersion(), want)
	}
}

func TestContexts(t *testing.T) {
	write := func(t *testing.T, path, text string) {
		t.Helper()
		path = filepath.Join(os.Getenv("DOCKER_CONFIG"), path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	meta := func(name string) string {
		sum := sha256.Sum256([]byte(name))
		return "contexts/meta/" + hex.EncodeToString(sum[:]) + "/meta.json"
	}
	hosts := func(points []endpoint) (out []string) {
		for _, p := range points {
			out = append(out, p.String())
		}
		return out
	}
	for name, c := range map[string]struct {
		config, context, host, meta string
		want                        string
		code                        string
	}{
		"in the configuration":      {config: `{"auths":{},"currentContext":"lab"}`, meta: `{"Name":"lab","Endpoints":{"docker":{"Host":"unix:///lab.sock"}}}`, want: `unix:///lab.sock (context "lab")`},
		"in the environment":        {config: `{"currentContext":"other"}`, context: "lab", meta: `{"Endpoints":{"docker":{"Host":"unix:///lab.sock"}}}`, want: `unix:///lab.sock (context "lab")`},
		"DOCKER_HOST goes first":    {config: `{"currentContext":"lab"}`, host: "unix:///own.sock", want: `unix:///own.sock (DOCKER_HOST)`},
		"default":                   {config: `{"currentContext":"default"}`, want: "unix:///dev/null"},
		"none":                      {want: "unix:///dev/null"},
		"not there":                 {config: `{"currentContext":"gone"}`, code: "docker_context"},
		"no address":                {context: "lab", meta: `{"Endpoints":{}}`, code: "docker_context"},
		"not to be trusted":         {context: "lab", meta: `{"Endpoints":{"docker":{"Host":"tcp://10.0.0.1:2376","SkipTLSVerify":true}}}`, code: "docker_context"},
		"no JSON":                   {context: "lab", meta: `{`, code: "docker_context"},
		"configuration is no JSON ": {config: `{`, want: "unix:///dev/null"},
	} {
		t.Run(name, func(t *testing.T) {
			alone(t)
			t.Setenv("DOCKER_CONTEXT", c.context)
			t.Setenv("DOCKER_HOST", c.host)
			if c.config != "" {
				write(t, "config.json", c.config)
			}
			if c.meta != "" {
				write(t, meta("lab"), c.meta)
			}
			e := newEngine(Options{})
			e.sockets = []string{"/dev/null", "/nowhere"}
			points, err := e.endpoints()
			if c.code != "" {
				wantFault(t, err, c.code)
				return
			}
			if err != nil || !slices.Equal(hosts(points), []string{c.want}) {
				t.Errorf("endpoints() = %v, %v; want %s", hosts(points), err, c.want)
			}
		})
	}
}
