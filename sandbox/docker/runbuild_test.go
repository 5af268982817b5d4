package docker

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/image"

	"github.com/trkr-dev/trkr-validate/internal/owner"
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
	p, err := e.program()
	if err != nil {
		t.Fatal(err)
	}
	init, err := d.initImage(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	forget(t, d, init)
	dead := owner.Self()
	dead.Start++
	old, live := buildTag+dead.String()+"-abcdefgh-from", buildTag+owner.Self().String()+"-abcdefgh-to"
	for _, tag := range []string{old, live} {
		if err := d.ImageTag(t.Context(), ref, tag); err != nil {
			t.Fatal(err)
		}
		forget(t, d, tag)
	}
	if dead, err := d.deadBuilds(t.Context()); err != nil || !slices.Equal(dead, []string{old}) {
		t.Errorf("of dead programs: %q, %v", dead, err)
	}
	if err := errors.Join(d.sweepBuilds(t.Context()), d.removeImage(t.Context(), live)); err != nil {
		t.Error(err)
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
