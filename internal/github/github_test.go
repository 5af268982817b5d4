package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/github/githubtest"
	"github.com/trkr-dev/trkr-validate/verdict"
)

func serve(t *testing.T) *githubtest.Server {
	t.Helper()
	s := githubtest.New()
	t.Cleanup(s.Close)
	return s
}

func client(t *testing.T, s *githubtest.Server, token string) *Client {
	t.Helper()
	c, err := New(Options{URL: s.API(), Token: token, Repository: "o/r", Agent: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheBodyOfAnIssueIsRead(t *testing.T) {
	s := serve(t)
	s.Token, s.Issues[7] = "secret", "## Validation contract\nVAL-1: x"
	s.Issues[8], s.Pulls = "x", []int{8}
	body, err := client(t, s, "secret").IssueBody(t.Context(), "7")
	if err != nil || string(body) != s.Issues[7] {
		t.Errorf("%v: %q", err, body)
	}
	for issue, code := range map[string]string{"9": "github_not_found", "8": "github_not_found", "ABC-1": "issue_invalid", "0": "issue_invalid"} {
		if _, err := client(t, s, "secret").IssueBody(t.Context(), issue); fault.Of(err) == nil || fault.Of(err).Code != code {
			t.Errorf("%s: %v, want %s", issue, err, code)
		}
	}
}

// Each way to be turned away is said in words of its own, and no token stands in them.
func TestTurnedAwayInPlainWords(t *testing.T) {
	for name, x := range map[string]struct {
		answer     func(w http.ResponseWriter)
		token      string
		code, says string
		hint       string
	}{
		"no token":      {nil, "", "github_unauthorized", "does not know the token (401)", "GITHUB_TOKEN"},
		"a wrong token": {nil, "wrong-token", "github_unauthorized", "(401)", "GH_TOKEN"},
		"forbidden":     {status(403), "secret", "github_forbidden", "answered 403", "permissions:"},
		"gone":          {status(410), "secret", "github_not_found", "(410)", ""},
		"too many":      {status(429), "secret", "github_rate_limited", "takes no more calls", "wait"},
		"rate": {func(w http.ResponseWriter) {
			w.Header().Set("X-RateLimit-Limit", "60")
			w.Header().Set("X-RateLimit-Remaining", "0")
			w.Header().Set("X-RateLimit-Reset", "4102444800")
			w.WriteHeader(403)
		}, "secret", "github_rate_limited", "no more calls before 2100-01-01T00:00:00Z", "wait until then"},
		"abuse": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(403)
			fmt.Fprint(w, `{"message":"x","documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`)
		}, "secret", "github_rate_limited", "for a while", "wait"},
		"out of order": {status(502), "secret", "github_unavailable", "answered 502", "later"},
		"endless": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"body":"`)
			for range 200 {
				if _, err := fmt.Fprint(w, strings.Repeat("x", 64<<10)); err != nil {
					return
				}
			}
		}, "secret", "github_too_long", "more than", ""},
		"no JSON": {func(w http.ResponseWriter) { fmt.Fprint(w, "<html>") }, "secret", "github_unreachable", "invalid character", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			s.Token = "secret"
			if x.answer != nil {
				s.Answer = func(w http.ResponseWriter, _ *http.Request) bool { x.answer(w); return true }
			}
			_, err := client(t, s, x.token).IssueBody(t.Context(), "7")
			f := fault.Of(err)
			if f == nil || f.Code != x.code || !strings.Contains(f.Error(), x.says) || !strings.Contains(strings.Join(f.Hints, "\n"), x.hint) || f.Usage {
				t.Fatalf("%+v, want %s, %q, %q", f, x.code, x.says, x.hint)
			}
			if said := f.Error() + strings.Join(f.Hints, ""); strings.Contains(said, "wrong-token") || strings.Contains(said, "secret") {
				t.Errorf("the token stands in %q", said)
			}
		})
	}
	s := serve(t)
	s.Close()
	if _, err := client(t, s, "").IssueBody(t.Context(), "7"); fault.Of(err).Code != "github_unreachable" {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client(t, serve(t), "").IssueBody(ctx, "7"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func status(code int) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { http.Error(w, `{"message":"no"}`, code) }
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []Options{{}, {Repository: "o"}, {Repository: "o/r/x"}, {Repository: "/r"}, {Repository: "o/r", URL: "github.example.com"}, {Repository: "o/r", URL: "file:///x"}} {
		if _, err := New(o); fault.Of(err) == nil || !fault.Of(err).Usage {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func judged(outcome verdict.Outcome, unmet int) verdict.Record {
	r := verdict.Record{SchemaVersion: 1, Issue: "7", RunID: "r1", Outcome: outcome, Criteria: []verdict.Criterion{{ID: "VAL-900", Text: "fine", Status: verdict.Met, Evidence: "seen"}}}
	for i := range unmet {
		r.Criteria = append(r.Criteria, verdict.Criterion{ID: fmt.Sprintf("VAL-%d", i+1), Text: strings.Repeat("é", 300), Status: verdict.Unmet, Evidence: strings.Repeat("x", 70<<10) + " @everybody"})
	}
	return r
}

// Only what is clear is a success: a rule of branch protection lets neutral pass.
func TestTheCheckSucceedsOnlyWhereItIsClear(t *testing.T) {
	for outcome, want := range map[verdict.Outcome]string{
		verdict.Clear: "success", verdict.Blocking: "failure", verdict.Incomplete: "failure", verdict.Refused: "failure", verdict.Error: "failure", "odd": "failure",
	} {
		s := serve(t)
		if err := client(t, s, "x").Check(t.Context(), "c0ffee", judged(outcome, 0), verdict.Place{Path: "contract.md"}); err != nil {
			t.Fatal(err)
		}
		c := s.Checks[0]
		if c.Name != "trkr-validate" || c.SHA != "c0ffee" || c.Status != "completed" || c.Conclusion != want || c.Title != fmt.Sprintf("7: %s, 1 of 1 met", outcome) {
			t.Errorf("%s: %+v", outcome, c)
		}
	}
}

func TestTheCheckHasAnAnnotationForEachUnmetCriterion(t *testing.T) {
	s := serve(t)
	at := verdict.Place{Path: "contract.md", Lines: map[string]int{"VAL-120": 9}}
	if err := client(t, s, "x").Check(t.Context(), "c0ffee", judged(verdict.Blocking, 120), at); err != nil {
		t.Fatal(err)
	}
	c := s.Checks[0]
	if len(s.Checks) != 1 || len(c.Annotations) != 120 || c.Calls != 3 || c.LargestOfOneBatch != 50 || c.Status != "completed" || c.Conclusion != "failure" {
		t.Errorf("%d checks, %d annotations, %d calls, %d at most, %s %s", len(s.Checks), len(c.Annotations), c.Calls, c.LargestOfOneBatch, c.Status, c.Conclusion)
	}
	if last := c.Annotations[119]; last.Start != 9 || last.Level != "failure" || !strings.HasPrefix(last.Title, "VAL-120: é") {
		t.Errorf("%+v", last.Title)
	}
	// One that is cut short is not completed.
	s = serve(t)
	s.Answer = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == "PATCH" {
			w.WriteHeader(500)
		}
		return r.Method == "PATCH"
	}
	err := client(t, s, "x").Check(t.Context(), "c0ffee", judged(verdict.Clear, 60), at)
	if err == nil || s.Checks[0].Status != "in_progress" || s.Checks[0].Conclusion != "" {
		t.Errorf("%v, %+v", err, s.Checks[0].Status)
	}
}

func TestOneCommentIsKeptUpToDate(t *testing.T) {
	for _, login := range []string{"", "somebody"} {
		s := serve(t)
		s.Login = login
		s.Comments = []*githubtest.Comment{
			{ID: 91, Pull: 12, Login: "stranger", Body: "<!-- trkr-validate 7 -->\nall clear"},
			{ID: 92, Pull: 12, Login: "stranger", Body: "hello"}, {ID: 93, Pull: 12, Login: "stranger", Body: "hello"},
		}
		c := client(t, s, "x")
		for _, outcome := range []verdict.Outcome{verdict.Blocking, verdict.Clear} {
			if err := c.Comment(t.Context(), 12, judged(outcome, 3)); err != nil {
				t.Fatal(err)
			}
		}
		other := judged(verdict.Clear, 0)
		other.Issue = "8"
		if err := c.Comment(t.Context(), 12, other); err != nil {
			t.Fatal(err)
		}
		if len(s.Comments) != 5 || s.Comments[0].Body != "<!-- trkr-validate 7 -->\nall clear" {
			t.Fatalf("%d comments, the first is %q", len(s.Comments), s.Comments[0].Body)
		}
		if ours := s.Comments[3]; !strings.HasPrefix(ours.Body, "<!-- trkr-validate 7 -->\n# Validation of `7`: **clear**") {
			t.Errorf("%.100q", ours.Body)
		}
	}
}
