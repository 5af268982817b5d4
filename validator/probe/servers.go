package probe

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/verdict"
)

const (
	answerTime = 10 * time.Second       // for an answer, where the assertion says nothing
	askAgain   = 100 * time.Millisecond // after nobody listened
	answerMost = 4 << 20                // bytes of an answer that are looked at
)

// reply is what came of one request.
type reply struct {
	status  int
	body    []byte
	trouble string // why there is no status, or no whole body
	after   time.Duration
}

func requests(tree *Assertion) (list []Answers) {
	for _, c := range tree.Outcomes {
		if o, ok := c.Outcome.(Answers); ok {
			list = append(list, o)
		}
	}
	return list
}

// patience is how long an answer may take: what the assertion says behind it.
func patience(tree *Assertion) time.Duration {
	for i, c := range tree.Outcomes {
		if w, ok := c.Outcome.(Within); ok && i > 0 {
			if _, of := tree.Outcomes[i-1].Outcome.(Answers); of {
				return w.Limit
			}
		}
	}
	return answerTime
}

// serve runs the command in the background, asks what the assertion asks, and ends it with all its children.
func (t *trial) serve(ctx context.Context, c Command, p plan, s *seen) error {
	talker, can := t.box.(sandbox.Talker)
	if !can {
		return errors.New("this box cannot be spoken to")
	}
	asked := requests(t.tree)
	limit := patience(t.tree)
	for _, o := range asked {
		if r, err := t.ask(ctx, talker, o, time.Second); err != nil || r.status != 0 {
			return errors.Join(err, fmt.Errorf("something else in the box already answers %s", o.URL))
		}
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	over := make(chan error, 1)
	begin := time.Now()
	go func() {
		var err error
		s.ended, err = t.exec(running, c, p, t.around(), limit*time.Duration(len(asked))+ownTimeout)
		over <- err
	}()
	for _, o := range asked {
		r, ended, err := t.await(ctx, talker, o, begin.Add(limit), over)
		if ended || err != nil {
			stop()
			if !ended {
				<-over
			}
			return err
		}
		r.after = time.Since(begin)
		s.replies[o.String()] = r
	}
	s.stopped = true
	stop()
	if err := <-over; err != nil && (!errors.Is(err, context.Canceled) || ctx.Err() != nil) {
		return err
	}
	// One that ended by itself at the same moment did so with an exit that is its own.
	s.stopped = !s.exit.Exited()
	return nil
}

// await asks until there is an answer, the command has ended, or the time is over.
func (t *trial) await(ctx context.Context, talker sandbox.Talker, o Answers, until time.Time, over chan error) (r reply, ended bool, err error) {
	for {
		left := time.Until(until)
		if left <= 0 && r.trouble != "" {
			return r, false, nil
		}
		if r, err = t.ask(ctx, talker, o, max(left, askAgain)); err != nil || r.status != 0 || r.trouble != nobody {
			return r, false, err
		}
		select {
		case err := <-over:
			return r, true, err
		case <-time.After(askAgain):
		}
	}
}

const nobody = "nobody listened"

// ask sends one request from inside the box.
func (t *trial) ask(ctx context.Context, talker sandbox.Talker, o Answers, within time.Duration) (reply, error) {
	u, err := url.Parse(o.URL)
	if err != nil { // the parser has read it before
		return reply{}, err
	}
	request, err := http.NewRequest(o.Method, o.URL, nil)
	if err != nil {
		return reply{}, err
	}
	request.Close = true
	request.Header.Set("User-Agent", "trkr-validate")
	var text bytes.Buffer
	if err := request.Write(&text); err != nil {
		return reply{}, err
	}
	host := u.Host
	if u.Hostname() == "localhost" {
		host = "127.0.0.1:" + u.Port()
	}
	got, err := talker.Talk(ctx, sandbox.Talk{Address: host, Request: text.Bytes(), Most: answerMost, Within: within})
	switch {
	case err != nil:
		return reply{}, err
	case !got.Connected:
		return reply{trouble: nobody}, nil
	}
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(got.Data)), request)
	if err != nil {
		return reply{trouble: strings.TrimSpace(fmt.Sprintf("no HTTP answer: %s %s", quote(got.Data, 120), safe(got.Detail, 120)))}, nil
	}
	defer response.Body.Close()
	r := reply{status: response.StatusCode}
	if r.body, err = io.ReadAll(response.Body); err != nil {
		r.trouble = "the body did not come whole: " + safe(err.Error(), 80) + " " + safe(got.Detail, 80)
	}
	return r, nil
}

func (o Answers) judge(s *seen) judgement {
	r, asked := s.replies[o.String()]
	what := o.Method + " " + safe(o.URL, 120)
	switch {
	case !asked:
		return unmet("expected an answer to %s; the command ended before there was one", what)
	case r.status == 0:
		return unmet("expected an answer to %s: %s", what, r.trouble)
	case r.status != o.Status:
		return unmet("expected %d for %s, got %d with the body %s", o.Status, what, r.status, quote(r.body, 160))
	case r.trouble != "" && len(o.Tests)+len(o.JSON) > 0:
		return unverified("%s: %s", what, r.trouble)
	}
	for _, test := range o.Tests {
		if !test.holds(r.body) {
			return unmet("expected a body of %s that %s, got %s", what, test, differing(r.body, test, 200))
		}
	}
	for _, j := range o.JSON {
		if got := j.judge("the body of "+what, r.body); got.status != verdict.Met {
			return got
		}
	}
	return met("%s answered %d after %s with the body %s", what, r.status, r.after.Round(time.Millisecond), quote(r.body, 120))
}
