package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"strings"

	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/mount"

	"github.com/trkr-dev/trkr-validate/images"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

const (
	// baseName is the repository of the base images: what the host's userland needs beside what is bound.
	baseName = "trkr-validate-host"
	// labelBase marks a base image.
	labelBase = "dev.trkr.validate.base"
)

// host plans the userland of this machine. What has to be made (mount points, links, small files) is a base image that
// is named by its content, so that it is made once and every later box finds it.
func (e *engine) host(d *daemon, spec sandbox.Spec) (*userland, error) {
	if runtime.GOOS != "linux" {
		return nil, fault.Envf("image_host_unavailable", []string{"name a Linux image with --image"}, "the image \"host\" needs Linux programs, and this machine runs %s", runtime.GOOS)
	}
	plan, err := images.HostRoot(spec.Mounts, spec.Hidden)
	if err != nil {
		return nil, err
	}
	layer, err := baseLayer(plan)
	if err != nil {
		return nil, fmt.Errorf("making the base image: %w", err)
	}
	tag := baseTag(layer)
	u := &userland{image: baseName + ":" + tag, path: plan.Path, name: plan.Userland}
	for _, b := range plan.Binds {
		u.mounts = append(u.mounts, bind(b.Source, b.Target))
	}
	u.prepare = func(ctx context.Context) error {
		d.making.Lock()
		defer d.making.Unlock()
		if _, err := d.ImageInspect(ctx, u.image); err == nil {
			return nil // made by another run in the meantime
		}
		return d.call(ctx, callLimit, "making the base image "+u.image, func(ctx context.Context) error {
			body, err := d.ImageImport(ctx, image.ImportSource{Source: bytes.NewReader(layer), SourceName: "-"}, baseName,
				image.ImportOptions{Tag: tag, Changes: []string{"LABEL " + labelBase + "=1"}})
			if err != nil {
				return d.tooNew(err)
			}
			defer body.Close()
			return progress(body, func() {})
		})
	}
	return u, nil
}

// baseTag names a base image by its content.
func baseTag(layer []byte) string {
	sum := sha256.Sum256(layer)
	return hex.EncodeToString(sum[:8])
}

// baseLayer is the made part of a plan as one layer. The same plan gives the same bytes.
func baseLayer(plan images.Host) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	add := func(h tar.Header, data []byte) error {
		h.Name = strings.TrimPrefix(h.Name, "/")
		h.Size = int64(len(data))
		if err := w.WriteHeader(&h); err != nil {
			return err
		}
		_, err := w.Write(data)
		return err
	}
	for _, dir := range plan.Dirs {
		mode := int64(0o755)
		if dir == "/tmp" || dir == sandbox.Work {
			mode = 0o1777 // a tmpfs takes the mode of what it is mounted on
		}
		if err := add(tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: mode}, nil); err != nil {
			return nil, err
		}
	}
	for _, l := range plan.Links {
		if err := add(tar.Header{Typeflag: tar.TypeSymlink, Name: l.Path, Linkname: l.Target, Mode: 0o777}, nil); err != nil {
			return nil, err
		}
	}
	for _, f := range plan.Files {
		if err := add(tar.Header{Typeflag: tar.TypeReg, Name: f.Path, Mode: 0o644}, f.Data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// bind shows a path of this machine read-only. It is not recursive: before Docker 25, what is mounted below a
// recursive one stays writable.
func bind(source, target string) mount.Mount {
	return mount.Mount{Type: mount.TypeBind, Source: source, Target: target, ReadOnly: true, BindOptions: &mount.BindOptions{NonRecursive: true}}
}
