package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/image"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/trkr-dev/trkr-validate/internal/testengine"
)

// push puts an image with busybox for a processor into a registry, as its protocol says, and gives its reference and
// digest.
func push(t *testing.T, host, arch string) (ref, sum string) {
	t.Helper()
	program, err := os.ReadFile("/bin/busybox")
	testengine.Require(t, Name, err, "install busybox-static")
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	for _, err := range []error{
		w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "bin/sh", Mode: 0o755, Size: int64(len(program))}),
		func() error { _, err := w.Write(program); return err }(),
		w.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	put := func(method, path, kind string, data []byte) {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+host+"/v2/team/tool/"+path, bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", kind)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusCreated {
			t.Fatalf("pushing %s: %s", path, resp.Status)
		}
	}
	blob := func(kind string, data []byte) ocispec.Descriptor {
		sum := digest.FromBytes(data)
		put(http.MethodPost, "blobs/uploads/?digest="+sum.String(), "application/octet-stream", data)
		return ocispec.Descriptor{MediaType: kind, Digest: sum, Size: int64(len(data))}
	}
	asJSON := func(v any) []byte {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	config := ocispec.Image{Platform: ocispec.Platform{OS: "linux", Architecture: arch}}
	config.Config.Env = []string{"PATH=/bin"}
	config.RootFS = ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{digest.FromBytes(layer.Bytes())}}
	manifest := ocispec.Manifest{
		MediaType: ocispec.MediaTypeImageManifest,
		Config:    blob(ocispec.MediaTypeImageConfig, asJSON(config)),
		Layers:    []ocispec.Descriptor{blob(ocispec.MediaTypeImageLayer, layer.Bytes())},
	}
	manifest.SchemaVersion = 2
	data := asJSON(manifest)
	put(http.MethodPut, "manifests/"+arch, manifest.MediaType, data)
	return host + "/team/tool:" + arch, digest.FromBytes(data).String()
}

// forget removes an image from the daemon when the test ends.
func forget(t *testing.T, d *daemon, ref string) {
	t.Cleanup(func() {
		_, _ = d.ImageRemove(context.Background(), ref, image.RemoveOptions{Force: true}) // it may never have come
	})
}

func TestPull(t *testing.T) {
	e := testEngine(t)
	d, err := e.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.program()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	host := strings.TrimPrefix(server.URL, "http://")
	ref, sum := push(t, host, p.arch)
	forget(t, d, ref)

	box := start(t, e, testSpec(t, ref))
	if info := box.Info(); info.ImageDigest != sum || info.Image != ref {
		t.Errorf("Info() = %+v, want the digest %s", info, sum)
	}
	if out, exit := sh(t, box, "echo pulled"); out != "pulled\n" || exit.Code != 0 {
		t.Errorf("it printed %q, %s", out, exit)
	}

	// One that is removed between two boxes comes again, by the same name if it is the same.
	if err := box.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.ImageRemove(t.Context(), ref, image.RemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	if again := start(t, e, testSpec(t, ref)); again.Info().ImageDigest != sum {
		t.Errorf("%+v", again.Info())
	}

	other := "s390x"
	foreign, _ := push(t, host, other)
	forget(t, d, foreign)
	_, err = e.pulled(t.Context(), d, p, foreign)
	wantFault(t, err, "image_wrong_platform")

	server.Close()
	clear(d.known)
	if u, err := e.pulled(t.Context(), d, p, ref); err != nil || u.digest != sum {
		t.Errorf("an image that is there: %+v, %v", u, err)
	}
	byDigest := host + "/team/tool@" + sum
	if u, err := e.pulled(t.Context(), d, p, byDigest); err != nil || u.digest != sum {
		t.Errorf("an image that is there, by digest: %+v, %v", u, err)
	}
}

func TestPullsThatFail(t *testing.T) {
	e := testEngine(t)
	d, err := e.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.program()
	if err != nil {
		t.Fatal(err)
	}
	status := func(code int, body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if code == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			}
			w.WriteHeader(code)
			io.WriteString(w, body)
		})
	}
	over := make(chan struct{})
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for name, c := range map[string]struct {
		handler http.Handler
		code    string
	}{
		"not there":    {registry.New(registry.Logger(log.New(io.Discard, "", 0))), "image_not_found"},
		"unauthorised": {status(http.StatusUnauthorized, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`), "image_unauthorised"},
		"forbidden":    {status(http.StatusForbidden, `{"errors":[{"code":"DENIED","message":"requested access to the resource is denied"}]}`), "image_unauthorised"},
		"too many":     {status(http.StatusTooManyRequests, `{"errors":[{"code":"TOOMANYREQUESTS","message":"You have reached your pull rate limit"}]}`), "image_rate_limited"},
		"broken":       {status(http.StatusInternalServerError, "oh"), "image_unreachable"},
		"silent":       {http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }), "image_unreachable"},
		"no registry":  {nil, "image_unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			server := closed
			if c.handler != nil {
				server = httptest.NewServer(c.handler)
				defer server.Close()
			}
			ref := strings.TrimPrefix(server.URL, "http://") + "/team/tool:1"
			forget(t, d, ref)
			if name == "silent" {
				defer close(over)
				e.silence = 300 * time.Millisecond
				defer func() { e.silence = pullSilence }()
			}
			_, err := e.pulled(t.Context(), d, p, ref)
			wantFault(t, err, c.code)
			t.Log(err)
		})
	}
}

// What registries and daemons say is known in words only; each of these was said by one.
func TestPullFault(t *testing.T) {
	for said, code := range map[string]string{
		"toomanyrequests: You have reached your unauthenticated pull rate limit.":                                                                            "image_rate_limited",
		"pull access denied for x, repository does not exist or may require 'docker login': denied: requested access to the resource is denied":              "image_not_found",
		"manifest for debian:nope not found: manifest unknown: manifest unknown":                                                                             "image_not_found",
		"Head \"https://ghcr.io/v2/x/y/manifests/1\": denied":                                                                                                "image_unauthorised",
		"Head \"https://r.example/v2/x/manifests/1\": unauthorized: authentication required":                                                                 "image_unauthorised",
		"Get \"https://r.example/v2/\": no basic auth credentials":                                                                                           "image_unauthorised",
		"no matching manifest for linux/arm64/v8 in the manifest list entries":                                                                               "image_wrong_platform",
		"Get \"https://r.example/v2/\": dial tcp: lookup r.example on 10.0.0.2:53: no such host":                                                             "image_unreachable",
		"Get \"https://registry-1.docker.io/v2/\": net/http: request canceled while waiting for connection (Client.Timeout exceeded while awaiting headers)": "image_unreachable",
		"image with reference debian was found but does not match the specified platform: wanted linux/amd64, actual: linux/arm64":                           "image_wrong_platform",
		"failed to register layer: Error processing tar file(exit status 1): write /x: no space left on device":                                              "docker_disk_full",
		"error pulling image configuration: download failed after attempts=6: received unexpected HTTP status: 503 Service Unavailable":                      "image_unreachable",
	} {
		wantFault(t, pullFault("x", "linux/amd64", errText(said)), code)
	}
}

type errText string

func (e errText) Error() string { return string(e) }

func TestImageNamesThatAreNone(t *testing.T) {
	for _, ref := range []string{"", "UPPER", "a b", "x@sha256:12"} {
		_, err := parseReference(ref)
		wantFault(t, err, "image_invalid")
	}
}
