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
	event, err := gitHubEvent(getenv)
	if err != nil {
		return p, err
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

// githubEvent is what is read of an event.
type githubEvent struct {
	PullRequest *struct {
		Number int
		Head   struct{ Ref, SHA string }
	} `json:"pull_request"`
	Repository struct {
		DefaultBranch string `json:"default_branch"`
	}
}

func gitHubEvent(getenv func(string) string) (event githubEvent, err error) {
	name := getenv("GITHUB_EVENT_PATH")
	if name == "" {
		return event, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return event, err
	}
	defer f.Close()
	if err := json.NewDecoder(io.LimitReader(f, maxPayload)).Decode(&event); err != nil {
		return event, fmt.Errorf("reading GITHUB_EVENT_PATH: %w", err)
	}
	return event, nil
}

// ciBase is the default branch that a CI service names, and the variable that says so; empty outside, and where the
// event cannot be read: then nothing is named. It is the project's, never a pull request's target: whoever opens that
// chooses it, and could push the branch as well.
func ciBase(getenv func(string) string) (name, variable string) {
	switch {
	case getenv("GITHUB_ACTIONS") == "true":
		variable = "GITHUB_EVENT_PATH"
		if event, err := gitHubEvent(getenv); err == nil {
			name = event.Repository.DefaultBranch
		}
	case getenv("GITLAB_CI") == "true":
		variable = "CI_DEFAULT_BRANCH"
		name = getenv(variable)
	}
	return name, variable
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
