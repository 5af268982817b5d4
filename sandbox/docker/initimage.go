package docker

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strconv"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/image"
)

// labelProgram names the file that an image of an init was made of.
const labelProgram = "dev.trkr.validate.program"

// initImage gives the image that holds the init and nothing else, which BuildKit can show to a build. It is made once for
// each program file.
func (d *daemon) initImage(ctx context.Context, p program) (string, error) {
	sum := sha256.Sum256(fmt.Append(nil, p.path, p.was))
	tag := "init-" + hex.EncodeToString(sum[:8])
	name := loadedName + ":" + tag
	d.making.Lock()
	defer d.making.Unlock()
	err := d.call(ctx, callLimit, "looking for the image "+name, func(ctx context.Context) error {
		_, err := d.ImageInspect(ctx, name)
		return err
	})
	if err == nil || !cerrdefs.IsNotFound(err) {
		return name, err
	}
	file, err := os.Open(p.path)
	if err != nil {
		return "", fmt.Errorf("reading the box's init: %w", err)
	}
	defer file.Close()
	read, write := io.Pipe()
	go func() { _ = write.CloseWithError(packInit(file, write)) }() // a pipe's never fails
	err = d.call(ctx, callLimit, "making the image "+name, func(ctx context.Context) error {
		body, err := d.ImageImport(ctx, image.ImportSource{Source: read, SourceName: "-"}, loadedName,
			image.ImportOptions{Tag: tag, Platform: "linux/" + p.arch, Changes: []string{"LABEL " + labelImage + "=init " + labelProgram + "=" + strconv.Quote(p.path)}})
		if err != nil {
			return d.tooNew(err)
		}
		defer body.Close()
		return progress(body, func() {})
	})
	_ = read.CloseWithError(errTaken)
	if err != nil {
		return "", err
	}
	return name, p.unchanged()
}

func packInit(file *os.File, to io.Writer) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	w := tar.NewWriter(to)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "init", Mode: 0o755, Size: info.Size()}); err != nil {
		return err
	}
	if _, err := io.CopyN(w, file, info.Size()); err != nil {
		return err
	}
	return w.Close()
}
