package ticket

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/verdict"
)

func TestContract(t *testing.T) {
	const agreed = "# Title\n\n## Validation contract\n\n- **VAL-1:** `app` prints `hello`\n"
	for name, c := range map[string]struct {
		committed string // empty: none
		body      string // "-": no body to be had
		reasons   []verdict.Reason
		source    string
		detail    []string
	}{
		"committed":                  {contractText, "-", nil, SourceCommit, nil},
		"committed, issue agrees":    {contractText, agreed, nil, SourceCommit, nil},
		"committed, issue has none":  {contractText, "Just prose\n", nil, SourceCommit, nil},
		"issue only":                 {"", agreed, nil, SourceIssue, nil},
		"neither":                    {"", "-", []verdict.Reason{verdict.NoContract}, "", []string{".trkr/tickets/7/contract.md"}},
		"neither, issue asked":       {"", "prose", []verdict.Reason{verdict.NoContract}, "", []string{"Validation contract"}},
		"committed is invalid":       {"VAL-1: a\nVAL-1: b\nprose\n", "-", []verdict.Reason{verdict.ContractInvalid}, "", []string{"line 2", "line 3"}},
		"invalid does not fall back": {"prose\n", agreed, []verdict.Reason{verdict.ContractInvalid}, "", []string{"contract.md"}},
		"issue is invalid":           {"", "## Validation contract\n\nVAL-1 a\n", []verdict.Reason{verdict.ContractInvalid}, "", []string{"issue 7"}},
		"both are invalid":           {"prose\n", "## Validation contract\n\nVAL-1 a\n", []verdict.Reason{verdict.ContractInvalid, verdict.ContractInvalid}, "", nil},
		"they differ":                {contractText + "VAL-3: only here\n", "## Validation contract\n\nVAL-1: other\nVAL-2: there\n", []verdict.Reason{verdict.ContractChanged}, "", []string{`"other"`, "VAL-2 is only in the issue", "VAL-3 is only in the commit"}},
		"they differ in order":       {"VAL-1: a\nVAL-2: b\n", "## Validation contract\n\nVAL-2: b\nVAL-1: a\n", []verdict.Reason{verdict.ContractChanged}, "", []string{"order"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := fixture(t, filepath.Join(tempDir(t), "r"))
			file := filepath.Join(dir, ".trkr/tickets/7/contract.md")
			if c.committed != contractText {
				git(t, dir, "rm", "-q", "--cached", file)
				if c.committed != "" {
					write(t, file, c.committed)
					git(t, dir, "add", "-f", file)
				}
				git(t, dir, "commit", "-qm", "other contract")
			}
			write(t, file, "VAL-9: what stands in the dirty tree does not count\n")
			r := open(t, dir)
			var body Body
			if c.body != "-" {
				body = func(context.Context) ([]byte, error) { return []byte(c.body), nil }
			}
			text, err := r.Contract(context.Background(), resolve(t, r, Query{}), body)
			if text.Source != c.source {
				t.Errorf("source %q, %v", text.Source, err)
			}
			if c.source != "" && text.Contract.Assertions[0].Text != "`app` prints `hello`" {
				t.Errorf("read %+v", text.Contract)
			}
			for _, refusal := range wantReasons(t, err, c.reasons...) {
				for _, want := range c.detail {
					if !strings.Contains(refusal.Detail, want) {
						t.Errorf("%q does not say %q", refusal.Detail, want)
					}
				}
			}
		})
	}
}

func TestContractBodyFails(t *testing.T) {
	dir := fixture(t, filepath.Join(tempDir(t), "r"))
	r := open(t, dir)
	broken := errors.New("broken")
	_, err := r.Contract(context.Background(), resolve(t, r, Query{}), func(context.Context) ([]byte, error) { return nil, broken })
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestIssueBody(t *testing.T) {
	dir := tempDir(t)
	ctx := context.Background()
	t.Setenv("TOKEN", "secret")
	t.Setenv("GIT_DIR", "/nowhere")
	out, err := IssueBody(ctx, `printf '%s|' {issue} "$TRKR_ISSUE" "$TOKEN" "$GIT_DIR" "$PWD"; cat; echo noise >&2`, dir, "AB-7")
	if want := "AB-7|AB-7|secret||" + dir + "|"; err != nil || string(out) != want {
		t.Errorf("got %q, %v; want %q", out, err, want)
	}
	out, err = IssueBody(ctx, `printf %s {issue}`, dir, "a'b; echo $HOME")
	if err != nil || string(out) != "a'b; echo $HOME" {
		t.Errorf("got %q, %v", out, err)
	}
	_, err = IssueBody(ctx, "echo no such issue >&2; exit 3", dir, "7")
	wantFault(t, err, "issue_command")
	if !strings.Contains(err.Error(), "no such issue") {
		t.Errorf("%v does not say why", err)
	}
	_, err = IssueBody(ctx, "yes", dir, "7")
	wantFault(t, err, "issue_command")
	start := time.Now()
	_, err = issueBody(ctx, "sleep 60 & sleep 60; echo late", dir, "7", 50*time.Millisecond)
	wantFault(t, err, "issue_command")
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("a limit of 50ms took %s", took)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := IssueBody(cancelled, "echo x", dir, "7"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
