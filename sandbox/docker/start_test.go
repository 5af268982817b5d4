package docker

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/docker/docker/api/types/image"
)

// The init is the test program itself, also where it is not static: the host's userland holds its loader.
func TestHost(t *testing.T) {
	testEngine(t)
	e := newEngine(Options{})
	spec := testSpec(t, "host")
	box := start(t, e, spec)
	info := box.Info()
	if info.Engine != "docker" || info.EngineVersion == "" || info.Image != "host" || info.ImageDigest != "" || info.Userland == "" {
		t.Errorf("Info() = %+v", info)
	}
	want := map[string]string{"memory": "256MiB enforced", "cpus": "1 enforced", "pids": "128 enforced (64 and the 64 threads of the init)", "output": "1MiB enforced", "tmp": "16MiB enforced"}
	for name, kept := range want {
		if info.Limits[name] != kept {
			t.Errorf("limit %s is %q, want %q", name, info.Limits[name], kept)
		}
	}
	files, err := box.Inputs(t.Context(), 1<<20)
	if err != nil || len(files) != 3 {
		t.Errorf("Inputs() = %+v, %v", files, err)
	}
	out, exit := sh(t, box, "cat /validate/artifact/data && ls /validate")
	if out != "helloartifact\ncontract.md\n" || exit.Code != 0 {
		t.Errorf("it printed %q, %s", out, exit)
	}
	facts, err := box.Isolation(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Log(facts)
	if err := box.Close(); err != nil {
		t.Fatal(err)
	}
	if left := boxes(t, e, spec.RunID); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// An image decides nothing about how a box is started: neither its entrypoint, user, health check and environment,
// nor volumes, which would be writable directories without a limit.
func TestImageDecidesNothing(t *testing.T) {
	e := testEngine(t)
	ref := busybox(t, e, "swallow",
		`ENTRYPOINT ["/bin/true"]`, `CMD ["ignored"]`, `USER 1234:1234`, `WORKDIR /data`, `HEALTHCHECK CMD /bin/true`,
		`VOLUME ["/data", "/tmp", "/opt", "/opt/validate/deep"]`,
		`ENV FOO=bar GODEBUG=gctrace=1 LD_PRELOAD=/x.so PATH=/somewhere:/bin`)
	spec := testSpec(t, ref)
	box := start(t, e, spec)
	info := box.Info()
	if info.Path != "/somewhere:/bin" || !strings.HasPrefix(info.ImageDigest, "sha256:") || info.Userland != "Busy Box 1" {
		t.Errorf("Info() = %+v", info)
	}
	out, exit := sh(t, box, `
		env
		for d in /data /opt /opt/validate /opt/validate/deep /etc /bin; do touch $d/x 2>/dev/null && echo "wrote to $d"; done
		for d in /tmp /dev/shm .; do touch $d/x || echo "could not write to $d"; done
		cat /proc/1/environ 2>/dev/null && echo "read the environment of the init"
		id -u; pwd; cat /etc/resolv.conf`)
	if exit.Code != 0 {
		t.Errorf("%s", exit)
	}
	for _, word := range []string{"FOO", "GODEBUG", "LD_PRELOAD", "wrote to", "could not", "read the env", "1234"} {
		if strings.Contains(out, word) {
			t.Errorf("it printed %q:\n%s", word, out)
		}
	}
	for _, line := range strings.Split(out, "\n") {
		if server, ok := strings.CutPrefix(line, "nameserver "); ok && server != "127.0.0.1" {
			t.Errorf("it sees this machine's name server %s", server)
		}
	}
	d, err := e.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen, err := d.ContainerInspect(t.Context(), boxes(t, e, spec.RunID)[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range seen.Mounts {
		if m.RW {
			t.Errorf("%s of type %s is writable", m.Destination, m.Type)
		}
	}
	if err := box.Close(); err != nil {
		t.Error(err)
	}
}

func TestImageMayNotCoverTheInputs(t *testing.T) {
	e := testEngine(t)
	ref := busybox(t, e, "cover", `VOLUME ["/validate/artifact"]`)
	box, err := e.Start(t.Context(), testSpec(t, ref))
	wantFault(t, err, "image_unusable")
	if box != nil {
		box.Close()
	}
}

func TestMountsAreForTheHostOnly(t *testing.T) {
	e := testEngine(t)
	spec := testSpec(t, "debian:12")
	spec.Mounts = []string{"/srv"}
	_, err := e.Start(t.Context(), spec)
	wantFault(t, err, "mount_invalid")
}

func TestMoreCPUsThanThereAre(t *testing.T) {
	e := testEngine(t)
	spec := testSpec(t, "host")
	spec.Limits.CPUs = 4096
	box := start(t, e, spec)
	if kept := box.Info().Limits["cpus"]; !strings.HasSuffix(kept, " enforced, all that there are of 4096") {
		t.Errorf("cpus: %q", kept)
	}
}

func TestInputThatTheDaemonCannotSee(t *testing.T) {
	e := testEngine(t)
	spec := testSpec(t, "host")
	spec.Input += "-elsewhere"
	_, err := e.Start(t.Context(), spec)
	wantFault(t, err, "docker_remote")
	if left := boxes(t, e, spec.RunID); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// The first boxes of a machine, all at once: the base image is made by one of them.
func TestBoxesSideBySide(t *testing.T) {
	e := testEngine(t)
	spec := testSpec(t, "host")
	d, err := e.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	extra, err := os.MkdirTemp("/var/tmp", "trkr-docker-test-") // a mount makes the base image another one
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(extra)
	spec.Mounts = []string{extra}
	u, err := e.host(d, spec)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if _, err := d.ImageRemove(context.Background(), u.image, image.RemoveOptions{}); err != nil {
			t.Error(err)
		}
	}()
	var work sync.WaitGroup
	for range 3 {
		work.Go(func() {
			box, err := e.Start(t.Context(), spec)
			if err != nil {
				t.Error(err)
				return
			}
			if files, err := box.Inputs(t.Context(), 1<<20); err != nil || len(files) != 3 {
				t.Errorf("Inputs() = %v, %v", files, err)
			}
			if err := box.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	if left := boxes(t, e, spec.RunID); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
