package ticket

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// Record commits content as the ticket's validation.md on top of the ticket's commit, moves the branch there, and
// brings that one file and its index entry up to date in every worktree that has the branch checked out. Nothing else
// changes: no other path of the commit, no other index entry, no other file; staged changes stay staged. Whether there
// is anything new to record is the caller's decision.
//
// It never commits to the default branch or without a branch: *verdict.Refusal. Where it cannot, nothing has changed
// and the error is a fault of the environment: "branch_moved" (the branch is no longer where Resolve found it),
// "index_locked" (another git works in the worktree; its lock is left alone), "worktree_blocked" (a link or a file
// stands where the ticket's folder belongs), "git_file_odd" (git would wait for ever at a pipe), "repository_read_only",
// "disk_full". The one exception is
// "worktree_stale": the commit is made and returned, but a worktree was not brought up to date; the hints tell how.
func (r *Repo) Record(ctx context.Context, t *Ticket, content []byte, message string) (commit string, err error) {
	if t.Branch == "" {
		return "", &verdict.Refusal{Reason: verdict.DetachedHead, Detail: fmt.Sprintf("%s was judged without a branch", short(t.Commit))}
	}
	if t.Branch == t.base {
		return "", &verdict.Refusal{Reason: verdict.DefaultBranch, Detail: fmt.Sprintf("%q is the default branch; a record is never committed to it", t.Branch)}
	}
	file := path.Join(t.Dir, RecordName)
	wrong := func(err error) error { return fmt.Errorf("recording %s on %s: %w", file, t.Branch, err) }

	if err := r.intact(); err != nil {
		return "", wrong(err)
	}
	blob, err := r.git.line(ctx, call{at: r.shared(), stdin: bytes.NewReader(content), args: []string{"hash-object", "-w", "--no-filters", "--stdin"}})
	if err != nil {
		return "", wrong(err)
	}
	conf, err := r.configured(ctx, r.shared())
	if err != nil {
		return "", wrong(err)
	}
	commit, err = r.makeCommit(ctx, t, conf, file, blob, message)
	if err != nil {
		return "", wrong(err)
	}
	change := change{branch: t.Branch, old: t.Commit, commit: commit, file: file, blob: blob}
	if t.remote {
		change.old = strings.Repeat("0", len(commit)) // the local branch must not be there yet
	}
	locks, err := r.lockWorktrees(ctx, t, change)
	if err != nil {
		return "", wrong(err)
	}
	if err := r.moveBranch(ctx, conf, change); err != nil {
		return "", wrong(errors.Join(err, release(locks)))
	}
	// From here on the record is safe: it is finished also when the caller's time is up.
	ctx = context.WithoutCancel(ctx)
	var stale []error
	for _, l := range locks {
		stale = append(stale, r.update(ctx, l, conf, change))
	}
	if err := errors.Join(stale...); err != nil {
		return commit, wrong(err)
	}
	return commit, nil
}

// change is one move of a branch that puts one file.
type change struct {
	branch, old, commit string
	file, blob          string
}

// makeCommit makes the commit object; nothing refers to it yet.
func (r *Repo) makeCommit(ctx context.Context, t *Ticket, conf configured, file, blob, message string) (string, error) {
	if t.trees.blocked != "" {
		return "", fault.Envf("worktree_blocked", []string{"ticket.dir must be a folder"}, "%q is no folder in the commit", t.trees.blocked)
	}
	tree, err := r.with(ctx, t.trees, file, entry{mode: modeFile, kind: "blob", id: blob})
	if err != nil {
		return "", err
	}
	return r.git.line(ctx, call{at: r.shared(), env: identity(conf), stdin: strings.NewReader(message), args: []string{
		"commit-tree", "--no-gpg-sign", "-p", t.Commit, "-F", "-", tree,
	}})
}

// identity is who makes the commit: the configured user where both name and address are set, for hosts that refuse
// others, else this program. It comes from the repository's configuration, so it proves nothing.
func identity(conf configured) []string {
	name, email := conf.values["user.name"], conf.values["user.email"]
	name, email = crumbs.Replace(name), crumbs.Replace(email)
	if strings.Trim(name, " .,:;\"'\\") == "" || strings.TrimSpace(email) == "" {
		name, email = "trkr-validate", "trkr-validate@localhost"
	}
	return []string{
		"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + email,
		"GIT_COMMITTER_NAME=" + name, "GIT_COMMITTER_EMAIL=" + email,
	}
}

// crumbs takes out what would end a field of a commit's header.
var crumbs = strings.NewReplacer("\n", " ", "\r", " ", "\x00", "", "<", "", ">", "")

// moveBranch moves the branch from old to commit, or says that it is no longer at old.
func (r *Repo) moveBranch(ctx context.Context, conf configured, c change) error {
	name := heads + c.branch
	_, err := r.git.output(ctx, call{at: r.shared(), env: conf.off, stdin: strings.NewReader("update " + name + "\x00" + c.commit + "\x00" + c.old + "\x00"),
		args: []string{"update-ref", "--no-deref", "-m", "trkr-validate: record", "--stdin", "-z"}})
	if err == nil {
		return nil
	}
	now, lookErr := r.head(context.WithoutCancel(ctx), c.branch)
	if lookErr != nil {
		return errors.Join(err, lookErr)
	}
	absent := strings.Trim(c.old, "0") == ""
	switch {
	case now == c.commit: // it was done, only the answer was lost
		return nil
	case now == c.old, now == "" && absent: // something else is wrong
		return err
	}
	return fault.Envf(CodeMoved, []string{"run it again: the new commit is judged", "the record of this run is kept in its run folder"},
		"%s was at %s and is now at %s", c.branch, short(c.old), cmp.Or(short(now), "nothing"))
}

// head is the commit that a local branch points to; empty where there is none.
func (r *Repo) head(ctx context.Context, branch string) (string, error) {
	out, err := r.git.line(ctx, call{at: r.shared(), args: []string{"for-each-ref", "--format=%(objectname)%00%(refname)", heads + branch}})
	for line := range strings.SplitSeq(out, "\n") { // the pattern also matches a folder of branches
		if id, name, _ := strings.Cut(line, "\x00"); name == heads+branch {
			return id, err
		}
	}
	return "", err
}
