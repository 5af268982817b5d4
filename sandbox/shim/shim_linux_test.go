package shim_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/sandbox"
)

var nsPids sync.Map

func start(t testing.TB) sandbox.Sandbox {
	t.Helper()
	dir := t.TempDir()
	os.MkdirAll(filepath.Join(dir, "artifact"), 0o755)
	os.WriteFile(filepath.Join(dir, "contract.md"), []byte("VAL-1: x\n"), 0o644)
	for p := dir; p != "/tmp" && p != "/"; p = filepath.Dir(p) {
		os.Chmod(p, 0o755)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	box, err := nsEngine{t}.Start(ctx, sandbox.Spec{RunID: t.Name(), Input: dir, Image: "host", Limits: sandbox.Limits{
		Memory: 256 << 20, CPUs: 1, Pids: 64, Output: 16 << 20, Tmp: 64 << 20,
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	return box
}

func TestTrue(t *testing.T) {
	box := start(t)
	ctx := context.Background()
	s, err := box.Open(ctx, sandbox.SessionSpec{Role: sandbox.RoleSubject})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		var out, errw bytes.Buffer
		begin := time.Now()
		e, err := s.Run(ctx, sandbox.Command{Args: []string{"sh", "-c", "id; pwd; env; cat; ls -la; exit 3"}, Stdin: bytes.NewReader([]byte("hello")), Stdout: &out, Stderr: &errw})
		t.Log(e, err, time.Since(begin), "\n", out.String(), errw.String())
	}
	begin := time.Now()
	for range 100 {
		s.Run(ctx, sandbox.Command{Args: []string{"/bin/true"}})
	}
	t.Log(time.Since(begin) / 100)
	t.Log(box.Isolation(ctx))
	t.Log(box.Inputs(ctx, 1<<20))
	t.Log(s.LookPath(ctx, "sh", "nope"))
	t.Log(s.Observe(ctx, 10, ".", "../home", "x"))
	t.Log(s.Close())
}
