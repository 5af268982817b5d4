// Package place reads the places outside of a box that may be reached from inside.
package place

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Parse reads "host:port", as a list of places has it: a name or an address, and a port from 1 to 65535. What it
// returns is how places are compared: in lower case, and without the dot that may end a name.
func Parse(text string) (string, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return "", fmt.Errorf("%q is not host:port: %w", text, err)
	}
	n, err := strconv.Atoi(port)
	if err != nil || n < 1 || n > 65535 || strconv.Itoa(n) != port {
		return "", fmt.Errorf("%q has no port from 1 to 65535", text)
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "" || strings.ContainsAny(host, "*/@ \t\n%") {
		return "", fmt.Errorf("%q names no single host", text)
	}
	return net.JoinHostPort(host, port), nil
}
