package gateway

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	dialTime = 20 * time.Second
	lookTime = 10 * time.Second
)

// dialer reaches places outside. A name is resolved here, and the address that was found good is the one that is
// dialled: what a name means to somebody else, or a moment later, does not count.
type dialer struct {
	resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	private bool // names may lead into private networks
}

func lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// dial connects to the first address of host that may be reached and answers. Private places, this machine's own
// among them, may be only where host names one itself: a list that says so means it.
func (d dialer) dial(ctx context.Context, host, port string) (net.Conn, error) {
	var addrs []netip.Addr
	if literal, err := netip.ParseAddr(host); err == nil {
		addrs = []netip.Addr{literal}
	} else {
		looking, cancel := context.WithTimeout(ctx, lookTime)
		defer cancel()
		found, err := d.resolve(looking, host)
		if err != nil {
			return nil, fmt.Errorf("looking up %s: %w", host, err)
		}
		for _, a := range found {
			if d.private || public(a) {
				addrs = append(addrs, a)
			}
		}
		if len(addrs) == 0 {
			return nil, fmt.Errorf("%s has no address outside of private networks (%v)", host, found)
		}
	}
	var last error
	for _, a := range addrs {
		conn, err := (&net.Dialer{Timeout: dialTime}).DialContext(ctx, "tcp", net.JoinHostPort(a.Unmap().String(), port))
		if err == nil {
			return conn, nil
		}
		last = err
	}
	return nil, last
}

// special are the ranges that are nobody's in the internet, beside those that netip knows.
var special = sync.OnceValue(func() []netip.Prefix {
	var all []netip.Prefix
	for _, text := range []string{
		"0.0.0.0/8",
		"100.64.0.0/10", // carriers' own
		"192.0.0.0/24",
		"192.0.2.0/24",
		"198.18.0.0/15",
		"198.51.100.0/24",
		"203.0.113.0/24",
		"240.0.0.0/4",
		"64:ff9b::/96", // IPv4 in disguise, in these
		"64:ff9b:1::/48",
		"2001::/32",
		"2002::/16",
		"2001:db8::/32",
		"100::/64",
		"fec0::/10",
		"::/96",
	} {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
})

// public reports whether an address is one of the internet at large.
func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsLoopback() {
		return false
	}
	for _, p := range special() {
		if p.Contains(a) {
			return false
		}
	}
	return true
}
