//go:build unix

package initd

import (
	"errors"
	"io"
	"net"
	"time"

	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
)

// knock is how long nobody may listen before it is tried again.
const knock = 20 * time.Millisecond

// speak talks to a server as sandbox.Session says.
func (v View) speak(t *wire.Talk, out io.Writer) error {
	if t == nil || t.Most < 0 || t.Most > wire.MaxTalk {
		return errors.New("a talk without bounds")
	}
	until := time.Now().Add(time.Duration(t.Within))
	var r wire.Reply
	var data []byte
	conn, err := dial(t.Address, until)
	if err == nil {
		r.Connected = true
		if r.Other, err = v.other(t, conn, until); err == nil && !r.Other {
			data, err = exchange(conn, t, until)
		}
		conn.Close()
	}
	if err != nil {
		r.Detail = cut(err.Error())
	}
	r.Bytes = int64(len(data))
	if err := wire.WriteJSON(out, wire.KindMessage, r, wire.MaxAnswer); err != nil {
		return err
	}
	for len(data) > 0 {
		n := min(len(data), wire.MaxData)
		if err := wire.Write(out, wire.KindStdout, data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// other tells whether it is somebody else who answers than t says.
func (v View) other(t *wire.Talk, conn net.Conn, until time.Time) (bool, error) {
	if t.UID == 0 || v.Alone {
		return false, nil
	}
	ok, err := serves(t.UID, conn, until)
	return !ok, err
}

// dial tries until somebody listens.
func dial(address string, until time.Time) (net.Conn, error) {
	for {
		conn, err := net.DialTimeout("tcp", address, max(time.Until(until), time.Millisecond))
		if err == nil || time.Until(until) < knock {
			return conn, err
		}
		time.Sleep(knock)
	}
}

func exchange(conn net.Conn, t *wire.Talk, until time.Time) ([]byte, error) {
	conn.SetDeadline(until)         // a connection that has no deadline has no other end either: reading fails
	_, err := conn.Write(t.Request) // one that answers before it has read all is answered all the same
	data, readErr := io.ReadAll(io.LimitReader(conn, t.Most))
	if len(data) == 0 {
		return nil, errors.Join(err, readErr)
	}
	return data, readErr
}
