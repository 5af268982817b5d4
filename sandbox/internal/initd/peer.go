//go:build unix

package initd

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"
)

// settle is how long it may take until the kernel's lists show whose a connection is.
const settle = time.Second

// socket is one TCP socket of the box, its addresses as one of IPv4 where they are mapped.
type socket struct {
	local, remote netip.AddrPort
	listens       bool
	uid           int // who made it; 0 also where nobody has accepted it yet, or it is closed
}

// sockets reads the kernel's lists. A socket of IPv6 may carry a connection over 127.0.0.1, so both count.
func sockets() ([]socket, error) {
	var list []socket
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) { // a kernel without IPv6
			continue
		}
		if err != nil {
			return nil, err
		}
		some, err := readSockets(f)
		f.Close()
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
	}
	return list, nil
}

func readSockets(r io.Reader) (list []socket, err error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		// sl local_address rem_address st queues timer retransmits uid ...
		f := strings.Fields(lines.Text())
		if len(f) < 8 {
			continue
		}
		local, ok := address(f[1])
		remote, also := address(f[2])
		if uid, err := strconv.Atoi(f[7]); ok && also && err == nil {
			list = append(list, socket{local: local, remote: remote, listens: f[3] == "0A", uid: uid})
		}
	}
	return list, lines.Err()
}

// address reads one of the list: words of four bytes, each as a number of this machine, which all have the same order.
func address(s string) (netip.AddrPort, bool) {
	ip, port, _ := strings.Cut(s, ":")
	b, err := hex.DecodeString(ip)
	n, bad := strconv.ParseUint(port, 16, 16)
	if err != nil || bad != nil || len(b)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for w := range len(b) / 4 {
		binary.BigEndian.PutUint32(b[4*w:], binary.LittleEndian.Uint32(b[4*w:]))
	}
	a, ok := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(a.Unmap(), uint16(n)), ok
}

// ends are both ends of a connection, this one first.
func ends(c net.Conn) (near, far netip.AddrPort) {
	plain := func(a net.Addr) netip.AddrPort {
		p := a.(*net.TCPAddr).AddrPort()
		return netip.AddrPortFrom(p.Addr().Unmap().WithZone(""), p.Port())
	}
	return plain(c.LocalAddr()), plain(c.RemoteAddr())
}

// owner is the uid of the socket at the far end of a connection over loopback.
func owner(list []socket, near, far netip.AddrPort) (uid int, known bool) {
	for _, s := range list {
		if s.local == far && s.remote == near && s.uid != 0 {
			return s.uid, true
		}
	}
	return 0, false
}

// servant is the uid of who answers at far: who accepted the connection or, where nobody has yet or it is closed again,
// the one who listens there.
func servant(list []socket, near, far netip.AddrPort) (uid int, known bool) {
	if uid, known = owner(list, near, far); known {
		return uid, true
	}
	for _, s := range list {
		a := s.local.Addr()
		if !s.listens || s.local.Port() != far.Port() || a != far.Addr() && !(a.IsUnspecified() && (a.Is6() || far.Addr().Is4())) {
			continue
		}
		if known && s.uid != uid {
			return 0, false
		}
		uid, known = s.uid, true
	}
	return uid, known
}

// serves tells whether it is the uid that answers at the far end of conn.
func serves(uid int, conn net.Conn, until time.Time) (bool, error) {
	near, far := ends(conn)
	for end := time.Now().Add(settle); ; time.Sleep(knock) {
		list, err := sockets()
		if err != nil {
			return false, err
		}
		if who, known := servant(list, near, far); known {
			return who == uid, nil
		}
		if now := time.Now(); now.After(end) || now.After(until) {
			return false, nil
		}
	}
}
