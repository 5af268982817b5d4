package shim

import (
	"context"
	"errors"
	"fmt"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
)

func (s *session) Talk(ctx context.Context, t sandbox.Talk) (sandbox.Reply, error) {
	var reply *sandbox.Reply
	most := min(t.Most, wire.MaxTalk)
	params := wire.Params{Talk: &wire.Talk{Address: t.Address, Request: t.Request, Most: most, Within: int64(t.Within)}}
	if t.Of != nil {
		of, ok := t.Of.(*session)
		if !ok || of.c != s.c {
			return sandbox.Reply{}, errors.New("speaking to a server in the box: its session is of another box")
		}
		params.Talk.UID = of.uid
	}
	err := s.c.help(ctx, s.id, wire.HelperTalk, params, most+wire.MaxAnswer, t.Within+helperTime, func(r *wire.Reader) error {
		var w wire.Reply
		if err := r.ReadJSON(wire.KindMessage, &w, wire.MaxAnswer); err != nil {
			return err
		}
		if reply != nil || w.Bytes < 0 || w.Bytes > most {
			return fmt.Errorf("%w: a reply beyond its bounds", wire.ErrFrame)
		}
		reply = &sandbox.Reply{Connected: w.Connected, Other: w.Other, Detail: short(w.Detail)}
		for int64(len(reply.Data)) < w.Bytes {
			k, b, err := r.Next(0)
			if err != nil {
				return err
			}
			if k != wire.KindStdout || int64(len(reply.Data)+len(b)) > w.Bytes {
				return fmt.Errorf("%w: data that were not announced", wire.ErrFrame)
			}
			reply.Data = append(reply.Data, b...)
		}
		return nil
	})
	if err == nil && reply == nil {
		err = errors.New("no reply")
	}
	if err != nil {
		return sandbox.Reply{}, fmt.Errorf("speaking to a server in the box: %w", err)
	}
	return *reply, nil
}
