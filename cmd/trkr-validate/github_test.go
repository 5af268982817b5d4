package main

import (
	"fmt"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/trkr-dev/trkr-validate/internal/github/githubtest"
)

// servers are GitHubs of scripts, by their addresses.
var servers sync.Map

// gitHubServer starts a GitHub for a script, at $GITHUB_SERVER: the repository o/r with the issue 7, for "the-token".
func gitHubServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: github")
	}
	s := githubtest.New()
	s.Token, s.Issues[7] = "the-token", "Hello\n\n## Validation contract\n- VAL-5: `tool` succeeds\n"
	servers.Store(s.URL, s)
	ts.Defer(s.Close)
	ts.Setenv("GITHUB_SERVER", s.URL)
}

// gitHubTold prints what that GitHub was told, for stdout to be looked at.
func gitHubTold(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: told")
	}
	found, _ := servers.Load(ts.Getenv("GITHUB_SERVER"))
	s := found.(*githubtest.Server)
	var b strings.Builder
	for _, c := range s.Checks {
		fmt.Fprintf(&b, "check %s on %s: %s %s %q\n", c.Name, c.SHA, c.Status, c.Conclusion, c.Title)
		for _, a := range c.Annotations {
			fmt.Fprintf(&b, "annotation %s:%d %s %q\n", a.Path, a.Start, a.Level, a.Title)
		}
	}
	for _, c := range s.Comments {
		first, _, _ := strings.Cut(c.Body, "\n")
		fmt.Fprintf(&b, "comment %d by %s: %s\n", c.Pull, c.Login, first)
	}
	ts.Check(ts.Exec("printf", "%s", b.String()))
}
