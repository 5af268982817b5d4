//go:build unix

package initd

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
)

// look answers a helper that concerns no session. It is the init itself that looks: there is nothing of the subject's
// to be careful with, and in a gVisor box a process of ours would take longer than most commands.
func (s *server) look(st net.Conn, in *wire.Reader, r *run, q wire.Run) *wire.Exit {
	params, err := question(in)
	if err != nil {
		return &wire.Exit{Code: -1, Broken: "reading what to look at: " + err.Error()}
	}
	go r.feed(in, &Process{}) // sees a program that goes away
	defer r.expire(q.Timeout).Stop()
	began := time.Now()
	out := bufio.NewWriterSize(answer{st, r}, wire.MaxData)
	if err = s.ground.Look(q.Helper, bytes.NewReader(params), out); err == nil {
		err = out.Flush()
	}
	r.kill("") // from here on no cause is added
	exit := &wire.Exit{Elapsed: int64(time.Since(began))}
	switch {
	case errors.Is(err, errEnded):
		exit.Code, exit.Signal, exit.Cause = -1, "SIGKILL", string(r.cause)
	case err != nil:
		exit.Code = 1
		wire.Write(st, wire.KindStderr, []byte(text(err))) //nolint:errcheck // the program is gone
	}
	return exit
}

// question reads stdin to its end.
func question(in *wire.Reader) ([]byte, error) {
	var all []byte
	for {
		k, b, err := in.Next(0)
		switch {
		case err != nil:
			return nil, err
		case k == wire.KindEOF:
			return all, nil
		case k != wire.KindStdin || len(all)+len(b) > wire.MaxRequest:
			return nil, fmt.Errorf("%w: kind %d after %d bytes of parameters", wire.ErrFrame, k, len(all))
		}
		all = append(all, b...)
	}
}

var errEnded = errors.New("nobody waits for the answer")

// answer sends what is written as stdout until there is a reason to end.
type answer struct {
	st net.Conn
	r  *run
}

func (a answer) Write(p []byte) (int, error) {
	for sent := 0; sent < len(p); {
		select {
		case <-a.r.end:
			return sent, errEnded
		default:
		}
		n := min(len(p)-sent, wire.MaxData)
		if err := wire.Write(a.st, wire.KindStdout, p[sent:sent+n]); err != nil {
			return sent, errors.Join(errEnded, err)
		}
		sent += n
	}
	return len(p), nil
}
