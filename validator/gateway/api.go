package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"strings"
	"sync/atomic"
	"time"
)

// RouteAPI is the way to the API of a model.
const RouteAPI = "api"

// Upstream is the one API that a box may speak to.
type Upstream struct {
	URL     *url.URL // https, or http on this machine; its path stands before that of each request
	Header  string   // which carries the key: "X-Api-Key", "Authorization"
	Value   string   // of that header; a secret
	Private bool     // its name may lead into a private network: somebody chose it, and not the box
}

// Limits bound what a box may ask of an API, all its requests together. All must be positive.
type Limits struct {
	Requests int64
	Bytes    int64 // of bodies, in both directions
	Tokens   int64 // that the API says were used, in and out; known only when an answer ends
}

// Used is what was asked of it so far.
type Used struct {
	Requests, Bytes, In, Out int64
}

// API passes requests on to its upstream: plain HTTP inside, what the upstream speaks outside. The key is added here, and
// whatever the client sent in its place is taken out; an answer is passed on as it comes.
type API struct {
	upstream Upstream
	limits   Limits
	seen     func(Seen)
	proxy    *httputil.ReverseProxy

	requests, bytes, in, out atomic.Int64
	over                     atomic.Pointer[string]
}

// stripped are the headers of a request that could carry somebody's rights.
var stripped = []string{"Authorization", "X-Api-Key", "Api-Key", "Proxy-Authorization", "Cookie", "Accept-Encoding"}

// answerTime is how long an upstream may take to begin its answer: a model may think for minutes.
const answerTime = 15 * time.Minute

// NewAPI makes the way to u. seen is told of each request when it has ended, by several at once. Close it.
func NewAPI(u Upstream, limits Limits, seen func(Seen)) *API {
	a := &API{upstream: u, limits: limits, seen: seen}
	d := dialer{resolve: lookup, private: u.Private}
	transport := &http.Transport{
		Proxy: nil, // the address that was found good is the one that is dialled
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			host, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			return d.dial(ctx, host, port)
		},
		DisableCompression: true, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: dialTime, ResponseHeaderTimeout: answerTime, IdleConnTimeout: time.Minute,
	}
	a.proxy = &httputil.ReverseProxy{
		Rewrite: a.rewrite, Transport: transport, FlushInterval: -1,
		ModifyResponse: a.answered,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			task(r).Detail = err.Error()
			if why := a.over.Load(); why != nil {
				refuse(w, http.StatusForbidden, *why)
				return
			}
			refuse(w, http.StatusBadGateway, "the API cannot be reached")
		},
		ErrorLog: log.New(io.Discard, "", 0),
	}
	return a
}

// Close lets go of connections that are kept.
func (a *API) Close() { a.proxy.Transport.(*http.Transport).CloseIdleConnections() }

// Used tells what was asked so far.
func (a *API) Used() Used {
	return Used{Requests: a.requests.Load(), Bytes: a.bytes.Load(), In: a.in.Load(), Out: a.out.Load()}
}

// Over says which limit was passed; empty where none was.
func (a *API) Over() string {
	if why := a.over.Load(); why != nil {
		return *why
	}
	return ""
}

// exchange is one request under way.
type exchange struct {
	Seen
	carried atomic.Int64
}

type exchangeKey struct{}

func task(r *http.Request) *exchange { return r.Context().Value(exchangeKey{}).(*exchange) }

// ServeHTTP passes one request on, or says why not.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	x := &exchange{Seen: Seen{Route: RouteAPI, Method: r.Method, Host: a.upstream.URL.Host}}
	written := &statusWriter{ResponseWriter: w}
	defer func() {
		x.Status, x.Bytes, x.Elapsed = written.status, x.carried.Load(), time.Since(began)
		a.seen(x.Seen)
		if p := recover(); p != nil {
			panic(p) // an answer that broke off: the server ends the connection
		}
	}()
	no := func(status int, detail string) {
		x.Detail = detail
		refuse(written, status, detail)
	}
	if clean := path.Clean("/" + r.URL.Path); clean != strings.TrimSuffix(r.URL.Path, "/") && r.URL.Path != "/" || r.Header.Get("Upgrade") != "" || r.Method == http.MethodConnect {
		no(http.StatusBadRequest, "this way carries plain requests to one API")
		return
	}
	if a.requests.Add(1) > a.limits.Requests {
		a.pass(fmt.Sprintf("more than %d requests", a.limits.Requests))
	}
	if why := a.Over(); why != "" {
		no(http.StatusForbidden, why)
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	if r.Body != nil {
		r.Body = &counted{ReadCloser: r.Body, a: a, x: x}
	}
	a.proxy.ServeHTTP(written, r)
}

// pass notes that a limit was passed: nothing more is passed on.
func (a *API) pass(what string) {
	why := "a limit of this run was reached: " + what
	a.over.CompareAndSwap(nil, &why)
}

func (a *API) rewrite(p *httputil.ProxyRequest) {
	p.SetURL(a.upstream.URL)
	p.Out.Host = a.upstream.URL.Host
	for _, name := range stripped {
		p.Out.Header.Del(name)
	}
	p.Out.Header.Set(a.upstream.Header, a.upstream.Value)
}

// answered counts what an answer carries and what it says was used.
func (a *API) answered(r *http.Response) error {
	r.Header.Del("Set-Cookie")
	x := task(r.Request)
	r.Body = &counted{ReadCloser: r.Body, a: a, x: x, usage: newUsage(r.Header.Get("Content-Type")), answer: true}
	return nil
}

// counted is a body of a request or an answer.
type counted struct {
	io.ReadCloser
	a      *API
	x      *exchange
	usage  *usage
	answer bool
	ended  bool
}

var errOver = errors.New("a limit of this run was reached")

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.x.carried.Add(int64(n))
	if c.a.bytes.Add(int64(n)) > c.a.limits.Bytes {
		c.a.pass(fmt.Sprintf("more than %d bytes", c.a.limits.Bytes))
		return 0, errOver
	}
	if c.usage != nil {
		c.usage.Write(p[:n])
	}
	if err != nil {
		c.end()
	}
	return n, err
}

func (c *counted) Close() error {
	c.end()
	return c.ReadCloser.Close()
}

// end adds what the answer said was used.
func (c *counted) end() {
	if c.usage == nil || c.ended {
		return
	}
	c.ended = true
	in, out := c.usage.total()
	if c.a.in.Add(in)+c.a.out.Add(out) > c.a.limits.Tokens {
		c.a.pass(fmt.Sprintf("more than %d tokens", c.a.limits.Tokens))
	}
}

// refuse answers in the form that clients of both APIs read.
func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Should-Retry", "false")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]any{ //nolint:errcheck // the client may be gone
		"type": "error", "error": map[string]string{"type": "permission_error", "message": "trkr-validate: " + message},
	})
}

// statusWriter remembers what was answered.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	if status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets an answer be flushed as it comes.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
