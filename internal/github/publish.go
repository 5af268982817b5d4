package github

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	api "github.com/google/go-github/v88/github"

	"github.com/trkr-dev/trkr-validate/verdict"
)

// What GitHub takes.
const (
	maxText        = 65000 // bytes of a summary or a comment; the limit is 65535 characters
	maxAnnotations = 50    // of one call
	maxTitle       = 255
	maxMessage     = 60 << 10
	maxPages       = 30 // of a hundred comments each
)

// CheckName is what a branch protection rule demands.
const CheckName = "trkr-validate"

// Check publishes a check run on a commit: success where the record is clear, else failure, with an annotation for each
// criterion that is not met and for what else keeps it from clear. It is completed with the last annotation, so that one
// that was cut short never looks like a success.
func (c *Client) Check(ctx context.Context, commit string, r verdict.Record, at verdict.Place) error {
	what := fmt.Sprintf("publishing the check on %s of %s/%s", commit, c.owner, c.name)
	summary, err := r.Account(maxText)
	if err != nil {
		return err
	}
	conclusion := "failure"
	if r.Outcome == verdict.Clear {
		conclusion = "success"
	}
	title := title(r)
	annotations := annotationsOf(r, at)
	output := func() *api.CheckRunOutput {
		n := min(len(annotations), maxAnnotations)
		now := annotations[:n]
		annotations = annotations[n:]
		return &api.CheckRunOutput{Title: &title, Summary: &summary, Annotations: now}
	}
	first := output()
	started := api.CreateCheckRunOptions{Name: CheckName, HeadSHA: commit, ExternalID: &r.RunID, Status: api.Ptr("in_progress"), Output: first}
	if len(annotations) == 0 {
		started.Status, started.Conclusion = api.Ptr("completed"), &conclusion
	}
	run, _, err := c.api.Checks.CreateCheckRun(ctx, c.owner, c.name, started)
	for err == nil && len(annotations) > 0 {
		more := api.UpdateCheckRunOptions{Name: CheckName, Output: output()}
		if len(annotations) == 0 {
			more.Status, more.Conclusion = api.Ptr("completed"), &conclusion
		}
		_, _, err = c.api.Checks.UpdateCheckRun(ctx, c.owner, c.name, run.GetID(), more)
	}
	if err != nil {
		return c.fault(what, err)
	}
	return nil
}

func title(r verdict.Record) string {
	met := 0
	for _, c := range r.Criteria {
		if c.Status == verdict.Met {
			met++
		}
	}
	text := fmt.Sprintf("%s: %s", r.Issue, r.Outcome)
	if len(r.Criteria) > 0 {
		text += fmt.Sprintf(", %d of %d met", met, len(r.Criteria))
	}
	return cut(text, maxTitle)
}

func annotationsOf(r verdict.Record, at verdict.Place) []*api.CheckRunAnnotation {
	levels := map[verdict.Level]string{verdict.LevelError: "failure", verdict.LevelWarning: "warning", verdict.LevelNote: "notice"}
	out := []*api.CheckRunAnnotation{}
	for _, m := range r.Remarks(at) {
		about := m.Rule
		if m.About != "" {
			about += ": " + m.About
		}
		out = append(out, &api.CheckRunAnnotation{
			Path: &m.Path, StartLine: &m.Line, EndLine: &m.Line, AnnotationLevel: api.Ptr(levels[m.Level]),
			Title: api.Ptr(cut(about, maxTitle)), Message: api.Ptr(cut(m.Text, maxMessage)),
		})
	}
	return out
}

// Comment keeps one comment for an issue up to date on a pull request. Only one of its own is changed: a comment of
// somebody else that looks like it could be changed back.
func (c *Client) Comment(ctx context.Context, pull int, r verdict.Record) error {
	what := fmt.Sprintf("commenting on %d of %s/%s", pull, c.owner, c.name)
	account, err := r.Account(maxText)
	if err != nil {
		return err
	}
	mark := fmt.Sprintf("<!-- trkr-validate %s -->\n", r.Issue)
	text := &api.IssueComment{Body: api.Ptr(mark + account)}
	me, err := c.me(ctx)
	if err != nil {
		return c.fault(what, err)
	}
	id, err := c.own(ctx, pull, me, mark)
	switch {
	case err != nil:
	case id != 0:
		_, _, err = c.api.Issues.EditComment(ctx, c.owner, c.name, id, text)
	default:
		_, _, err = c.api.Issues.CreateComment(ctx, c.owner, c.name, pull, text)
	}
	if err != nil {
		return c.fault(what, err)
	}
	return nil
}

// workflowUser is who the token of a workflow speaks for. It may not ask.
const workflowUser = "github-actions[bot]"

func (c *Client) me(ctx context.Context) (string, error) {
	user, res, err := c.api.Users.Get(ctx, "")
	if res != nil && res.StatusCode == 403 {
		return workflowUser, nil
	}
	return user.GetLogin(), err
}

// own finds the comment that this program made before; 0 where there is none.
func (c *Client) own(ctx context.Context, pull int, me, mark string) (int64, error) {
	opts := &api.IssueListCommentsOptions{ListOptions: api.ListOptions{PerPage: 100}}
	for range maxPages {
		page, res, err := c.api.Issues.ListComments(ctx, c.owner, c.name, pull, opts)
		if err != nil {
			return 0, err
		}
		for _, one := range page {
			if one.GetUser().GetLogin() == me && strings.HasPrefix(strings.ReplaceAll(one.GetBody(), "\r\n", "\n"), mark) {
				return one.GetID(), nil
			}
		}
		if res.NextPage == 0 {
			break
		}
		opts.Page = res.NextPage
	}
	return 0, nil
}

// cut keeps text within a limit of bytes.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	end := most - len("…")
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
