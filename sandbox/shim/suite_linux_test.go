package shim_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/sandboxtest"
)

// TestInit runs the suite on the real init in plain namespaces.
func TestInit(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("making namespaces for the init needs root; the engines' own tests run the suite without it")
	}
	sandboxtest.Run(t, func(t *testing.T) sandbox.Engine { return nsEngine{t} }, sandboxtest.Traits{
		Isolates: true, Pids: true,
		Kill: func(t *testing.T, runID string) {
			pid, ok := nsPids.Load(runID)
			if !ok {
				t.Fatal("no such box")
			}
			syscall.Kill(pid.(int), syscall.SIGKILL)
		},
	})
}
