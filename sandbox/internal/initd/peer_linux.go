package initd

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// sockets is where the kernel lists the box's TCP sockets over IPv4, each with the uid that made it.
const sockets = "/proc/net/tcp"

func (b *box) Connected(id Identity, conn *net.TCPConn) bool {
	uid, err := peerUID(conn)
	return err == nil && uid == id.UID
}

// peerUID is the uid of the socket at the other end of a connection over loopback.
func peerUID(conn *net.TCPConn) (int, error) {
	local, remote := entry(conn.RemoteAddr()), entry(conn.LocalAddr()) // as the other end sees them
	f, err := os.Open(sockets)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// sl local_address rem_address st queues timer retransmits uid ...
		fields := strings.Fields(lines.Text())
		if len(fields) > 7 && fields[1] == local && fields[2] == remote {
			return strconv.Atoi(fields[7])
		}
	}
	return 0, fmt.Errorf("%s is not listed", conn.RemoteAddr())
}

// entry is an address as the list has it: the four bytes as a number of this machine, which all have the same order.
func entry(a net.Addr) string {
	addr := a.(*net.TCPAddr)
	ip := addr.IP.To4()
	return fmt.Sprintf("%02X%02X%02X%02X:%04X", ip[3], ip[2], ip[1], ip[0], addr.Port)
}
