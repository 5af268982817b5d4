//go:build linux && (amd64 || arm64)

package gvisor

import (
	"os"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/sandbox/sandboxtest"
)

// Builds do what package sandbox promises of them, and leave their caches only.
func TestBuilds(t *testing.T) {
	e := newEngine(t)
	sandboxtest.Builds(t, sandboxtest.Workshop{
		Builder: e, Image: "oci:" + busyboxLayout(t),
		Left: func(t *testing.T) string {
			nothingLeft(t, e)
			var left []string
			entries, err := os.ReadDir(e.options.ImageDir)
			must(t, err)
			for _, entry := range entries {
				if strings.HasPrefix(entry.Name(), "build-scratch-") {
					left = append(left, entry.Name())
				}
			}
			return strings.Join(left, " ")
		},
	})
}
