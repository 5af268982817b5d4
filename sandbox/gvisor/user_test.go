//go:build linux && (amd64 || arm64)

package gvisor

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// asUser names the tests that see a difference.
const asUser = "^(TestConformance|TestBox|TestMemory|TestKilledProgram|TestCloseFrozen|TestImageBox|TestBuilds)$"

// ordinaryUID is nobody's on any machine, and so without rights.
const ordinaryUID = 64213

// Root's tests are run once more as an ordinary user, who needs user namespaces for everything.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		return // all tests are run by one already
	}
	newEngine(t)
	dir := shortDir(t)
	must(t, os.Chmod(dir, 0o755))
	program := filepath.Join(dir, "gvisor.test") // where the go command puts it only its caller can come
	must(t, copyFile(program, selfExe))
	temporary := filepath.Join(dir, "t")
	must(t, os.Mkdir(temporary, 0o700))
	must(t, os.Chown(temporary, ordinaryUID, ordinaryUID))
	cmd := exec.Command(program, "-test.v", "-test.run="+asUser)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + goCommand(t, dir) + ":" + os.Getenv("PATH"), "TMPDIR=" + temporary, "HOME=/nonexistent", "TRKR_REQUIRE_ENGINES=" + Name}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinaryUID, Gid: ordinaryUID}}
	out, err := cmd.CombinedOutput()
	text := string(out)
	if err != nil || !strings.Contains(text, "--- PASS: TestBox") || strings.Contains(text, "--- SKIP") {
		t.Errorf("as an ordinary user: %v\n%s", err, text)
	}
}

// goCommand makes a folder with a go command that knows one program only, the suite's: a user without a home has no
// build cache, and would build the standard library for minutes.
func goCommand(t *testing.T, dir string) string {
	t.Helper()
	subject, bin := filepath.Join(dir, "subject"), filepath.Join(dir, "bin")
	build := exec.Command("go", "build", "-o", subject, "github.com/trkr-dev/trkr-validate/sandbox/sandboxtest/testdata/subject")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the subject: %v\n%s", err, out)
	}
	script := "#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done\nexec cp " + subject + " \"$2\"\n"
	must(t, os.Mkdir(bin, 0o755))
	must(t, os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o755))
	return bin
}
