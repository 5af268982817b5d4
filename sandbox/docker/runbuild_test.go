package docker

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/image"

	"github.com/trkr-dev/trkr-validate/internal/owner"
	"github.com/trkr-dev/trkr-validate/sandbox"
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
	ours, boot := machineTag(), dead
	boot.Boot = "00000000-0000-0000-0000-000000000000" // as every other machine's is
	old, live := buildTag+dead.String()+"-"+ours+"-abcdefgh-from", newBuildTag()+"-to"
	elsewhere := buildTag + boot.String() + "-00000000-abcdefgh-to"
	for _, tag := range []string{old, live, elsewhere} {
		if err := d.ImageTag(t.Context(), ref, tag); err != nil {
			t.Fatal(err)
		}
		forget(t, d, tag)
	}
	if dead, err := d.deadBuilds(t.Context()); err != nil || !slices.Equal(dead, []string{old}) {
		t.Errorf("of dead programs: %q, %v", dead, err)
	}
	d.sweepBuilds(t.Context())
	if dead, err := d.deadBuilds(t.Context()); err != nil || len(dead) > 0 {
		t.Errorf("left of dead programs: %q, %v", dead, err)
	}
	if err := errors.Join(d.removeImage(t.Context(), live), d.removeImage(t.Context(), elsewhere)); err != nil {
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

// A daemon that does not tell what dead builds left builds all the same.
func TestSweepThatFailsStopsNoBuild(t *testing.T) {
	e, p := misbehaving(t)
	ref := busybox(t, e, "unswept")
	p.mu.Lock()
	p.lose = "/images/json"
	p.mu.Unlock()
	d, err := e.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.deadBuilds(t.Context()); err == nil {
		t.Error("nothing is lost")
	}
	taken := false
	built, err := e.RunBuild(t.Context(), sandbox.Build{
		RunID: "build", Image: ref, Cache: "unswept", Script: "true", Timeout: time.Minute, Log: io.Discard, Limits: sandbox.Limits{Memory: 256 << 20, CPUs: 1, Pids: 64},
		Tree: func(context.Context, *tar.Writer, string) error { return nil },
		Take: func(_ context.Context, r io.Reader) error { taken = true; _, err := io.Copy(io.Discard, r); return err },
	})
	if err != nil || !taken {
		t.Errorf("%+v %v", built.Exit, err)
	}
}
