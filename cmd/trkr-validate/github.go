package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/trkr-dev/trkr-validate/config"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/github"
	"github.com/trkr-dev/trkr-validate/ticket"
)

// gitHub makes a client by the configuration and by what a workflow's environment says.
func gitHub(o config.Issue) (*github.Client, error) {
	return github.New(github.Options{
		URL: cmp.Or(o.URL, os.Getenv("GITHUB_API_URL")), Token: cmp.Or(os.Getenv("GITHUB_TOKEN"), os.Getenv("GH_TOKEN")),
		Repository: cmp.Or(o.Repository, os.Getenv("GITHUB_REPOSITORY")), Agent: "trkr-validate/" + toolVersion(),
	})
}

func (a *app) gitHubBody(s settings, issue string) ticket.Body {
	return func(ctx context.Context) ([]byte, error) {
		client, err := gitHub(s.Issue)
		if err != nil {
			return nil, err
		}
		return client.IssueBody(ctx, issue)
	}
}

// publishing is what a call tells GitHub.
type publishing struct {
	check   bool
	comment string // "pull request" that the event is about, or a number
	pull    int
	client  *github.Client
	commit  string // that CI runs for, where a result names none
}

const ofTheEvent = "of the event"

func (p *publishing) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&p.check, "check", false, "publish a check run on the commit, to GitHub")
	f.StringVar(&p.comment, "comment", "", "keep one comment up to date on this `pull request`, to GitHub; without a number that of the event")
	f.Lookup("comment").NoOptDefVal = ofTheEvent
}

// ready makes sure, before anything else is done, that what is asked for can be tried. The issue's settings say which
// GitHub it is.
func (p *publishing) ready(cmd *cobra.Command, s settings) error {
	if !p.check && p.comment == "" {
		return nil
	}
	var err error
	if p.client, err = gitHub(s.Issue); err != nil {
		return err
	}
	if os.Getenv("GITHUB_TOKEN") == "" && os.Getenv("GH_TOKEN") == "" {
		return fault.Usagef("github_token", []string{"give the job's: env: GITHUB_TOKEN: ${{ github.token }}"}, "publishing needs a token in GITHUB_TOKEN or GH_TOKEN")
	}
	if pushed, ok, err := inCI(os.Getenv); ok && err == nil {
		p.commit = pushed.commit
	}
	if p.comment == "" {
		return nil
	}
	if p.comment == ofTheEvent {
		event, err := gitHubEvent(os.Getenv)
		if err != nil || event.PullRequest == nil || event.PullRequest.Number == 0 {
			return usage(cmd, errors.New("--comment: the event is no pull request's: name one, --comment=NUMBER"))
		}
		p.pull = event.PullRequest.Number
		return nil
	}
	if p.pull, err = strconv.Atoi(p.comment); err != nil || p.pull < 1 {
		return usage(cmd, errors.New("--comment: "+strconv.Quote(p.comment)+" is no pull request's number"))
	}
	return nil
}

// publishLimit bounds what GitHub is told at the end, all together.
const publishLimit = 2 * time.Minute

// publish tells GitHub of a result. A run that was interrupted came to none: without a new check the commit has no
// success but an earlier one of its own.
func (a *app) publish(p *publishing, r result) error {
	if p.client == nil || a.interrupted.exit() != 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), publishLimit)
	defer cancel()
	record := r.reported()
	var errs []error
	if p.check {
		commit := cmp.Or(r.commit, record.Subject.Commit, p.commit)
		if commit == "" {
			errs = append(errs, errors.New("--check: nothing tells which commit it is about"))
		} else {
			errs = append(errs, p.client.Check(ctx, commit, record, r.place))
		}
	}
	if p.pull != 0 {
		errs = append(errs, p.client.Comment(ctx, p.pull, record))
	}
	return errors.Join(errs...)
}
