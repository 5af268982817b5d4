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
	answerTime = 10 * time.Second // for an answer, where the assertion says nothing
	answerMost = 4 << 20          // bytes of an answer that are looked at
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

// serve runs the command in the background, asks what the assertion asks from a session beside it, and ends it with all
// its children.
func (t *trial) serve(ctx context.Context, c Command, p plan, s *seen) (err error) {
	beside, err := t.box.Open(ctx, t.checker.session())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, beside.Close()) }()
	asked := requests(t.tree)
	limit := patience(t.tree)
	others := func(o Answers) error { // while the command does not run
		if r, err := ask(ctx, beside, nil, o, time.Millisecond); err != nil || r.trouble != nobody {
			return errors.Join(err, somebody(o))
		}
		return nil
	}
	for _, o := range asked {
		if err := others(o); err != nil {
			return err
		}
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	asking, enough := context.WithCancel(ctx)
	defer enough()
	over := make(chan error, 1)
	begin := time.Now()
	go func() {
		var err error
		s.ended, err = t.exec(running, c, p, t.around(), time.Duration(len(asked))*limit+ownTimeout)
		enough()
		over <- err
	}()
	for _, o := range asked {
		var r reply
		if r, err = ask(asking, beside, t.inside, o, max(time.Until(begin.Add(limit)), time.Millisecond)); err != nil {
			break
		}
		r.after = time.Since(begin)
		s.replies[o.String()] = r
	}
	ended := asking.Err() != nil // by itself, or the run is over
	stop()
	ran := <-over
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && !(ended && errors.Is(err, context.Canceled)):
		return err
	case ran != nil && !errors.Is(ran, context.Canceled):
		return ran
	}
	s.stopped = ran != nil
	for _, o := range asked {
		if r := s.replies[o.String()]; r.status == 0 && (r.trouble == "" || r.trouble == nobody) { // it may have ended because somebody else has the port
			if err := others(o); err != nil {
				return err
			}
		}
	}
	return nil
}

const nobody = "nobody listened"

func somebody(o Answers) error { return fmt.Errorf("somebody else in the box listens at %s", o.URL) }

// ask sends one request from inside the box to the server of a session, or to whoever it is where of is nil, as soon as
// somebody listens.
func ask(ctx context.Context, from, of sandbox.Session, o Answers, within time.Duration) (reply, error) {
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
	if u.Hostname() == "localhost" { // no file of the box says what that is
		host = "127.0.0.1:" + u.Port()
	}
	got, err := from.Talk(ctx, sandbox.Talk{Address: host, Request: text.Bytes(), Most: answerMost, Within: within, Of: of})
	switch {
	case err != nil:
		return reply{}, err
	case !got.Connected:
		return reply{trouble: nobody}, nil
	case got.Other:
		return reply{}, somebody(o)
	}
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(got.Data)), request)
	if err != nil {
		return reply{trouble: strings.TrimSpace(fmt.Sprintf("no HTTP answer: %s %s", quote(got.Data, 120), safe(got.Detail, 120)))}, nil
	}
	defer response.Body.Close()
	r := reply{status: response.StatusCode}
	if r.body, err = io.ReadAll(response.Body); err != nil {
		r.trouble = "the body did not come whole: " + safe(err.Error(), 80) + " " + safe(got.Detail, 80)
	} else if int64(len(got.Data)) >= answerMost {
		r.trouble = fmt.Sprintf("the answer has more than %d bytes", answerMost)
	} else if got.Detail != "" && response.ContentLength < 0 && len(response.TransferEncoding) == 0 {
		r.trouble = "nobody knows whether the body came whole: " + safe(got.Detail, 80)
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

// unended decides on one outcome of a command that was stopped when it had answered. What it had not done until then it
// might have done later; a time belongs to the answer before it.
func (s *seen) unended(outcomes []Clause, i int, j judgement) judgement {
	switch o := outcomes[i].Outcome.(type) {
	case Answers:
		return j
	case Within:
		before, of := outcomes[max(0, i-1)].Outcome.(Answers)
		after := s.replies[before.String()].after
		switch {
		case !of:
			return j
		case after > o.Limit:
			return unmet("expected the answer within %s, it took %s", limit(o.Limit), after.Round(time.Millisecond))
		default:
			return met("")
		}
	}
	if j.status == verdict.Unmet {
		return unverified("%s, when it was stopped", j.why)
	}
	return j
}
