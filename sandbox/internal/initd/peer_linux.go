package initd

import "net"

func (b *box) Connected(id Identity, conn *net.TCPConn) bool {
	list, err := sockets()
	near, far := ends(conn)
	uid, known := owner(list, near, far)
	return err == nil && known && uid == id.UID
}
