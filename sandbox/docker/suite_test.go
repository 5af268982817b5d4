package docker

import (
	"context"
	"testing"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/sandboxtest"
)

func TestSuiteOnHost(t *testing.T) { suite(t, "host") }

// The image has no libraries and no programs but busybox, and an entrypoint that would swallow everything.
func TestSuiteOnImage(t *testing.T) {
	suite(t, busybox(t, testEngine(t), "suite", `ENTRYPOINT ["/bin/true"]`, `USER 1234`))
}

func suite(t *testing.T, image string) {
	e := testEngine(t)
	d, err := e.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sandboxtest.Run(t, func(*testing.T) sandbox.Engine { return planted(e) }, sandboxtest.Traits{
		Isolates: true, Filters: true, Image: image, Memory: true, Pids: true,
		Kill: func(t *testing.T, runID string) {
			for _, name := range boxes(t, e, runID) {
				if err := d.ContainerKill(context.Background(), name, "KILL"); err != nil {
					t.Error(err)
				}
			}
		},
		Gone: func(t *testing.T, runID string) {
			if left := boxes(t, e, runID); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		},
	})
}
