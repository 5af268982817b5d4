package images

import (
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// misbehaving is a registry in memory whose answers a test may take over: odd reports whether it answered.
type misbehaving struct {
	http.Handler
	odd atomic.Pointer[func(w http.ResponseWriter, r *http.Request) bool]
}

func (m *misbehaving) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if odd := m.odd.Load(); odd == nil || !(*odd)(w, r) {
		m.Handler.ServeHTTP(w, r)
	}
}

func newRegistry(t *testing.T) (m *misbehaving, host string) {
	t.Helper()
	t.Setenv("HOME", t.TempDir()) // no credential of this machine's user
	t.Setenv("DOCKER_CONFIG", "")
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("REGISTRY_AUTH_FILE", "")
	m = &misbehaving{Handler: registry.New(registry.Logger(log.New(io.Discard, "", 0)))}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	return m, strings.TrimPrefix(server.URL, "http://")
}

func push(t *testing.T, ref string, what remote.Taggable) {
	t.Helper()
	parsed, err := name.ParseReference(ref)
	must(t, err)
	switch what := what.(type) {
	case v1.Image:
		must(t, remote.Write(parsed, what))
	case v1.ImageIndex:
		must(t, remote.WriteIndex(parsed, what))
	}
}

// indexOf holds an image for this platform beside one for another and a statement about both.
func indexOf(t *testing.T, image v1.Image) v1.ImageIndex {
	t.Helper()
	config, err := image.ConfigFile()
	must(t, err)
	at := func(os, arch string) v1.Descriptor {
		return v1.Descriptor{Platform: &v1.Platform{OS: os, Architecture: arch}}
	}
	return mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: imageFor(t, "s390x", tarOf(t, file("a", "another"))), Descriptor: at("linux", "s390x")},
		mutate.IndexAddendum{Add: image, Descriptor: at("linux", config.Architecture)},
		mutate.IndexAddendum{Add: mutate.MediaType(empty.Image, types.OCIManifestSchema1), Descriptor: at("unknown", "unknown")})
}

// A reference is asked for once, without a pull; the image comes once, and then from the cache.
func TestPulledOnce(t *testing.T) {
	m, host := newRegistry(t)
	ref := host + "/team/tool:1"
	index := indexOf(t, imageOf(t, tarOf(t, file("a", "1"))))
	push(t, ref, index)
	var heads, gets atomic.Int32
	count := func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.Path, "/manifests/") && r.Method == http.MethodHead {
			heads.Add(1)
		} else if r.URL.Path != "/v2/" {
			gets.Add(1)
		}
		return false
	}
	m.odd.Store(&count)
	s := newStore(t)
	r := open(t, s, Request{Name: ref})
	if read(t, r, "a") != "1" || r.Digest != digestOfImage(t, index) {
		t.Errorf("got %+v", r)
	}
	if heads.Load() != 1 {
		t.Errorf("asked %d times", heads.Load())
	}
	push(t, ref, imageOf(t, tarOf(t, file("a", "2")))) // the tag moves on
	asked, got := heads.Load(), gets.Load()
	if again := open(t, s, Request{Name: ref}); again.Digest != r.Digest {
		t.Error("two boxes of one program got different images")
	}
	if heads.Load() != asked || gets.Load() != got {
		t.Errorf("asked %d times and then %d, got %d and then %d", asked, heads.Load(), got, gets.Load())
	}
	if now := open(t, NewStore(s.dir, "amd64"), Request{Name: ref}); r.Digest == now.Digest {
		t.Error("another program got the old image for the tag")
	}
	broken := func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusTeapot); return true }
	m.odd.Store(&broken)
	if pinned := open(t, NewStore(s.dir, strings.TrimPrefix(s.platform, "linux/")), Request{Name: host + "/team/tool@" + r.Digest}); read(t, pinned, "a") != "1" {
		t.Error("an image that is there, by its digest")
	}
}

// A registry that cannot tell a digest alone is asked for the manifest.
func TestWithoutHead(t *testing.T) {
	m, host := newRegistry(t)
	ref := host + "/tool"
	push(t, ref, imageOf(t, tarOf(t, file("a", "1"))))
	odd := func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
		return r.Method == http.MethodHead
	}
	m.odd.Store(&odd)
	if r := open(t, newStore(t), Request{Name: ref}); read(t, r, "a") != "1" {
		t.Error("another image")
	}
}

// Each way in which a registry can fail has a name of its own, within a bounded time, and leaves nothing.
func TestPullsThatFail(t *testing.T) {
	m, host := newRegistry(t)
	ref := host + "/team/tool:1"
	image := imageOf(t, tarOf(t, file("a", strings.Repeat("content", 1000))))
	push(t, ref, image)
	push(t, host+"/other:1", imageFor(t, "s390x", tarOf(t, file("a", "1"))))
	push(t, host+"/chart:1", mutate.ConfigMediaType(image, "application/vnd.cncf.helm.config.v1+json"))
	push(t, host+"/windows:1", indexOf(t, imageFor(t, "riscv64", tarOf(t))))
	push(t, host+"/encrypted:1", func() v1.Image {
		layers, err := image.Layers()
		must(t, err)
		odd, err := mutate.Append(imageOf(t), mutate.Addendum{Layer: layers[0], MediaType: "application/vnd.oci.image.layer.v1.tar+gzip+encrypted"})
		must(t, err)
		return odd
	}())
	layers, err := image.Layers()
	must(t, err)
	layer, err := layers[0].Digest()
	must(t, err)
	stored, err := layers[0].Compressed()
	must(t, err)
	data, err := io.ReadAll(stored)
	must(t, err)
	over := make(chan struct{})
	defer close(over)
	status := func(code int, header, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			if k, v, ok := strings.Cut(header, ": "); ok {
				w.Header().Set(k, v)
			}
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
			return true
		}
	}
	blob := func(answer func(w http.ResponseWriter)) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			is := strings.HasSuffix(r.URL.Path, "/blobs/"+layer.String())
			if is {
				answer(w)
			}
			return is
		}
	}
	for name, c := range map[string]struct {
		ref   string
		odd   func(http.ResponseWriter, *http.Request) bool
		code  string
		words []string
	}{
		"not there":       {host + "/team/tool:2", nil, "image_not_found", []string{"tool:2"}},
		"no repository":   {host + "/none", nil, "image_not_found", []string{"docker login"}},
		"unauthorised":    {ref, status(401, `WWW-Authenticate: Basic realm="x"`, `{"errors":[{"code":"UNAUTHORIZED","message":"log in"}]}`), "image_unauthorised", []string{"no credential was found", "docker login " + host}},
		"forbidden":       {ref, status(403, "", `{"errors":[{"code":"DENIED","message":"not yours"}]}`), "image_unauthorised", []string{"not yours"}},
		"too many":        {ref, status(429, "Retry-After: 17", `{"errors":[{"code":"TOOMANYREQUESTS","message":"slow\u001b[2Jdown"}]}`), "image_rate_limited", []string{"run again in 17 s", "slow [2Jdown"}},
		"too many, until": {ref, status(429, "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT", ""), "image_rate_limited", []string{"run again after Wed, 21 Oct 2015"}},
		"broken":          {ref, status(500, "", "oh"), "image_unreachable", []string{"answers 500"}},
		"unavailable":     {ref, status(503, "", ""), "image_unreachable", []string{"answers 503"}},
		"no registry":     {ref, status(200, "Content-Type: text/html", "<html>"), "image_damaged", nil},
		"silent":          {ref, func(http.ResponseWriter, *http.Request) bool { <-over; return true }, "image_unreachable", []string{"silent"}},
		"silent midway": {ref, blob(func(w http.ResponseWriter) {
			_, _ = w.Write(data[:10])
			w.(http.Flusher).Flush()
			<-over
		}), "image_unreachable", []string{"silent"}},
		"a dribble": {ref, blob(func(w http.ResponseWriter) {
			for _, b := range data {
				_, _ = w.Write([]byte{b})
				w.(http.Flusher).Flush()
				select {
				case <-over:
					return
				case <-time.After(50 * time.Millisecond):
				}
			}
		}), "image_unreachable", []string{"silent"}},
		"truncated": {ref, blob(func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", fmt.Sprint(len(data)))
			_, _ = w.Write(data[:len(data)/2])
		}), "image_truncated", []string{layer.String()}},
		"shorter":       {ref, blob(func(w http.ResponseWriter) { _, _ = w.Write(data[:len(data)-1]) }), "image_truncated", nil},
		"longer":        {ref, blob(func(w http.ResponseWriter) { _, _ = w.Write(append(data[:len(data):len(data)], 0)) }), "image_damaged", []string{"longer"}},
		"another layer": {ref, blob(func(w http.ResponseWriter) { _, _ = w.Write(make([]byte, len(data))) }), "image_digest", []string{layer.String()}},
		"a lost layer":  {ref, blob(func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) }), "image_not_found", nil},
		"endless": {ref, func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/manifests/") || r.Method != http.MethodGet {
				return false
			}
			for piece := make([]byte, 1<<20); ; {
				if _, err := w.Write(piece); err != nil {
					return true
				}
			}
		}, "image_unreachable", []string{"larger than"}},
		"another manifest": {host + "/team/tool@sha256:" + strings.Repeat("1", 64), func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "/manifests/") {
				_, _ = io.WriteString(w, `{"schemaVersion":2}`)
				return true
			}
			return false
		}, "image_digest", nil},
		"another platform": {host + "/other:1", nil, "image_wrong_platform", []string{"linux/s390x"}},
		"other platforms":  {host + "/windows:1", nil, "image_wrong_platform", []string{"linux/s390x, linux/riscv64"}},
		"a chart":          {host + "/chart:1", nil, "image_not_image", []string{"helm"}},
		"an encrypted one": {host + "/encrypted:1", nil, "image_not_image", []string{"encrypted"}},
		"nobody":           {"127.0.0.1:1/tool", nil, "image_unreachable", []string{"cannot be reached"}},
	} {
		t.Run(name, func(t *testing.T) {
			m.odd.Store(nil)
			if c.odd != nil {
				m.odd.Store(&c.odd)
			}
			s := newStore(t)
			s.silence = 400 * time.Millisecond
			began := time.Now()
			_, err := s.Open(t.Context(), Request{Name: c.ref})
			wantFault(t, err, c.code, c.words...)
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %s", took)
			}
			left(t, s)
		})
	}
}

// Docker's credentials are used, and named where they do not open the door; a helper that hangs or fails is named.
func TestCredentials(t *testing.T) {
	m, host := newRegistry(t)
	ref := host + "/team/tool:1"
	push(t, ref, imageOf(t, tarOf(t, file("a", "1"))))
	odd := func(w http.ResponseWriter, r *http.Request) bool {
		if user, password, _ := r.BasicAuth(); user == "alice" && password == "good" {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
	m.odd.Store(&odd)
	config := filepath.Join(os.Getenv("HOME"), ".docker/config.json")
	must(t, os.Mkdir(filepath.Dir(config), 0o700))
	auth := func(login string) string {
		return fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, host, base64.StdEncoding.EncodeToString([]byte(login)))
	}
	must(t, os.WriteFile(config, []byte(auth("alice:good")), 0o600))
	if r := open(t, newStore(t), Request{Name: ref}); read(t, r, "a") != "1" {
		t.Error("another image")
	}
	must(t, os.WriteFile(config, []byte(auth("alice:stale-secret")), 0o600))
	_, err := newStore(t).Open(t.Context(), Request{Name: ref})
	wantFault(t, err, "image_unauthorised", `the credential of "alice"`, "docker login "+host)
	if strings.Contains(err.Error(), "stale-secret") {
		t.Errorf("the secret is told: %v", err)
	}
	bin := t.TempDir()
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	must(t, os.WriteFile(config, []byte(`{"credsStore":"tested"}`), 0o600))
	helper := filepath.Join(bin, "docker-credential-tested")
	must(t, os.WriteFile(helper, []byte("#!/bin/sh\necho '{\"Username\":\"alice\",\"Secret\":\"good\"}'\n"), 0o700))
	if r := open(t, newStore(t), Request{Name: ref}); read(t, r, "a") != "1" {
		t.Error("another image")
	}
	must(t, os.WriteFile(helper, []byte("#!/bin/sh\necho no keyring; exit 1\n"), 0o700))
	s := newStore(t)
	_, err = s.Open(t.Context(), Request{Name: ref})
	wantFault(t, err, "image_credentials", "no keyring", "docker login")

	// An image that is there needs no credential, and nothing else, where its digest is named.
	must(t, os.WriteFile(config, []byte(auth("alice:good")), 0o600))
	r := open(t, s, Request{Name: ref})
	must(t, os.WriteFile(config, []byte("{broken"), 0o600))
	open(t, s, Request{Name: host + "/team/tool@" + r.Digest})
}
