package images

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// transport is how a registry is spoken to: within limits of time and size, and so that what its answers say beside
// their content can be told afterwards.
type transport struct {
	base    *http.Transport
	silence time.Duration
	mu      sync.Mutex
	retry   string // what the last refusal for too many requests said about when to come again
}

func newTransport(silence time.Duration) *transport {
	return &transport{silence: silence, base: &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: 1 << 20,
	}}
}

// errSilent is why a request ends to which nothing, or next to nothing, is answered.
type errSilent struct{ limit time.Duration }

func (e errSilent) Error() string { return fmt.Sprintf("next to nothing was heard for %s", e.limit) }

// RoundTrip gives up on an answer that does not begin, or does not go on, for the silence. An answer that is no blob
// ends with an error where it is larger than any description of an image.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	watch := time.AfterFunc(t.silence, func() { cancel(errSilent{t.silence}) })
	resp, err := t.base.RoundTrip(req.WithContext(ctx))
	watch.Stop()
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		cancel(nil)
		return nil, err
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		t.mu.Lock()
		t.retry = resp.Header.Get("Retry-After")
		t.mu.Unlock()
	}
	body := &watched{ReadCloser: resp.Body, ctx: ctx, cancel: cancel, watch: watch, silence: t.silence, left: -1}
	if !isBlob(req) || resp.StatusCode != http.StatusOK {
		body.left = maxJSON
	}
	resp.Body = body
	return resp, nil
}

func (t *transport) retryAfter() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.retry
}

// watched is the body of an answer. The time that its reader takes between two reads is not the registry's.
type watched struct {
	io.ReadCloser
	ctx     context.Context
	cancel  context.CancelCauseFunc
	watch   *time.Timer
	silence time.Duration
	left    int64 // bytes that are still taken; negative: all
	got     int64
	took    time.Duration // to hear them
}

// leastPace is, in bytes per second, the pace below which an answer goes on only in form.
const leastPace = 1 << 10

func (w *watched) Read(p []byte) (int, error) {
	began := time.Now()
	w.watch.Reset(w.silence)
	n, err := w.ReadCloser.Read(p)
	w.watch.Stop()
	w.took += time.Since(began)
	w.got += int64(n)
	if err == nil && w.took > 2*w.silence && w.got < leastPace*int64(w.took/time.Second) {
		return n, errSilent{w.silence}
	}
	if err != nil && err != io.EOF {
		if cause := context.Cause(w.ctx); cause != nil {
			err = cause
		}
	}
	if w.left >= 0 {
		if w.left -= int64(n); w.left < 0 {
			return 0, fmt.Errorf("the registry's answer is larger than %d bytes", maxJSON)
		}
	}
	return n, err
}

func (w *watched) Close() error {
	err := w.ReadCloser.Close()
	w.watch.Stop()
	w.cancel(nil)
	return err
}
