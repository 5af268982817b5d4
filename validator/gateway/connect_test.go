package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPublic(t *testing.T) {
	for text, want := range map[string]bool{
		"93.184.216.34": true, "2606:4700::1": true,
		"127.0.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false, "100.64.0.1": false, "0.0.0.0": false,
		"::1": false, "fe80::1": false, "fc00::1": false, "::ffff:10.0.0.1": false, "::ffff:127.0.0.1": false, "64:ff9b::a00:1": false, "2002:a00:1::": false,
		"224.0.0.1": false, "255.255.255.255": false, "ff02::1": false, "::": false, "::10.0.0.1": false, "192.0.2.1": false,
	} {
		if got := public(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// way is a proxy under test, and a client that uses it.
type way struct {
	client *http.Client
	seen   func() []Seen
}

func newWay(t *testing.T, most int64, resolve func(host string) []netip.Addr, places ...string) way {
	t.Helper()
	var mu sync.Mutex
	var all []Seen
	c := NewConnect(places, most, func(s Seen) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, s)
	})
	if resolve != nil {
		c.dialer.resolve = func(_ context.Context, host string) ([]netip.Addr, error) { return resolve(host), nil }
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, l, c) }()
	transport := &http.Transport{
		Proxy:           http.ProxyURL(&url.URL{Scheme: "http", Host: l.Addr().String()}),
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}
	end := sync.OnceFunc(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		transport.CloseIdleConnections()
	})
	t.Cleanup(end)
	return way{&http.Client{Transport: transport, Timeout: 30 * time.Second}, func() []Seen {
		end()
		return all
	}}
}

func TestConnect(t *testing.T) {
	answer := strings.Repeat("x", 300_000)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n, answer)
	}))
	defer server.Close()
	place := server.Listener.Addr().String()
	w := newWay(t, 10<<20, nil, place)
	for _, n := range []int{0, 1, 1_000_000} {
		r, err := w.client.Post(server.URL, "text/plain", strings.NewReader(strings.Repeat("y", n)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || string(got) != fmt.Sprint(n)+answer {
			t.Errorf("%d: %d bytes, %v", n, len(got), err)
		}
	}
	w.client.CloseIdleConnections()
	seen := w.seen()
	if len(seen) != 1 || seen[0].Host != place || seen[0].Method != "CONNECT" || seen[0].Status != 200 || seen[0].Bytes < 1_900_000 || seen[0].Elapsed <= 0 {
		t.Errorf("%+v", seen)
	}
}

func TestConnectRefuses(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "reached") }))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	inside := func(string) []netip.Addr {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::ffff:127.0.0.1")}
	}
	for name, c := range map[string]struct {
		url    string
		places []string
		status int
	}{
		"not listed":           {"https://127.0.0.1:" + port, []string{"127.0.0.1:1"}, 403},
		"another name":         {"https://localhost:" + port, []string{"127.0.0.1:" + port}, 403},
		"a name that is ours":  {"https://packages.example:" + port, []string{"packages.example:" + port}, 502},
		"without TLS":          {"http://127.0.0.1:" + port, []string{"127.0.0.1:" + port}, 405},
		"nothing listed":       {"https://127.0.0.1:" + port, nil, 403},
		"another port":         {"https://127.0.0.1:1", []string{"127.0.0.1:" + port}, 403},
		"nobody listens there": {"https://127.0.0.1:1", []string{"127.0.0.1:1"}, 502},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWay(t, 1<<20, inside, c.places...)
			r, err := w.client.Get(c.url)
			if err == nil {
				if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), "reached") {
					t.Error("it was reached")
				}
				r.Body.Close()
			}
			if seen := w.seen(); len(seen) != 1 || seen[0].Status != c.status || seen[0].Detail == "" || seen[0].Bytes != 0 {
				t.Errorf("%+v", seen)
			}
		})
	}
}

// The address that was found good is the one that is dialled, though the name leads elsewhere a moment later.
func TestConnectDialsWhatItChecked(t *testing.T) {
	asked := 0
	d := dialer{resolve: func(context.Context, string) ([]netip.Addr, error) {
		asked++
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}}
	if _, err := d.dial(t.Context(), "example.com", "1"); err == nil || !strings.Contains(err.Error(), "private networks") || asked != 1 {
		t.Errorf("%v, asked %d times", err, asked)
	}
}

func TestConnectCarriesNoMoreThanTheMost(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write(make([]byte, 1<<20))
	}))
	defer server.Close()
	w := newWay(t, 200_000, nil, server.Listener.Addr().String())
	r, err := w.client.Get(server.URL)
	if err == nil {
		var n int64
		n, err = io.Copy(io.Discard, r.Body)
		r.Body.Close()
		if n > 200_000 {
			t.Errorf("%d bytes came", n)
		}
	}
	if err == nil {
		t.Error("all of it came")
	}
	if _, err := w.client.Get(server.URL); err == nil {
		t.Error("and more")
	}
	seen := w.seen()
	slices.SortFunc(seen, func(a, b Seen) int { return a.Status - b.Status })
	if len(seen) != 2 || seen[0].Bytes > 200_000 || seen[0].Detail == "" || seen[1].Status != 403 {
		t.Errorf("%+v", seen)
	}
}

// The end of the way ends what is under way, though neither side of a tunnel says anything.
func TestServeEnds(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	w := newWay(t, 1<<20, nil, silent.Addr().String())
	proxy, err := w.client.Transport.(*http.Transport).Proxy(&http.Request{URL: &url.URL{Scheme: "https", Host: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", proxy.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", silent.Addr())
	if n, err := c.Read(make([]byte, 12)); n != 12 || err != nil {
		t.Fatal(n, err)
	}
	if seen := w.seen(); len(seen) != 1 || seen[0].Status != 200 {
		t.Errorf("%+v", seen)
	}
	if _, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the tunnel stands")
	}
}
