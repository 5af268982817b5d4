package docker

import (
	"context"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/image"

	"github.com/trkr-dev/trkr-validate/sandbox/sandboxtest"
)

// Builds do what package sandbox promises of them, and leave neither a container nor an image.
func TestBuilds(t *testing.T) {
	e := testEngine(t)
	ref := busybox(t, e, "builds", `ENTRYPOINT ["/bin/false"]`, "USER 1234", "ENV LD_PRELOAD=/evil.so HOME=/evil", "VOLUME /work")
	d, err := e.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sandboxtest.Builds(t, sandboxtest.Workshop{
		Builder: e, Image: ref,
		Left: func(t *testing.T) string {
			left := boxes(t, e, "build")
			all, err := d.ImageList(context.Background(), image.ListOptions{All: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range all {
				for _, tag := range i.RepoTags {
					if strings.HasPrefix(tag, buildTag) {
						left = append(left, tag)
					}
				}
				if len(i.RepoTags) == 0 && i.Labels[labelImage] == "build" {
					left = append(left, i.ID)
				}
			}
			return strings.Join(left, " ")
		},
	})
}
