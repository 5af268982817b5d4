// Package gateway carries what comes out of a box to the few places outside that it may reach. The box has no network:
// it has a port of its loopback whose connections come out here, and this package decides what becomes of them. It
// opens no socket that anybody could connect to.
package gateway

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// Seen is one request that came out of a box, without its headers and its body.
type Seen struct {
	Route   string // which way it took: RouteConnect
	Method  string
	Host    string // host:port that was asked for
	Status  int    // what was answered
	Bytes   int64  // in both directions, of what was carried
	Elapsed time.Duration
	Detail  string // why it was refused, or failed
}

// RouteConnect is the way of a tunnel to a place of a list.
const RouteConnect = "connect"

const (
	headerTime  = 30 * time.Second // for a client to send its request
	headerBytes = 16 << 10
)

// Serve answers what comes out of l with h, until ctx ends or l is closed. Then it ends what is under way, closes l and
// returns; the error is one of l's own.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	base, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	var busy sync.WaitGroup
	counted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		busy.Add(1)
		defer busy.Done()
		h.ServeHTTP(w, r)
	})
	s := &http.Server{
		Handler: counted, ReadHeaderTimeout: headerTime, MaxHeaderBytes: headerBytes,
		BaseContext: func(net.Listener) context.Context { return base },
	}
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	err := s.Serve(l)
	end()
	_, _ = l.Close(), s.Close()
	busy.Wait() // each has lost its connection, and ends
	if ctx.Err() != nil || errors.Is(err, net.ErrClosed) || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
