package gateway

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/place"
)

// Connect is an HTTP proxy for tunnels alone, to places of a list and nowhere else.
type Connect struct {
	places []string
	bytes  atomic.Int64 // that may still be carried
	seen   func(Seen)
	dialer dialer
}

// NewConnect allows tunnels to places, each as place.Parse gave it, which carry at most most bytes together. seen is told
// of each request when it has ended, by several at once.
func NewConnect(places []string, most int64, seen func(Seen)) *Connect {
	c := &Connect{places: places, seen: seen, dialer: dialer{resolve: lookup}}
	c.bytes.Store(most)
	return c
}

// ServeHTTP opens a tunnel, or says why not.
func (c *Connect) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	s := Seen{Route: RouteConnect, Method: r.Method, Host: r.Host}
	defer func() {
		s.Elapsed = time.Since(began)
		c.seen(s)
	}()
	refuse := func(status int, detail string) {
		s.Status, s.Detail = status, detail
		http.Error(w, "trkr-validate: "+detail, status)
	}
	if r.Method != http.MethodConnect {
		refuse(http.StatusMethodNotAllowed, "this proxy only opens tunnels (https)")
		return
	}
	asked, err := place.Parse(r.Host)
	if err != nil || !slices.Contains(c.places, asked) {
		refuse(http.StatusForbidden, fmt.Sprintf("%s is not in the list of places that may be reached", r.Host))
		return
	}
	if c.bytes.Load() <= 0 {
		refuse(http.StatusForbidden, "as much as may be carried has been")
		return
	}
	host, port, _ := net.SplitHostPort(asked) // it is well formed
	out, err := c.dialer.dial(r.Context(), host, port)
	if err != nil {
		refuse(http.StatusBadGateway, err.Error())
		return
	}
	defer out.Close()
	in, early, err := w.(http.Hijacker).Hijack()
	if err != nil {
		refuse(http.StatusInternalServerError, err.Error())
		return
	}
	defer in.Close()
	s.Status = http.StatusOK
	if _, err := io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		s.Detail = err.Error()
		return
	}
	if s.Bytes = c.tunnel(r.Context(), in, early, out); c.bytes.Load() <= 0 {
		s.Detail = "as much as may be carried has been"
	}
}

// tunnel carries bytes both ways until both sides have ended, one has failed, or the most has been carried.
func (c *Connect) tunnel(ctx context.Context, in net.Conn, early io.Reader, out net.Conn) int64 {
	shut := func() {
		in.Close()
		out.Close()
	}
	defer context.AfterFunc(ctx, shut)()
	var carried atomic.Int64
	var both sync.WaitGroup
	carry := func(to net.Conn, from io.Reader) {
		buf := make([]byte, 32<<10)
		for {
			n, err := from.Read(buf)
			if c.bytes.Add(-int64(n)) < 0 {
				shut()
				return
			}
			carried.Add(int64(n))
			if _, werr := to.Write(buf[:n]); werr != nil {
				shut()
				return
			}
			if err != nil {
				if half, ok := to.(interface{ CloseWrite() error }); ok && err == io.EOF {
					_ = half.CloseWrite() // the other direction may go on
				} else {
					shut()
				}
				return
			}
		}
	}
	both.Go(func() { carry(out, early) })
	both.Go(func() { carry(in, out) })
	both.Wait()
	return carried.Load()
}
