package install

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/trkr-dev/trkr-validate/internal/plain"
	"github.com/trkr-dev/trkr-validate/validator/gateway"
)

// connect opens the way to the places that the install may reach. offline, which is never nil, shuts it again.
func (i *installer) connect(ctx context.Context) (offline func(), err error) {
	n := i.req.Network
	if len(n.Places) == 0 {
		return func() {}, nil
	}
	l, err := i.session.Listen(ctx)
	if err != nil {
		return func() {}, fmt.Errorf("opening the install's way to the network: %w", err)
	}
	proxy := "http://" + l.Addr().String()
	for _, name := range []string{"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"} {
		i.proxy = append(i.proxy, name+"="+proxy)
	}
	ctx, cancel := context.WithCancel(ctx)
	served := make(chan error, 1)
	connect := gateway.NewConnect(n.Places, n.Most, func(s gateway.Seen) {
		n.Seen(s)
		if s.Status != http.StatusOK {
			i.refused.CompareAndSwap(nil, &s)
		}
	})
	go func() { served <- gateway.Serve(ctx, l, connect) }()
	return func() {
		cancel()
		i.proxy = nil
		if err := <-served; err != nil {
			i.logErr = errors.Join(i.logErr, i.log.Printf("the install's way to the network: %v", err))
		}
	}, nil
}

// lacked makes of a failure what it is where the install asked for what it may not reach, or what is not there: tools
// say that in many words.
func (i *installer) lacked(f *Failure) {
	if s := i.refused.Load(); f != nil && f.Missing == "" && s != nil {
		f.Missing, f.Detail = MissingNetwork, plain.Line(s.Host+": "+s.Detail, 240)
	}
}

// ifOffline are flags that tell a tool that there is no network.
func (i *installer) ifOffline(flags ...string) []string {
	if i.proxy != nil {
		return nil
	}
	return flags
}

// ifOnline are flags that are wanted only where there is one.
func (i *installer) ifOnline(flags ...string) []string {
	if i.proxy == nil {
		return nil
	}
	return flags
}
