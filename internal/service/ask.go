package service

import (
	"bufio"
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/ready"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

const (
	pause   = 100 * time.Millisecond // between two looks
	one     = 5 * time.Second        // for a look that gets no answer
	answers = 64 << 10               // bytes of an answer that are read
)

// ask looks once. no says why it is not ready; the error is about the box.
func ask(ctx context.Context, from sandbox.Session, sign string, left time.Duration) (no string, err error) {
	r, err := ready.Parse(sign)
	if err != nil {
		return "", err
	}
	within := max(min(left, one), time.Millisecond)
	if r.Command != "" {
		exit, err := from.Run(ctx, sandbox.Command{Args: []string{"/bin/sh", "-c", r.Command}, Timeout: within})
		if err != nil || exit.Exited() && exit.Code == 0 {
			return "", err
		}
		return exit.String(), nil
	}
	talk := sandbox.Talk{Address: r.Address, Within: within}
	var request *http.Request
	if r.URL != nil {
		if request, err = http.NewRequestWithContext(ctx, http.MethodGet, r.URL.String(), nil); err != nil {
			return "", err
		}
		request.Close = true
		var text bytes.Buffer
		if err := request.Write(&text); err != nil {
			return "", err
		}
		talk.Request, talk.Most = text.Bytes(), answers
	}
	got, err := from.Talk(ctx, talk)
	switch {
	case err != nil:
		return "", err
	case !got.Connected:
		return "nobody listens at " + r.Address, nil
	case r.URL == nil:
		return "", nil
	}
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(got.Data)), request)
	if err != nil {
		return "no HTTP answer", nil
	}
	response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 399 {
		return "it answers " + response.Status, nil
	}
	return "", nil
}
