package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// The head that somebody pushed is judged, whatever commit the service checked out.
func TestCIJudgesTheHeadNeverTheMergeCommit(t *testing.T) {
	const head, merge = "1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222"
	event := func(content string) string {
		name := filepath.Join(t.TempDir(), "event.json")
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	pull := event(`{"number": 5, "pull_request": {"merge_commit_sha": "` + merge + `", "head": {"ref": "trkr/7", "sha": "` + head + `"}}}`)
	push := event(`{"after": "` + head + `"}`)
	for name, c := range map[string]struct {
		env    map[string]string
		branch string // empty: a usage fault
	}{
		"GitHub, pull request":                   {map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_EVENT_PATH": pull, "GITHUB_HEAD_REF": "trkr/7", "GITHUB_SHA": merge, "GITHUB_REF_NAME": "5/merge", "GITHUB_REF_TYPE": "branch"}, "trkr/7"},
		"GitHub, review":                         {map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_EVENT_PATH": pull, "GITHUB_SHA": merge, "GITHUB_REF_NAME": "5/merge", "GITHUB_REF_TYPE": "branch"}, "trkr/7"},
		"GitHub, push":                           {map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_EVENT_PATH": push, "GITHUB_SHA": head, "GITHUB_REF_NAME": "trkr/7", "GITHUB_REF_TYPE": "branch"}, "trkr/7"},
		"GitHub, tag":                            {map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_EVENT_PATH": push, "GITHUB_SHA": head, "GITHUB_REF_NAME": "v1", "GITHUB_REF_TYPE": "tag"}, ""},
		"GitHub, pull request without its event": {map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_HEAD_REF": "trkr/7", "GITHUB_SHA": merge, "GITHUB_REF_NAME": "5/merge", "GITHUB_REF_TYPE": "branch"}, ""},
		"GitHub, pull request of another event":  {map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_EVENT_PATH": push, "GITHUB_HEAD_REF": "trkr/7", "GITHUB_SHA": merge}, ""},
		"GitHub, event that is no JSON":          {map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_EVENT_PATH": event("{"), "GITHUB_SHA": head, "GITHUB_REF_NAME": "trkr/7", "GITHUB_REF_TYPE": "branch"}, ""},
		"GitHub, event that is not there":        {map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_EVENT_PATH": pull + "x", "GITHUB_SHA": head, "GITHUB_REF_NAME": "trkr/7", "GITHUB_REF_TYPE": "branch"}, ""},
		"GitLab, branch":                         {map[string]string{"GITLAB_CI": "true", "CI_COMMIT_SHA": head, "CI_COMMIT_BRANCH": "trkr/7"}, "trkr/7"},
		"GitLab, tag":                            {map[string]string{"GITLAB_CI": "true", "CI_COMMIT_SHA": head, "CI_COMMIT_TAG": "v1"}, ""},
		"GitLab, merge request":                  {map[string]string{"GITLAB_CI": "true", "CI_COMMIT_SHA": head, "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "trkr/7", "CI_MERGE_REQUEST_EVENT_TYPE": "detached"}, "trkr/7"},
		"GitLab, merged result":                  {map[string]string{"GITLAB_CI": "true", "CI_COMMIT_SHA": merge, "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "trkr/7", "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": head, "CI_MERGE_REQUEST_EVENT_TYPE": "merged_result"}, "trkr/7"},
		"GitLab, merge train, no head":           {map[string]string{"GITLAB_CI": "true", "CI_COMMIT_SHA": merge, "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "trkr/7", "CI_MERGE_REQUEST_EVENT_TYPE": "merge_train"}, ""},
		"GitLab, merged result, no head":         {map[string]string{"GITLAB_CI": "true", "CI_COMMIT_SHA": merge, "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "trkr/7", "CI_MERGE_REQUEST_EVENT_TYPE": "merged_result"}, ""},
		"GitLab, merge request, no event":        {map[string]string{"GITLAB_CI": "true", "CI_COMMIT_SHA": head, "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "trkr/7"}, "trkr/7"},
	} {
		got, in, err := inCI(func(name string) string { return c.env[name] })
		switch {
		case !in:
			t.Errorf("%s: not taken for CI", name)
		case c.branch == "" && (err == nil || !fault.Of(err).Usage || len(fault.Of(err).Hints) == 0):
			t.Errorf("%s: got %+v, %v, want a usage fault with a hint", name, got, err)
		case c.branch != "" && (err != nil || got.branch != c.branch || got.commit != head):
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	if _, in, err := inCI(func(string) string { return "" }); in || err != nil {
		t.Errorf("outside: %v, %v", in, err)
	}
}

// The default branch is the project's. Who opens a pull request chooses its target, and could have pushed that, too.
func TestCINamesTheDefaultBranch(t *testing.T) {
	event := func(content string) string {
		name := filepath.Join(t.TempDir(), "event.json")
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	pull := event(`{"pull_request": {"base": {"ref": "evil"}}, "repository": {"default_branch": "trunk"}}`)
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"GitHub":                        {map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_EVENT_PATH": pull, "GITHUB_BASE_REF": "evil"}, "trunk"},
		"GitHub, no event":              {map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_BASE_REF": "evil"}, ""},
		"GitHub, event that is no JSON": {map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_EVENT_PATH": event("{")}, ""},
		"GitLab":                        {map[string]string{"GITLAB_CI": "true", "CI_DEFAULT_BRANCH": "trunk", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "evil"}, "trunk"},
		"elsewhere":                     {map[string]string{"GITHUB_EVENT_PATH": pull, "CI_DEFAULT_BRANCH": "trunk"}, ""},
	} {
		if got, _ := ciBase(func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
