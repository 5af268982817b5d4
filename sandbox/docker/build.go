package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/docker/docker/api/types/build"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/trkr-dev/trkr-validate/images"
	"github.com/trkr-dev/trkr-validate/internal/bound"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/plain"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

// buildLimit bounds the building of an image. A step may say nothing for long.
const buildLimit = time.Hour

// NewBuilder gives the builder of images that a daemon has built in, for engines that have none.
func NewBuilder(o Options) images.Builder { return newEngine(o) }

// Build implements images.Builder.
func (e *engine) Build(ctx context.Context, file *images.Dockerfile, platform string, to io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, buildLimit)
	defer cancel()
	d, err := e.connect(ctx)
	if err != nil {
		return err
	}
	id, err := d.build(ctx, file, platform)
	if err != nil {
		return err
	}
	saved, err := d.ImageSave(ctx, []string{id})
	if err != nil {
		return fmt.Errorf("taking the image out of Docker: %w", err)
	}
	_, err = io.Copy(to, saved)
	return errors.Join(err, saved.Close())
}

// built gives the image of a Dockerfile, which is built once as long as this program runs.
func (e *engine) built(ctx context.Context, d *daemon, p program, spec sandbox.Spec) (_ *userland, err error) {
	key := spec.ImageDir + "\x00" + spec.Image
	d.pulling.Lock()
	defer d.pulling.Unlock()
	if u, ok := d.known[key]; ok {
		return u, nil
	}
	file, err := images.OpenDockerfile(spec.Image, spec.ImageDir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	id, err := d.build(ctx, file, "linux/"+p.arch)
	if err != nil {
		return nil, err
	}
	u, err := d.inspect(ctx, p, spec.Image, id)
	if err != nil {
		return nil, err
	}
	u.prepare = func(ctx context.Context) error { return d.buildAgain(ctx, spec, "linux/"+p.arch, id) } // swept in the meantime
	d.known[key] = u
	return u, nil
}

// buildAgain builds an image that has to be the one it was.
func (d *daemon) buildAgain(ctx context.Context, spec sandbox.Spec, platform, was string) error {
	file, err := images.OpenDockerfile(spec.Image, spec.ImageDir)
	if err != nil {
		return err
	}
	id, err := d.build(ctx, file, platform)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if id != was {
		return imageChanged(spec.Image)
	}
	return nil
}

// build has the daemon's BuildKit build an image, and gives its id. The image gets a tag, so that it stays as long as no
// newer one is built, and the label by which it is swept.
func (d *daemon) build(ctx context.Context, file *images.Dockerfile, platform string) (string, error) {
	within, cancel := context.WithTimeout(ctx, buildLimit)
	defer cancel()
	sum := sha256.Sum256([]byte(file.Path))
	tag := loadedName + ":dockerfile-" + hex.EncodeToString(sum[:8])
	read, write := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := file.Pack(within, write)
		packed <- err
		_ = write.CloseWithError(err) // a pipe's never fails
	}()
	said := bound.NewBuffer(0, buildSaid)
	id, err := d.runBuild(within, read, said, build.ImageBuildOptions{
		Version: build.BuilderBuildKit, Dockerfile: file.Name(), Platform: platform, Tags: []string{tag},
		Labels: map[string]string{labelImage: "dockerfile"},
	})
	_ = read.CloseWithError(errTaken)
	wrong := <-packed
	switch {
	case err == nil:
		return id, nil
	case ctx.Err() != nil:
		return "", fmt.Errorf("building the image of %s: %w", file.Path, ctx.Err())
	case within.Err() != nil:
		return "", fault.Envf("image_build_timeout", []string{"look for a step that waits for something"}, "building the image of %s took longer than %s", file.Path, buildLimit)
	case wrong != nil && !errors.Is(wrong, errTaken):
		return "", wrong
	case strings.Contains(err.Error(), "no space left on device"):
		return "", fault.Envf("docker_disk_full", diskHints(), "building the image of %s: %w", file.Path, err)
	}
	hints := []string{"build it by hand to see more: docker build -f " + file.Path + " " + strings.TrimSuffix(file.Path, file.Name())}
	if strings.Contains(err.Error(), "pull access denied") || strings.Contains(err.Error(), "authorization failed") || strings.Contains(err.Error(), "401") {
		hints = append(hints, "docker pull a private image that it begins FROM: one that is there already is not pulled")
	}
	var words strings.Builder
	for line := range strings.Lines(string(said.Tail())) {
		words.WriteString("\n" + string(plain.Escape([]byte(strings.TrimSpace(line)))))
	}
	return "", fault.Envf("image_build_failed", hints, "building the image of %s: %w%s", file.Path, err, words.String())
}

// buildSaid is how much is kept of what the steps of a build said last.
const buildSaid = 2 << 10

func (d *daemon) runBuild(ctx context.Context, from io.Reader, said io.Writer, o build.ImageBuildOptions) (id string, err error) {
	answer, err := d.ImageBuild(ctx, from, o)
	if err != nil {
		return "", d.tooNew(err)
	}
	defer answer.Body.Close()
	reports := json.NewDecoder(answer.Body)
	for {
		var report struct {
			ID          string
			Aux         json.RawMessage
			Error       string
			ErrorDetail struct{ Message string }
		}
		switch err := reports.Decode(&report); {
		case errors.Is(err, io.EOF) && id == "":
			return "", errors.New("the daemon did not say which image it built")
		case errors.Is(err, io.EOF):
			return id, nil
		case err != nil:
			return "", err
		case report.ErrorDetail.Message != "":
			return "", errors.New(report.ErrorDetail.Message)
		case report.Error != "":
			return "", errors.New(report.Error)
		}
		switch report.ID {
		case "moby.image.id":
			var image struct{ ID string }
			if err := json.Unmarshal(report.Aux, &image); err != nil {
				return "", err
			}
			id = image.ID
		case "moby.buildkit.trace":
			var trace []byte
			if json.Unmarshal(report.Aux, &trace) == nil {
				keepLogs(trace, said)
			}
		}
	}
}

// Fields of BuildKit's reports: of a status the logs, of a log its text.
const statusLogs, logText = 3, 4

// keepLogs writes what the steps of a build said. A report that cannot be read says nothing.
func keepLogs(trace []byte, said io.Writer) {
	fields(trace, statusLogs, func(log []byte) {
		fields(log, logText, func(text []byte) { _, _ = said.Write(text) }) // a buffer's never fails
	})
}

// fields calls f with each field of that number, of those that hold bytes.
func fields(message []byte, number protowire.Number, f func([]byte)) {
	for len(message) > 0 {
		n, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return
		}
		message = message[size:]
		if kind == protowire.BytesType && n == number {
			value, size := protowire.ConsumeBytes(message)
			if size < 0 {
				return
			}
			f(value)
			message = message[size:]
			continue
		}
		if size = protowire.ConsumeFieldValue(n, kind, message); size < 0 {
			return
		}
		message = message[size:]
	}
}
