//go:build linux && (amd64 || arm64)

package gvisor

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/sandboxtest"
)

// The engine keeps what package sandbox promises.
func TestConformance(t *testing.T) {
	var e *engine
	sandboxtest.Run(t, func(t *testing.T) sandbox.Engine {
		e = newEngine(t)
		return planted(e)
	}, sandboxtest.Traits{
		Isolates: true, Filters: true, Memory: true, Pids: true,
		Kill: func(t *testing.T, runID string) {
			must(t, unix.Kill(sandboxOf(t, folderOf(t, e, runID)), unix.SIGKILL))
		},
		Gone: func(t *testing.T, runID string) {
			if dir := folderOf(t, e, runID); dir != "" {
				t.Errorf("%s of run %s is left", dir, runID)
			}
		},
	})
	nothingLeft(t, e)
}

// folderOf finds the box of a run; it is empty where there is none.
func folderOf(t *testing.T, e *engine, runID string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(e.stateDir(), "*", specFile))
	must(t, err)
	for _, f := range found {
		if text, err := os.ReadFile(f); err == nil && string(text) == runID {
			return filepath.Dir(f)
		}
	}
	return ""
}
