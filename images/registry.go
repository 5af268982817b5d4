package images

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	remotetransport "github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

const (
	// registrySilence is how long a registry may say nothing.
	registrySilence = 30 * time.Second
	// helperPatience is how long a credential helper may take. Some ask a person, who is not there.
	helperPatience = 20 * time.Second
)

// remoteImage is one image of a registry.
type remoteImage struct {
	ref       name.Reference
	text      string // as it was given
	platform  string
	transport *transport
	auth      authn.Authenticator // nil: not looked for yet
	login     string              // for people: whose credential was used
}

// findRemote asks the registry which image a reference names now. Credentials are those of Docker's configuration, or
// Podman's where there is none.
func findRemote(ctx context.Context, text, platform string, silence time.Duration) (*source, error) {
	ref, err := name.ParseReference(text)
	if err != nil {
		return nil, invalidName("the image %q: %w", text, err)
	}
	r := &remoteImage{ref: ref, text: text, platform: platform, transport: newTransport(silence)}
	digest, err := r.resolve(ctx)
	if err != nil {
		r.transport.base.CloseIdleConnections()
		return nil, err
	}
	return &source{
		digest: digest,
		read:   func(ctx context.Context) (*content, error) { return r.read(ctx, digest) },
		close:  func() error { r.transport.base.CloseIdleConnections(); return nil },
	}, nil
}

// options are those of one request. The credential is looked for before the first.
func (r *remoteImage) options(ctx context.Context) ([]remote.Option, error) {
	if r.auth == nil {
		var err error
		if r.auth, err = r.credential(ctx); err != nil {
			return nil, err
		}
	}
	return []remote.Option{
		remote.WithContext(ctx), remote.WithAuth(r.auth), remote.WithTransport(r.transport), remote.WithUserAgent("trkr-validate"),
		remote.WithRetryStatusCodes(http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout),
		remote.WithRetryBackoff(remote.Backoff{Duration: 200 * time.Millisecond, Factor: 3, Steps: 3}),
		remote.WithRetryPredicate(func(err error) bool {
			return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
		}),
	}, nil
}

// resolve gives the digest that the reference names now. Asking for that alone counts against no limit of pulls; some
// registries cannot be asked so.
func (r *remoteImage) resolve(ctx context.Context) (string, error) {
	if d, ok := r.ref.(name.Digest); ok {
		return d.DigestStr(), nil
	}
	options, err := r.options(ctx)
	if err != nil {
		return "", err
	}
	if head, err := remote.Head(r.ref, options...); err == nil {
		return head.Digest.String(), nil
	} else if failed := r.transportFault(ctx, err); failed != nil {
		return "", failed
	}
	got, err := remote.Get(r.ref, options...)
	if err != nil {
		return "", r.fault(ctx, err)
	}
	return got.Digest.String(), nil
}

// read gives the image of a digest, which may be an index.
func (r *remoteImage) read(ctx context.Context, digest string) (*content, error) {
	manifest, stated, err := r.manifest(ctx, digest)
	if err != nil {
		return nil, err
	}
	if stated.IsSchema1() {
		return nil, notImage("the image %q is stored in the form of 2015, which is no longer read", r.text)
	}
	if mediaIsIndex(stated, manifest) {
		d, err := choosePlatform(r.text, r.platform, manifest)
		if err != nil {
			return nil, err
		}
		if manifest, _, err = r.manifest(ctx, d.Digest.String()); err != nil {
			return nil, err
		}
	}
	return readManifest(ctx, r.text, r.platform, manifest, r)
}

func (r *remoteImage) manifest(ctx context.Context, digest string) ([]byte, types.MediaType, error) {
	options, err := r.options(ctx)
	if err != nil {
		return nil, "", err
	}
	got, err := remote.Get(r.ref.Context().Digest(digest), options...)
	if err != nil {
		return nil, "", r.fault(ctx, err)
	}
	return got.Manifest, got.MediaType, nil
}

// open implements blobs.
func (r *remoteImage) open(ctx context.Context, d v1.Descriptor) (io.ReadCloser, error) {
	var body io.ReadCloser
	options, err := r.options(ctx)
	if err != nil {
		return nil, err
	}
	blob, err := remote.Layer(r.ref.Context().Digest(d.Digest.String()), options...)
	if err == nil {
		body, err = blob.Compressed()
	}
	if err != nil {
		return nil, r.fault(ctx, err)
	}
	return verify(body, d, func(err error) error { return r.transportFault(ctx, err) })
}

// isBlob tells a request for a part of an image, also where the registry sent it on to where it keeps them.
func isBlob(req *http.Request) bool {
	for req.Response != nil && req.Response.Request != nil {
		req = req.Response.Request
	}
	return strings.Contains(req.URL.Path, "/blobs/")
}

// credential finds the one for the registry. A helper that does not answer is given up.
func (r *remoteImage) credential(ctx context.Context) (authn.Authenticator, error) {
	type answer struct {
		auth authn.Authenticator
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		auth, err := authn.DefaultKeychain.Resolve(r.ref.Context())
		answered <- answer{auth, err}
	}()
	ctx, cancel := context.WithTimeout(ctx, helperPatience)
	defer cancel()
	hints := []string{"docker login " + r.ref.Context().RegistryStr(), `look at "credsStore" and "credHelpers" in ~/.docker/config.json`}
	select {
	case a := <-answered:
		if a.err != nil {
			return nil, fault.Envf("image_credentials", hints, "finding the credential for %s: %w", r.ref.Context().RegistryStr(), a.err)
		}
		r.login = "no credential was found for it"
		if config, err := a.auth.Authorization(); err == nil && a.auth != authn.Anonymous {
			r.login = "the credential in Docker's configuration was used"
			if config.Username != "" && config.Username != "<token>" {
				r.login = fmt.Sprintf("the credential of %q in Docker's configuration was used", config.Username)
			}
		}
		return a.auth, nil
	case <-ctx.Done():
		return nil, fault.Envf("image_credentials", hints, "the credential helper for %s did not answer within %s", r.ref.Context().RegistryStr(), helperPatience)
	}
}

// transportFault names a failure of the way to the registry; nil where it is another.
func (r *remoteImage) transportFault(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("pulling the image %q: %w", r.text, context.Cause(ctx))
	}
	host := r.ref.Context().RegistryStr()
	hints := []string{
		"check the network, the proxy variables and the registry's name", "or name an image that is here: oci:FOLDER or docker-archive:FILE",
	}
	if silent, ok := errors.AsType[errSilent](err); ok {
		return fault.Envf("image_unreachable", hints, "pulling the image %q: the registry %s is silent: %w", r.text, host, silent)
	}
	_, isNet := errors.AsType[net.Error](err)
	if _, isAnswer := errors.AsType[*remotetransport.Error](err); !isAnswer && (isNet || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.ECONNREFUSED)) {
		return fault.Envf("image_unreachable", hints, "pulling the image %q: the registry %s cannot be reached: %w", r.text, host, err)
	}
	return nil
}

// fault names what a registry answered.
func (r *remoteImage) fault(ctx context.Context, err error) error {
	if failed := r.transportFault(ctx, err); failed != nil {
		return failed
	}
	host := r.ref.Context().RegistryStr()
	login := "docker login " + host
	answer, ok := errors.AsType[*remotetransport.Error](err)
	if !ok {
		if strings.Contains(err.Error(), "does not match requested digest") {
			return fault.Envf("image_digest", []string{useAnother}, "pulling the image %q: %w", r.text, err)
		}
		return fault.Envf("image_unreachable", []string{"make sure that " + host + " is a container registry"}, "pulling the image %q: %w", r.text, err)
	}
	said := firstWords(answer)
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		hint := login
		if answer.StatusCode == http.StatusForbidden {
			hint = "log in as a user who may pull it: " + login
		}
		return fault.Envf("image_unauthorised", []string{hint, "check the image's name: many registries say the same of one that is not there"},
			"the registry %s refuses the image %q (%d): %s: %s", host, r.text, answer.StatusCode, r.login, said)
	case http.StatusNotFound:
		return fault.Envf("image_not_found", []string{"check its name and tag", "if it is private: " + login},
			"the registry %s has no image %q: %s", host, r.text, said)
	case http.StatusTooManyRequests:
		hint, when := "wait, then run again", r.transport.retryAfter()
		if when != "" {
			hint = "run again in " + when + " s"
			if strings.ContainsAny(when, " :") {
				hint = "run again after " + when
			}
		}
		return fault.Envf("image_rate_limited", []string{hint, "a logged-in user may pull more: " + login, "an image named by its digest is asked for once, and then kept"},
			"the registry %s gives no more pulls for now of the image %q; %s: %s", host, r.text, r.login, said)
	}
	return fault.Envf("image_unreachable", []string{"run again later, or ask who runs " + host},
		"pulling the image %q: the registry %s answers %d: %s", r.text, host, answer.StatusCode, said)
}

// firstWords is what a registry says of an error, as far as it fits a line.
func firstWords(answer *remotetransport.Error) string {
	var text bytes.Buffer
	for _, d := range answer.Errors {
		fmt.Fprintf(&text, "%s %s; ", d.Code, d.Message)
	}
	said := strings.TrimSuffix(text.String(), "; ")
	if said == "" {
		said = http.StatusText(answer.StatusCode)
	}
	said = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, said)
	return strings.ToValidUTF8(said[:min(len(said), 300)], "")
}
