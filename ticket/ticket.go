// Package ticket turns an issue id into what a run needs of git: the branch, the commit, a worktree, the contract's
// text; and it commits the record of a run. It is the only package that runs git, and it does so on hostile ground:
// the worktree ran untrusted code, so its configuration, hooks, filters, attributes and links are taken for hostile.
package ticket

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/pattern"
)

// RecordName is the file in a ticket's folder that Record writes.
const RecordName = "validation.md"

// ContractName is the file in a ticket's folder that holds its contract.
const ContractName = "contract.md"

// Query says which ticket is meant. Only Issue is required.
type Query struct {
	Issue          string // as ParseIssue gave it
	Branch         string // the branch by name, instead of BranchTemplate
	Worktree       string // a worktree of the repository; its branch is judged
	Ref            string // any commit; the ticket then has no branch and nothing can be recorded
	Clean          bool   // a temporary worktree in every case
	BranchTemplate string // empty: "trkr/{issue}"
	DirTemplate    string // empty: ".trkr/tickets/{issue}"
	Base           string // the default branch; empty: found out
}

// Ticket is one issue as it stood when it was resolved. Close it.
type Ticket struct {
	Issue     string
	Branch    string // short name; empty where Query.Ref named a commit
	Commit    string
	Tree      string // the commit's tree without Dir/validation.md: recording a verdict does not change it
	Worktree  string // absolute
	Dir       string // the ticket's folder, relative, with slashes
	Temporary bool   // Worktree was made for this run and goes with Close

	repo   *Repo
	base   string   // the default branch's name as found before anything of the ticket ran
	tips   []string // its commits, here and on its remote; empty where it was not found
	remote bool     // Branch stands only on a remote: recording makes the local one
	trees  chain    // those that hold Dir, of Commit
	gitDir string   // the worktree's

	held    *held     // what Commit holds; nil: not read yet
	tracked []indexed // the worktree's index as it was seen first; nil: not read yet
	temp    string    // folder that holds the temporary worktree

	closeOnce sync.Once
	closeErr  error
}

// Close removes a temporary worktree, its registration too. It is idempotent and does nothing to a worktree that was
// there before.
func (t *Ticket) Close() error {
	t.closeOnce.Do(func() {
		if t.temp == "" {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		t.closeErr = t.repo.removeTemporary(ctx, t.temp)
	})
	return t.closeErr
}

var issueID = pattern.Regexp(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// ParseIssue reads an issue id as a person writes it; a leading # is dropped. What it returns is safe in a branch
// name, a path and a shell word. Anything else is a usage fault.
func ParseIssue(arg string) (string, error) {
	id := strings.TrimPrefix(arg, "#")
	if !issueID().MatchString(id) || strings.Contains(id, "..") {
		return "", fault.Usage("issue_invalid", fmt.Errorf("%q is no issue id", arg),
			"an id starts with a letter or a digit and goes on with letters, digits, '.', '_' and '-', 64 at most and never \"..\", like 7 or ABC-12")
	}
	return id, nil
}
