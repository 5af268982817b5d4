//go:build unix

package sandboxtest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/sandboxtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFake(t *testing.T) {
	fake := &sandboxtest.Fake{}
	sandboxtest.Run(t, func(*testing.T) sandbox.Engine { return fake }, sandboxtest.Traits{
		Kill: func(_ *testing.T, runID string) { fake.Kill(runID) },
	})
	if n := fake.Open(); n != 0 {
		t.Errorf("%d boxes are open", n)
	}
}
