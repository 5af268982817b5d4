// Package github speaks with GitHub's API, and with that of an Enterprise server: it reads an issue's body, and publishes
// what became of a ticket as a check run and as a comment. Nothing is asked for ever, and each way to be turned away has
// words of its own.
package github

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	api "github.com/google/go-github/v88/github"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

const (
	patience = 30 * time.Second // of one call
	maxReply = 8 << 20          // bytes of one answer; a page of a hundred comments may have six
)

// Options say whom to speak with.
type Options struct {
	URL        string // of the API; empty: https://api.github.com/
	Token      string // empty: as anybody
	Repository string // "owner/name"
	Agent      string // how this program calls itself
}

// Client speaks for one repository.
type Client struct {
	api         *api.Client
	owner, name string
	known       bool // there is a token
}

// New makes a client. It asks nothing yet; what is wrong with the options is a fault.Usage.
func New(o Options) (*Client, error) {
	owner, name, ok := strings.Cut(o.Repository, "/")
	if !ok || owner == "" || name == "" || strings.ContainsAny(name, "/ ") {
		return nil, fault.Usagef("github_repository", []string{`name it: "issue": {"repository": "owner/name"}, or GITHUB_REPOSITORY`}, "%q is no repository of GitHub", o.Repository)
	}
	options := []api.ClientOptionsFunc{
		api.WithHTTPClient(&http.Client{Transport: bounded{http.DefaultTransport}, Timeout: patience}), api.WithUserAgent(o.Agent),
	}
	if o.Token != "" {
		options = append(options, api.WithAuthToken(o.Token))
	}
	if o.URL != "" {
		base := strings.TrimSuffix(o.URL, "/") + "/"
		if u, err := url.Parse(base); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return nil, fault.Usagef("github_url", []string{"an Enterprise server's is https://HOST/api/v3"}, "%q is no API's address", o.URL)
		}
		options = append(options, api.WithURLs(&base, nil))
	}
	c, err := api.NewClient(options...)
	if err != nil {
		return nil, fault.Usage("github_url", err)
	}
	return &Client{api: c, owner: owner, name: name, known: o.Token != ""}, nil
}

// bounded keeps an answer from filling the memory.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		res.Body = struct {
			io.Reader
			io.Closer
		}{&limited{res.Body, maxReply}, res.Body}
	}
	return res, err
}

var errTooLong = fmt.Errorf("the answer has more than %d bytes", maxReply)

type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLong
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

// IssueBody reads the body of an issue. A pull request of that number is none.
func (c *Client) IssueBody(ctx context.Context, issue string) ([]byte, error) {
	number, err := strconv.Atoi(issue)
	if err != nil || number < 1 {
		return nil, fault.Usagef("issue_invalid", []string{"issues of GitHub have numbers; for another tracker set issue.command"}, "%q is no issue of GitHub", issue)
	}
	what := fmt.Sprintf("reading issue %d of %s/%s", number, c.owner, c.name)
	found, _, err := c.api.Issues.Get(ctx, c.owner, c.name, number)
	if err != nil {
		return nil, c.fault(what, err)
	}
	if found.IsPullRequest() {
		return nil, fault.Envf("github_not_found", []string{"the contract is agreed in the issue, before the code"}, "%s: %d is a pull request", what, number)
	}
	return []byte(found.GetBody()), nil
}

// fault says in words why a call did not succeed.
func (c *Client) fault(what string, err error) error {
	tell := func(code, text string, hints ...string) error {
		return fault.Envf(code, hints, "%s: %s", what, text)
	}
	var limit *api.RateLimitError
	var abuse *api.AbuseRateLimitError
	var answer *api.ErrorResponse
	switch {
	case errors.As(err, &limit):
		return tell("github_rate_limited", fmt.Sprintf("GitHub takes no more calls before %s", limit.Rate.Reset.UTC().Format(time.RFC3339)), c.anonymous("wait until then")...)
	case errors.As(err, &abuse):
		return tell("github_rate_limited", "GitHub takes no more calls for a while", c.anonymous("wait some minutes")...)
	case errors.As(err, &answer) && answer.Response != nil:
		return c.answered(tell, answer)
	case errors.Is(err, errTooLong):
		return tell("github_too_long", errTooLong.Error())
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: %w", what, err)
	}
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return tell("github_unreachable", fmt.Sprintf("GitHub did not answer within %s", patience), "see that this machine reaches "+c.api.BaseURL())
	}
	return fault.Env("github_unreachable", fmt.Errorf("%s: %w", what, err), "see that this machine reaches "+c.api.BaseURL())
}

func (c *Client) answered(tell func(code, text string, hints ...string) error, answer *api.ErrorResponse) error {
	text := fmt.Sprintf("GitHub answered %d %s", answer.Response.StatusCode, answer.Message)
	text = strings.TrimSpace(text)
	switch code := answer.Response.StatusCode; code {
	case http.StatusUnauthorized:
		return tell("github_unauthorized", "GitHub does not know the token (401)", "GITHUB_TOKEN or GH_TOKEN must hold one that is valid")
	case http.StatusForbidden:
		return tell("github_forbidden", text, "the token may not do that; in a workflow: permissions: issues: read, checks: write, pull-requests: write",
			"the token of a pull request from a fork may only read")
	case http.StatusNotFound, http.StatusGone:
		return tell("github_not_found", fmt.Sprintf("GitHub has no such thing, or does not show it to this token (%d)", code), c.anonymous("see that repository and number are right")...)
	case http.StatusTooManyRequests:
		return tell("github_rate_limited", "GitHub takes no more calls for a while (429)", c.anonymous("wait some minutes")...)
	case http.StatusUnprocessableEntity:
		return tell("github_refused", text+fmt.Sprintf(" %v", answer.Errors))
	default:
		return tell("github_unavailable", text, "run it again later")
	}
}

// anonymous adds what helps whoever asks without a token.
func (c *Client) anonymous(hint string) []string {
	if c.known {
		return []string{hint}
	}
	return []string{hint, "no token was sent: set GITHUB_TOKEN or GH_TOKEN"}
}
