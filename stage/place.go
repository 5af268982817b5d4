package stage

import (
	"crypto/sha256"
	"encoding/hex"
	"runtime"

	"github.com/trkr-dev/trkr-validate/build"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

// boxPlatform is what the programs of a box are made for.
func boxPlatform() string { return "linux/" + runtime.GOARCH }

// place is where the build runs.
func (r *run) place() (build.Place, error) {
	v := r.req.Config.Validate
	if v.BuildImage == "" {
		return build.Host{}, nil
	}
	builder, ok := r.req.Engine.(sandbox.Builder)
	if !ok {
		return nil, fault.Usagef("build_image_unavailable", []string{"use --engine docker"}, "the engine %s cannot build in a container", r.req.Engine.Name())
	}
	dir, err := r.imageDir()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(r.repo.Root() + "\x00" + v.BuildImage)) // another image may make nothing of what is cached
	return build.Container{
		Builder: builder, RunID: r.record.RunID, Image: v.BuildImage, ImageDir: dir, Cache: hex.EncodeToString(sum[:8]),
		Limits: r.limits(), Artifacts: r.artifacts,
	}, nil
}
