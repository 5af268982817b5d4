//go:build !linux || !(amd64 || arm64)

package gvisor

import (
	"context"
	"runtime"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

// Dispatch does nothing where gVisor is not built in.
func Dispatch() {}

// New gives an engine whose Check and Start say that gVisor is not built in.
func New(Options) sandbox.Engine { return unsupported{} }

type unsupported struct{}

func (unsupported) Name() string { return Name }

func (unsupported) Check(context.Context) (sandbox.Version, error) {
	return sandbox.Version{}, errUnsupported()
}

func (unsupported) Start(context.Context, sandbox.Spec) (sandbox.Sandbox, error) {
	return nil, errUnsupported()
}

func (unsupported) Sweep(context.Context, bool) ([]string, error) { return nil, nil }

func errUnsupported() error {
	return fault.Envf("engine_unsupported", []string{"use --engine docker", "the gvisor engine needs Linux on amd64 or arm64"},
		"the gvisor engine is not built for %s/%s", runtime.GOOS, runtime.GOARCH)
}
