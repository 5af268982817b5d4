package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// pushed is what a CI service says that it runs for: a branch, and the commit that somebody pushed to it. That is never
// the merge commit that the service made to try a pull request: a verdict about it would be about nobody's work.
type pushed struct {
	service, branch, commit string
}

// maxPayload is more than the largest event that GitHub delivers.
const maxPayload = 32 << 20

// inCI reads the variables of GitHub Actions and GitLab; false where this is neither.
func inCI(getenv func(string) string) (p pushed, ok bool, err error) {
	switch {
	case getenv("GITHUB_ACTIONS") == "true":
		p, err = onGitHub(getenv)
	case getenv("GITLAB_CI") == "true":
		p, err = onGitLab(getenv)
	default:
		return pushed{}, false, nil
	}
	if err == nil && (p.branch == "" || p.commit == "") {
		err = fmt.Errorf("%s does not run for a branch", p.service)
	}
	if err != nil {
		return pushed{}, true, fault.Usage("ci_revision", fmt.Errorf("finding out what to judge: %w", err),
			"name both: trkr-validate ISSUE --ref REV")
	}
	return p, true, nil
}

func onGitHub(getenv func(string) string) (pushed, error) {
	p := pushed{service: "GitHub Actions"}
	var event struct {
		PullRequest *struct {
			Head struct{ Ref, SHA string }
		} `json:"pull_request"`
	}
	if name := getenv("GITHUB_EVENT_PATH"); name != "" {
		f, err := os.Open(name)
		if err != nil {
			return p, err
		}
		defer f.Close()
		if err := json.NewDecoder(io.LimitReader(f, maxPayload)).Decode(&event); err != nil {
			return p, fmt.Errorf("reading GITHUB_EVENT_PATH: %w", err)
		}
	}
	if head := getenv("GITHUB_HEAD_REF"); event.PullRequest != nil || head != "" {
		if event.PullRequest == nil || event.PullRequest.Head.SHA == "" {
			return p, fmt.Errorf("the event of the pull request of %q does not name its head commit", head)
		}
		p.branch, p.commit = cmp.Or(event.PullRequest.Head.Ref, head), event.PullRequest.Head.SHA
	} else if getenv("GITHUB_REF_TYPE") == "branch" {
		p.branch, p.commit = getenv("GITHUB_REF_NAME"), getenv("GITHUB_SHA")
	}
	return p, nil
}

func onGitLab(getenv func(string) string) (pushed, error) {
	p := pushed{service: "GitLab"}
	if p.branch = getenv("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME"); p.branch == "" {
		p.branch, p.commit = getenv("CI_COMMIT_BRANCH"), getenv("CI_COMMIT_SHA")
		return p, nil
	}
	// Set where CI_COMMIT_SHA is a merge commit, and empty where that is the head itself.
	if p.commit = getenv("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA"); p.commit != "" {
		return p, nil
	}
	if kind := getenv("CI_MERGE_REQUEST_EVENT_TYPE"); slices.Contains([]string{"merged_result", "merge_train"}, kind) {
		return p, fmt.Errorf("a %s pipeline without CI_MERGE_REQUEST_SOURCE_BRANCH_SHA does not name the head commit", kind)
	}
	p.commit = getenv("CI_COMMIT_SHA")
	return p, nil
}
