package docker

import (
	"archive/tar"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/docker/docker/api/types/build"
	"github.com/docker/docker/client"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/owner"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
	"github.com/trkr-dev/trkr-validate/sandbox/shim"
)

const (
	// carryLimit bounds what a build takes beside its own time: the way to the daemon, and into its images.
	carryLimit = 15 * time.Minute
	// buildTag begins the tags of a build that is going on; see newBuildTag.
	buildTag = loadedName + ":build-"

	orderName = "order.json"
	orderPath = "/run/trkr/" + orderName
	workName  = "work" // in what is sent, of what becomes BuildTop
)

// recipe runs a build for the daemon's BuildKit. The image it begins with and the supervisor are images of the daemon's:
// no registry is asked. %[1]s is the image, %[2]d the uid, %[3]s the supervisor's image, %[4]s the cache.
const recipe = `FROM %[1]s
USER 0:0
COPY --chown=%[2]d:%[2]d ` + workName + ` ` + sandbox.BuildTop + `
RUN --mount=type=bind,source=` + orderName + `,target=` + orderPath + ` \
    --mount=type=bind,from=%[3]s,source=/init,target=` + sandbox.Init + ` \
    --mount=type=cache,id=trkr-validate-%[4]s,target=` + sandbox.BuildCache + `,uid=%[2]d,gid=%[2]d,mode=0700 \
    ["` + sandbox.Init + `", "` + shim.Arg + `", "` + wire.HelperBuild + `", "` + orderPath + `"]
`

// RunBuild implements sandbox.Builder, with the daemon's BuildKit. The tree goes to it as the context of a Dockerfile; what
// the build left is read out of the image that comes of it, which is removed.
func (e *engine) RunBuild(ctx context.Context, b sandbox.Build) (built sandbox.Built, err error) {
	d, err := e.connect(ctx)
	if err != nil {
		return built, err
	}
	p, err := e.program()
	if err != nil {
		return built, err
	}
	if err := errors.Join(p.loads(b.Image), p.unchanged()); err != nil {
		return built, err
	}
	u, err := e.userland(ctx, d, p, sandbox.Spec{Image: b.Image, ImageDir: b.ImageDir})
	if err != nil {
		return built, err
	}
	d.sweepBuilds(ctx)
	if c := u.found.Config; c != nil && len(c.OnBuild) > 0 {
		return built, fault.Envf("image_unusable", []string{"use an image without ONBUILD"}, "the image %q has steps of its own for whatever is built on it", b.Image)
	}
	turn, err := e.store(p.arch).Turn(ctx, b.Cache, func() { sandbox.Waits(b.Log) })
	if err != nil {
		return built, err
	}
	defer func() { err = errors.Join(err, turn.Close()) }()
	// Only this user's builds on this machine wait for one another.
	b.Cache = fmt.Sprintf("%s-%s-%d", b.Cache, machineTag(), os.Getuid())
	w := &workshop{daemon: d, build: b, user: u, name: newBuildTag(), uid: uidOf(b.Cache)}
	defer func() { err = errors.Join(err, w.close(ctx)) }()
	if w.init, err = d.initImage(ctx, p); err != nil {
		return built, err
	}
	if err := w.from(ctx); err != nil {
		return built, err
	}
	built, err = w.run(ctx, "linux/"+p.arch)
	built.Info = w.info(ctx)
	return built, err
}

// newBuildTag begins the tags of one build: they tell whose it is, on which machine.
func newBuildTag() string {
	return buildTag + owner.Self().String() + "-" + machineTag() + "-" + strings.ToLower(rand.Text()[:8])
}

// uidOf is the uid of the builds that share a cache, of which one runs at a time. The limit of processes counts per uid, on the whole machine.
func uidOf(cache string) int {
	const first, n = 20000, 40000
	h := fnv.New32a()
	_, _ = h.Write([]byte(cache)) // never fails
	return first + int(h.Sum32()%n)
}

// workshop is one build in the daemon.
type workshop struct {
	daemon *daemon
	build  sandbox.Build
	user   *userland
	name   string // of its images, before what tells them apart
	uid    int
	init   string // the supervisor's image

	box string // the container that the result is read from
}

func (w *workshop) base() string   { return w.name + "-from" }
func (w *workshop) result() string { return w.name + "-to" }

// from gives the image that the build begins with a name of its own: BuildKit finds an image of the daemon's by name
// only, and a name of somebody else's may come to mean another.
func (w *workshop) from(ctx context.Context) error {
	tag := func() error {
		return w.daemon.call(ctx, callLimit, "naming the image of the build", func(ctx context.Context) error {
			return w.daemon.ImageTag(ctx, w.user.image, w.base())
		})
	}
	err := tag()
	if err == nil || w.user.prepare == nil || ctx.Err() != nil {
		return err
	}
	if err := w.user.prepare(ctx); err != nil { // it was removed in the meantime
		return err
	}
	return tag()
}

// close removes what the daemon has of the build but for BuildKit's cache.
func (w *workshop) close(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var err error
	if w.box != "" {
		err = w.daemon.remove(ctx, w.box, false)
	}
	return errors.Join(err, w.daemon.removeImage(ctx, w.result()), w.daemon.removeImage(ctx, w.base()))
}

func (w *workshop) run(ctx context.Context, platform string) (sandbox.Built, error) {
	within, cancel := context.WithTimeout(ctx, w.build.Timeout+carryLimit)
	defer cancel()
	read, write := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		err := w.send(within, write)
		sent <- err
		_ = write.CloseWithError(err) // a pipe's never fails
	}()
	log := &firstError{to: w.build.Log}
	_, err := w.daemon.runBuild(within, read, log, build.ImageBuildOptions{
		Version: build.BuilderBuildKit, Dockerfile: "Dockerfile", Platform: platform, Tags: []string{w.result()}, NoCache: true,
		NetworkMode: "none", Labels: map[string]string{labelImage: "build"},
	})
	_ = read.CloseWithError(errTaken)
	wrong := <-sent
	switch {
	case ctx.Err() != nil:
		return sandbox.Built{}, context.Cause(ctx)
	case within.Err() != nil:
		return sandbox.Built{}, fault.Envf("docker_silent", restartHints(), "the Docker daemon at %s did not end a build within %s", w.daemon.at, w.build.Timeout+carryLimit)
	case wrong != nil && !errors.Is(wrong, errTaken):
		return sandbox.Built{}, wrong
	case err != nil && (strings.Contains(err.Error(), "did not complete successfully") || strings.Contains(err.Error(), "executor failed running")):
		return sandbox.Built{Exit: sandbox.Exit{Code: -1, Cause: sandbox.CauseUnknown, Detail: err.Error()}}, log.err
	case err != nil && strings.Contains(err.Error(), "no space left on device"):
		return sandbox.Built{}, fault.Envf("docker_disk_full", diskHints(), "building in Docker: %w", err)
	case client.IsErrConnectionFailed(err):
		return sandbox.Built{}, fault.Envf("docker_unreachable", restartHints(), "building in Docker: %w", err)
	case err != nil:
		return sandbox.Built{}, fault.Envf("docker_build", restartHints(), "building in Docker: %w", err)
	case log.err != nil:
		return sandbox.Built{}, fmt.Errorf("writing the build's output: %w", log.err)
	}
	return w.take(ctx)
}

// firstError keeps the first failure to write; whoever writes goes on.
type firstError struct {
	to  io.Writer
	err error
}

func (f *firstError) Write(p []byte) (int, error) {
	if f.err == nil {
		_, f.err = f.to.Write(p)
	}
	return len(p), nil
}

// send writes what BuildKit gets.
func (w *workshop) send(ctx context.Context, to io.Writer) error {
	o := wire.OrderOf(w.build, w.user.path)
	o.Result, o.UID, o.Memory, o.CPUs = path.Join(sandbox.BuildOut, "result.json"), w.uid, w.build.Limits.Memory, int(math.Ceil(w.build.Limits.CPUs))
	order, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("describing the build: %w", err)
	}
	t := tar.NewWriter(to)
	for name, data := range map[string][]byte{"Dockerfile": fmt.Appendf(nil, recipe, w.base(), w.uid, w.init, w.build.Cache), orderName: order} {
		err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: int64(len(data))})
		if err == nil {
			_, err = t.Write(data)
		}
		if err != nil {
			return err
		}
	}
	for _, dir := range []string{sandbox.BuildTop, sandbox.BuildTree, sandbox.BuildHome, sandbox.BuildTmp, sandbox.BuildCache, sandbox.BuildOut} {
		name := workName + strings.TrimPrefix(dir, sandbox.BuildTop) + "/"
		if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755}); err != nil {
			return err
		}
	}
	if err := w.build.Tree(ctx, t, workName+strings.TrimPrefix(sandbox.BuildTree, sandbox.BuildTop)+"/"); err != nil {
		return err
	}
	return t.Close()
}

// info describes the container. Of memory, BuildKit has no limit to offer.
func (w *workshop) info(ctx context.Context) sandbox.Info {
	i := sandbox.Info{Engine: Name, Image: w.build.Image, ImageDigest: w.user.digest, Path: w.user.path, Limits: map[string]string{
		"memory": strconv.FormatInt(w.build.Limits.Memory>>20, 10) + "MiB supervised",
		"cpus":   fmt.Sprintf("%g enforced, whole cores", math.Ceil(w.build.Limits.CPUs)),
		"pids":   strconv.Itoa(w.build.Limits.Pids) + " enforced, each uid",
		"tmp":    "unavailable: it is on the daemon's disk",
	}}
	if about, err := w.daemon.about(ctx); err == nil {
		i.EngineVersion = about.ServerVersion
	}
	return i
}
