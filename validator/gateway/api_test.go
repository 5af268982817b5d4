package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

const key = "sk-the-real-key"

var plenty = Limits{Requests: 100, Bytes: 10 << 20, Tokens: 1 << 20}

// model is an API behind a way that is under test.
type model struct {
	api *API
	url string
	end func()
	mu  sync.Mutex
	all []Seen
}

func newModel(t *testing.T, limits Limits, base string, answer http.HandlerFunc) *model {
	t.Helper()
	server := httptest.NewServer(answer)
	u, err := url.Parse(server.URL + base)
	if err != nil {
		t.Fatal(err)
	}
	m := &model{}
	m.api = NewAPI(Upstream{URL: u, Header: "X-Api-Key", Value: key}, limits, func(s Seen) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.all = append(m.all, s)
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m.url = "http://" + l.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, l, m.api) }()
	m.end = sync.OnceFunc(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		m.end()
		m.api.Close()
		server.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return m
}

// seen ends the way, so that it has told of all there was.
func (m *model) seen() []Seen {
	m.end()
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Seen(nil), m.all...)
}

// ask sends one request and returns the answer's status and body; no status where none came.
func (m *model) ask(t *testing.T, method, path, body string, headers ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(method, m.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	got, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return 0, err.Error()
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		text = append(text, "; cut off"...)
	}
	return got.StatusCode, string(text)
}

func TestAPIAddsTheKeyAndTakesOutWhatTheClientSent(t *testing.T) {
	var got http.Header
	var asked string
	m := newModel(t, plenty, "/base", func(w http.ResponseWriter, r *http.Request) {
		got, asked = r.Header.Clone(), r.Host+r.URL.String()
		w.Header().Set("Set-Cookie", "a=b")
		io.Copy(w, r.Body)
	})
	status, body := m.ask(t, "POST", "/v1/messages?beta=true", "hello", "X-Api-Key", "dummy", "Authorization", "Bearer dummy",
		"Api-Key", "dummy", "Cookie", "dummy", "Proxy-Authorization", "dummy", "Accept-Encoding", "gzip", "Anthropic-Version", "2023-06-01")
	if status != 200 || body != "hello" {
		t.Errorf("%d %q", status, body)
	}
	for name, values := range got {
		if strings.Contains(strings.Join(values, " "), "dummy") {
			t.Errorf("%s: %q went through", name, values)
		}
	}
	if got.Get("X-Api-Key") != key || got.Get("Anthropic-Version") != "2023-06-01" || got.Get("X-Forwarded-For") != "" || got.Get("Accept-Encoding") != "" {
		t.Errorf("%v", got)
	}
	if !strings.HasSuffix(asked, "/base/v1/messages?beta=true") || strings.Contains(asked, m.url[7:]) {
		t.Errorf("asked for %s", asked)
	}
	seen := m.seen()
	if len(seen) != 1 || seen[0].Route != RouteAPI || seen[0].Status != 200 || seen[0].Bytes != 10 || seen[0].Method != "POST" || strings.Contains(fmt.Sprint(seen), key) {
		t.Errorf("%+v", seen)
	}
}

// Each piece of an answer is here before the next one is made.
func TestAPIPassesOnAStreamAsItComes(t *testing.T) {
	next := make(chan struct{})
	m := newModel(t, plenty, "", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n", i)
			w.(http.Flusher).Flush()
			<-next
		}
	})
	r, err := http.Get(m.url + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	lines := bufio.NewScanner(r.Body)
	for i := range 3 {
		if !lines.Scan() || lines.Text() != fmt.Sprintf("data: %d", i) {
			t.Fatalf("%q, %v", lines.Text(), lines.Err())
		}
		next <- struct{}{}
	}
}

func TestAPIRefuses(t *testing.T) {
	reached := 0
	m := newModel(t, plenty, "/base", func(http.ResponseWriter, *http.Request) { reached++ })
	for path, headers := range map[string][]string{
		"/../admin": nil, "/v1/%2e%2e/%2e%2e/admin": nil, "//admin": nil, "/v1/./x": nil,
		"/v1": {"Upgrade", "websocket", "Connection", "Upgrade"},
	} {
		if status, body := m.ask(t, "GET", path, "", headers...); status != 400 || !strings.Contains(body, `"type":"error"`) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if reached > 0 {
		t.Errorf("%d requests went through", reached)
	}
}

func TestAPILimits(t *testing.T) {
	for name, c := range map[string]struct {
		limits Limits
		over   string
	}{
		"requests": {Limits{2, 1 << 20, 1 << 20}, "2 requests"},
		"bytes":    {Limits{100, 250, 1 << 20}, "250 bytes"},
		"tokens":   {Limits{100, 1 << 20, 25}, "25 tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, c.limits, "", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"usage": {"input_tokens": 10, "output_tokens": 3}, "x": %q}`, strings.Repeat("x", 50))
			})
			for range 2 {
				if status, body := m.ask(t, "POST", "/v1", ""); status != 200 || !strings.Contains(body, "xxx") {
					t.Fatalf("%d %q", status, body)
				}
			}
			for range 2 {
				m.ask(t, "POST", "/v1", "")
			}
			status, body := m.ask(t, "POST", "/v1", "")
			var e struct {
				Error struct{ Type, Message string }
			}
			if err := json.Unmarshal([]byte(body), &e); err != nil || status != 403 || !strings.Contains(e.Error.Message, c.over) {
				t.Errorf("%d %s", status, body)
			}
			if !strings.Contains(m.api.Over(), c.over) {
				t.Errorf("%q", m.api.Over())
			}
		})
	}
}

func TestAPIThatIsNotThere(t *testing.T) {
	gone := newModel(t, plenty, "", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	status, body := gone.ask(t, "POST", "/v1", "")
	if status != 502 || strings.Contains(body, "127.0.0.1") {
		t.Errorf("%d %s", status, body)
	}
	if seen := gone.seen(); len(seen) != 1 || seen[0].Status != 502 || seen[0].Detail == "" {
		t.Errorf("%+v", seen)
	}
	cut := newModel(t, plenty, "", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "half")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	if status, body := cut.ask(t, "POST", "/v1", ""); status != 200 || body != "half; cut off" {
		t.Errorf("%d %q", status, body)
	}
	redirect := newModel(t, plenty, "", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "https://example.com", 307) })
	if status, _ := redirect.ask(t, "GET", "/v1", ""); status != 307 {
		t.Errorf("a redirect was followed: %d", status)
	}
}

// A name that leads to this machine is not followed, unless somebody chose it.
func TestAPIOfAPrivateName(t *testing.T) {
	for _, private := range []bool{false, true} {
		server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		u, err := url.Parse(strings.Replace(server.URL, "127.0.0.1", "localhost", 1))
		if err != nil {
			t.Fatal(err)
		}
		a := NewAPI(Upstream{URL: u, Header: "Authorization", Value: "Bearer " + key, Private: private}, plenty, func(Seen) {})
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if want := map[bool]int{false: 502, true: 200}[private]; w.Code != want {
			t.Errorf("private %v: %d %s", private, w.Code, w.Body)
		}
		a.Close()
		server.Close()
	}
}

func TestUsage(t *testing.T) {
	for name, c := range map[string]struct {
		kind, text string
		in, out    int64
	}{
		"one document":     {"application/json", `{"id": "x", "usage": {"input_tokens": 12, "cache_read_input_tokens": 5, "output_tokens": 7}}`, 17, 7},
		"the other API":    {"application/json", `{"usage": {"prompt_tokens": 12, "completion_tokens": 7, "total_tokens": 19}}`, 12, 7},
		"a stream":         {"text/event-stream; charset=utf-8", "event: message_start\ndata: {\"message\": {\"usage\": {\"input_tokens\": 25, \"output_tokens\": 1}}}\n\ndata: {\"type\": \"message_delta\", \"usage\": {\"output_tokens\": 15}}\n\n", 25, 15},
		"its last line":    {"text/event-stream", `data: {"response": {"usage": {"input_tokens": 3, "output_tokens": 4}}}`, 3, 4},
		"nothing":          {"application/json", `{"error": {"message": "no"}}`, 0, 0},
		"no JSON":          {"text/html", `<p>"usage"</p>`, 0, 0},
		"below nothing":    {"application/json", `{"usage": {"input_tokens": -5, "output_tokens": -1}}`, 0, 0},
		"text that claims": {"text/event-stream", "data: {\"delta\": {\"text\": \"\\\"usage\\\": {\\\"input_tokens\\\": 9}\"}}\n", 0, 0},
	} {
		for _, piece := range []int{1, 7, len(c.text)} {
			u := newUsage(c.kind)
			for rest := c.text; rest != ""; {
				n := min(piece, len(rest))
				u.Write([]byte(rest[:n]))
				rest = rest[n:]
			}
			if in, out := u.total(); in != c.in || out != c.out {
				t.Errorf("%s in pieces of %d: %d, %d", name, piece, in, out)
			}
		}
	}
	u := newUsage("text/event-stream")
	for range 3 {
		u.Write(make([]byte, maxUsage/2)) // a line that is too long is passed over
	}
	u.Write([]byte("\ndata: {\"usage\": {\"output_tokens\": 2}}\n"))
	if _, out := u.total(); out != 2 || cap(u.buf) > 2*maxUsage {
		t.Errorf("%d, %d", out, cap(u.buf))
	}
}

// What a stream costs in time is nothing a person would notice: the first byte through the way, against one without it.
func BenchmarkAPIFirstByte(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "x") }))
	defer server.Close()
	u, err := url.Parse(server.URL)
	if err != nil {
		b.Fatal(err)
	}
	a := NewAPI(Upstream{URL: u, Header: "X-Api-Key", Value: key}, Limits{1 << 40, 1 << 40, 1 << 40}, func(Seen) {})
	defer a.Close()
	way := httptest.NewServer(a)
	defer way.Close()
	var through, bare time.Duration
	get := func(url string) time.Duration {
		began := time.Now()
		r, err := http.Get(url)
		if err != nil {
			b.Fatal(err)
		}
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
		return time.Since(began)
	}
	n := 0
	for b.Loop() {
		through, bare, n = through+get(way.URL), bare+get(server.URL), n+1
	}
	b.ReportMetric(float64((through-bare).Microseconds())/float64(n), "µs-more")
}
