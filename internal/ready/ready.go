// Package ready reads how a service in a box shows that it is ready.
package ready

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Sign is what shows that a service is ready: a port that takes connections, a page that answers with 200 to 399,
// or a command that exits 0.
type Sign struct {
	Address string   // of the port or the page
	URL     *url.URL // of a page
	Command string
}

// Parse reads "tcp:5432", "tcp:[::1]:5432", "http://127.0.0.1:8080/health" or a command.
func Parse(s string) (Sign, error) {
	if port, ok := strings.CutPrefix(s, "tcp:"); ok {
		if !strings.Contains(port, ":") {
			port = "127.0.0.1:" + port
		}
		a, err := netip.ParseAddrPort(port)
		if err != nil || !a.Addr().IsLoopback() || a.Port() == 0 {
			return Sign{}, fmt.Errorf("%q names no port of the box", s)
		}
		return Sign{Address: a.String()}, nil
	}
	if strings.HasPrefix(s, "http:") || strings.HasPrefix(s, "https:") {
		u, err := url.Parse(s)
		if err != nil || u.Scheme != "http" || u.User != nil || u.Fragment != "" {
			return Sign{}, fmt.Errorf("%q is no page of the box", s)
		}
		host, port := u.Hostname(), u.Port()
		if host == "localhost" { // no file of the box says what that is
			host = "127.0.0.1"
		}
		if port == "" {
			port = "80"
		}
		ip, err := netip.ParseAddr(host)
		n, bad := strconv.ParseUint(port, 10, 16)
		if err != nil || bad != nil || n == 0 || !ip.IsLoopback() {
			return Sign{}, fmt.Errorf("%q is no page of the box", s)
		}
		return Sign{Address: netip.AddrPortFrom(ip, uint16(n)).String(), URL: u}, nil
	}
	if strings.TrimSpace(s) == "" {
		return Sign{}, errors.New("nothing shows that it is ready")
	}
	return Sign{Command: s}, nil
}
