package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/docker/docker/api/types/image"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// What this program made and nobody uses goes; what a box is made of, what a run needs next and what others brought stays.
func TestSweepImages(t *testing.T) {
	e := testEngine(t)
	e.options.ImageDir = filepath.Join(t.TempDir(), "images")
	foreign := busybox(t, e, "foreign-image")
	d, err := e.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.program()
	if err != nil {
		t.Fatal(err)
	}
	box := start(t, e, testSpec(t, hostImage)) // makes the base image
	at := filepath.Join(t.TempDir(), "image.tar")
	ref, err := name.NewTag("x:1")
	if err == nil {
		err = tarball.WriteToFile(at, ref, hostileImage(t, p.arch))
	}
	if err != nil {
		t.Fatal(err)
	}
	inUse := start(t, e, testSpec(t, "docker-archive:"+at))
	loaded := loadedName + ":" + inUse.Info().ImageDigest[len("sha256:"):][:32]
	forget(t, d, loaded)
	old := baseName + ":of-an-older-version"
	body, err := d.ImageImport(t.Context(), image.ImportSource{Source: emptyTar(t), SourceName: "-"}, baseName, image.ImportOptions{Tag: "of-an-older-version", Changes: []string{"LABEL " + labelBase + "=1"}})
	if err == nil {
		err = progress(body, func() {})
	}
	if err != nil {
		t.Fatal(err)
	}
	forget(t, d, old)

	there := func(tag string) bool {
		_, err := d.ImageInspect(context.Background(), tag)
		return err == nil
	}
	if swept, err := e.SweepImages(t.Context(), true); err != nil || !slices.Contains(swept, old) || slices.Contains(swept, loaded) || !there(old) {
		t.Errorf("dry: %v, %v", swept, err)
	}
	if swept, err := e.SweepImages(t.Context(), false); err != nil || !slices.Contains(swept, old) || there(old) || !there(loaded) || !there(foreign) || !there(currentBase()) {
		t.Errorf("swept %v, %v", swept, err)
	}
	if err := inUse.Close(); err != nil {
		t.Error(err)
	}
	if err := box.Close(); err != nil {
		t.Error(err)
	}
	if swept, err := e.SweepImages(t.Context(), false); err != nil || !slices.Contains(swept, loaded) || there(loaded) || !there(currentBase()) {
		t.Errorf("swept %v, %v", swept, err)
	}
	// What was swept is given to the daemon again when it is needed.
	again := start(t, e, testSpec(t, "docker-archive:"+at))
	if again.Info().ImageDigest != inUse.Info().ImageDigest {
		t.Errorf("%+v", again.Info())
	}
}

// emptyTar has one empty file: Docker imports nothing that is empty.
func emptyTar(t *testing.T) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	if err := errors.Join(w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "old", Mode: 0o644}), w.Close()); err != nil {
		t.Fatal(err)
	}
	return &out
}
